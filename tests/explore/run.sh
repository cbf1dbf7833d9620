#!/bin/bash
# Every interleaving: litmus tests, programs of the literature and programs over the engine, each in every memory model,
# as they say of themselves; and what is saved of a failure is that failure.
#
#   B=DIR SIZE=quick|nightly JOBS=N tests/explore/run.sh [NAME...]     NAME: only these programs or groups
set -u
cd "$(dirname "$0")/../.." || exit 2
export LC_ALL=C.UTF-8
strobe=${B:-build}/strobe
jobs=${JOBS:-$(nproc)}
passed=0 failed=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

size=()
[[ ${SIZE:-quick} == nightly ]] && size=(--size nightly)

verdict() {   # NAME FAULT
    if [[ -z $2 ]]; then
        ((passed++))
    else
        ((failed++))
        echo "FAIL $1: $2"
    fi
}

# table TITLE ARGUMENTS...: explores, and counts what the command counts.
table() {
    local title=$1 p=0 f=0
    shift
    "$strobe" explore "$@" -j "$jobs" >"$work/table" 2>"$work/err"
    local status=$?
    printf '%s\n' "$title"
    sed '$!b; /passed, .* failed$/d' "$work/table"
    cat "$work/err"
    read -r p f < <(sed -nE '$s/^([0-9]+) passed, ([0-9]+) failed$/\1 \2/p' "$work/table")
    ((passed += p, failed += f))
    ((status == (f > 0))) || verdict "$title" "exit status $status with $((f)) failures"
    echo
}

if "$strobe" explore --list | grep -q 'holds no programs'; then
    echo 'skipped: this build holds no programs'
    echo '0 passed, 0 failed, 1 skipped'
    exit 0
fi

programs=("$@")
((${#programs[@]})) || programs=(--all)
table "Programs, size ${SIZE:-quick}" "${programs[@]}" --memory all "${size[@]}"

# A failure that a program is known for is found again by its file, in the same words.
replay() {   # PROGRAM MEMORY
    "$strobe" explore "$1" --memory "$2" --save "$work/saved" -f >"$work/first" 2>&1
    "$strobe" explore --replay "$work/saved" >"$work/again" 2>&1
    local first again
    first=$(sed -nE "s/^.* in memory model $2, (at size [0-9]+, )?//p" "$work/first")
    again=$(head -n 1 "$work/again")
    [[ -n $first && $first == "$again" ]] && verdict "$1 replays in $2" '' ||
        verdict "$1 replays in $2" "first '$first', then '$again'"
}

"$strobe" explore "${programs[@]}" --memory all --json -j "$jobs" >"$work/json" 2>&1
while read -r name memory; do
    replay "$name" "$memory"
done < <(sed -nE '/"fault":"fine"/!s/^.*"program":"([^"]*)","memory":"([^"]*)".*"fault":.*$/\1 \2/p' "$work/json")

echo "$passed passed, $failed failed"
((failed == 0))
