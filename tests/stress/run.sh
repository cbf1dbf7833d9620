#!/bin/bash
# Runs the explored programs on real threads, for STROBE_STRESS_SECONDS (default 3) in all. A round that fails or hangs
# ends the run, with its position and the command that repeats it.
#
#   B=DIR tests/stress/run.sh
#
# takes: 5 s
set -u
cd "$(dirname "$0")/../.." || exit 2
export LC_ALL=C.UTF-8
stress=${B:-build}/stress
passed=0 failed=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# ends STATUS TEXT ARGUMENTS...: the program exits with STATUS and prints TEXT (extended regex).
ends() {
    local status=$1 text=$2
    shift 2
    "$stress" "$@" >"$work/log" 2>&1
    local got=$?
    if ((got == status)) && grep -qE -- "$text" "$work/log"; then
        ((passed++))
    else
        ((failed++))
        echo "FAIL stress $*: exit status $got, expected $status and '$text':"
        tail -n 5 "$work/log"
    fi
}

ends 1 '^FAIL .*literature_counts.c:[0-9]+: does not hold' --seconds 1 --program counts/ainc --size 6
ends 1 '^repeat with: .* --seed 7 --size 6 --program counts/ainc$' --seconds 1 --seed 7 --program counts/ainc --size 6
ends 1 '^FAIL its threads wait for ever$' --hang 1 --program locks/abandoned
ends 0 '^1 passed, 0 failed$' --seconds 1 --program counts/ainc --size 5
ends 2 "^ring/none: not understood: expected " --program ring/none
ends 2 "^x: not understood: expected " --seconds x

"$stress" --seconds "${STROBE_STRESS_SECONDS:-3}" | tee "$work/log"
status=${PIPESTATUS[0]}
read -r p f < <(sed -nE 's/^([0-9]+) passed, ([0-9]+) failed.*$/\1 \2/p' "$work/log" | tail -n 1)
((passed += ${p:-0}, failed += ${f:-1}))
((status == (${f:-1} > 0))) || ((failed++))
echo "$passed passed, $failed failed"
((failed == 0))
