#!/bin/bash
# Explores all interleavings of small programs over the engine and of programs from the literature: their invariants
# hold. A saved failure replays as the same failure. `make explore` uses each memory model and adds litmus tests.
#
#   B=DIR SIZE=sample|quick|nightly MEMORY=c11|all|... JOBS=N tests/explore/run.sh [NAME...]
#
# NAME: only these programs, groups or litmus files. MEMORY=all: litmus tests too. SIZE=nightly: larger programs, each
# for at most EACH seconds (default 60). SIZE=sample: at most 300 executions of each. The output marks programs whose
# executions were not all explored. Without SIZE it is quick when a file of the programs, of what they explore or of the
# explorer differs from main, or with FULL=1, and otherwise sample.
#
# takes: 8 s
set -u
cd "$(dirname "$0")/../.." || exit 2
export LC_ALL=C.UTF-8
strobe=${B:-build}/strobe
jobs=${JOBS:-$(nproc)} memory=${MEMORY:-c11}
passed=0 failed=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

explored=('engine/base/*' 'engine/store/*' 'engine/capture/*' 'engine/method/*' 'engine/host/*' 'engine/backend/*'
    'sim/explore/*' 'sim/kernel/*' 'tests/explore/*')
if [[ -z ${SIZE:-} ]]; then
    SIZE=sample
    [[ -z ${FULL:-}$* ]] && ! tests/mutants/changed.py "${explored[@]}" || SIZE=quick
fi
size=()
[[ $SIZE == nightly ]] && size=(--size nightly --seconds "${EACH:-60}")
[[ $SIZE == sample ]] && size=(--executions 300)

verdict() {   # NAME FAULT
    if [[ -z $2 ]]; then
        ((passed++))
    else
        ((failed++))
        echo "FAIL $1: $2"
    fi
}

# table TITLE ARGUMENTS...: explores, and adds the counts of the command.
table() {
    local title=$1 p=0 f=0
    shift
    "$strobe" explore "$@" --memory "$memory" -j "$jobs" >"$work/table" 2>"$work/err"
    local status=$?
    printf '%s\n' "$title"
    sed '$!b; /passed, .* failed$/d' "$work/table"
    cat "$work/err"
    cat "$work/table" >>"$work/tables"
    read -r p f < <(sed -nE '$s/^([0-9]+) passed, ([0-9]+) failed$/\1 \2/p' "$work/table")
    ((passed += p, failed += f))
    ((status == (f > 0))) || verdict "$title" "exit status $status with $((f)) failures"
    echo
}

if "$strobe" explore --list | grep -q 'holds no programs'; then
    echo 'skipped: this build contains no explored programs'
    echo '0 passed, 0 failed, 1 skipped'
    exit 0
fi

if (($#)); then
    table "Programs, size $SIZE" "$@" "${size[@]}"
else
    # Litmus tests named Race* have undefined behaviour. tests/sim/explore/test_litmus_corpus checks that it is
    # reported.
    mapfile -t litmus < <(printf '%s\n' tests/explore/litmus/*.litmus | grep -v /Race)
    [[ $memory == all ]] && table "Litmus tests" --quiet "${litmus[@]}"
    table "Programs, size $SIZE" --all "${size[@]}"
    # A second search strategy, which also handles nested loops and locks that spin on an exchange.
    table 'Programs of the literature, at most three preemptions' locks futexes queues stacks deques published \
        --strategy bounded --preemptions 3
fi

# The saved file of a known failure replays to the same message.
replay() {   # PROGRAM MEMORY
    "$strobe" explore "$1" --memory "$2" --save "$work/saved" -f >"$work/first" 2>&1
    "$strobe" explore --replay "$work/saved" >"$work/again" 2>&1
    local first again
    first=$(sed -nE "s/^.* in memory model $2, (at size [0-9]+, )?//p" "$work/first")
    again=$(head -n 1 "$work/again")
    [[ -n $first && $first == "$again" ]] && verdict "$1 replays in $2" '' ||
        verdict "$1 replays in $2" "first '$first', then '$again'"
}

while read -r name model; do
    replay "$name" "$model"
done < <(awk '/ as known: / { print $1, $2 }' "$work/tables" | sort -u)

echo "$passed passed, $failed failed"
((failed == 0))
