#!/bin/bash
# Plays one seed of a run with a session, and then opens the session. For tests/emulate/emulate.sh.
#
#   tests/emulate/seed.sh SEED WORK B OPTION... IMAGE...
set -u
seed=$1 work=$2 build=$3
shift 3
session=$work/$seed.session
fail() {
    {
        cat "$work/$seed.log"
        echo "$1; again: $build/emulate/emulate --seed $seed --session FILE $arguments"
    } >"$work/log"
    exit 1
}
arguments=$*
timeout "${LIMIT:-100}" "$build/emulate/emulate" --seed "$seed" --session "$session" "$@" >"$work/$seed.log" 2>&1 ||
    fail "seed $seed ends with status $?"
grep -qE '[1-9][0-9]* suspends' "$work/$seed.log" || fail "seed $seed: no thread was ever suspended"
"$build/strobe" report "$session" >>"$work/$seed.log" 2>&1 || fail "seed $seed: its session does not balance"
"$build/strobe" convert --force -o "$work/$seed.pftrace" "$session" >>"$work/$seed.log" 2>&1 ||
    fail "seed $seed: its session can't be converted"
rm -f "$session" "$work/$seed.pftrace"
