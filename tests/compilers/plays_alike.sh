#!/bin/bash
# Checks that two builds of the lab write the same bytes: other compilers, other optimisation, other processors.
#
#   plays_alike.sh NAME STROBE-LAB COMMAND...     COMMAND: the other build's program, with its emulator; NAME: its name
#
# LIGHT=1 plays less. Prints `N passed, N failed` last.
set -u
name=$1 strobe=$2
other=("${@:3}")
passed=0 failed=0
plays=$(mktemp -d)
trap 'rm -rf "$plays"' EXIT

# play FOLDER STROBE... -- ARGUMENTS: plays a trial; leaves its output and files in FOLDER. A broken invariant (status
# 1) is permitted when it is the same in both builds.
play() {
    local folder=$1 command=()
    shift
    while [[ $1 != -- ]]; do
        command+=("$1") && shift
    done
    mkdir -p "$folder"
    "${command[@]}" run "${@:2}" -o "$folder/left" >"$folder/out" 2>"$folder/err"
    echo $? >"$folder/status"
}

alike() {
    rm -rf "${plays:?}"/*
    play "$plays/here" "$strobe" -- "$@"
    play "$plays/there" "${other[@]}" -- "$@"
    if [[ -s $plays/here/left/score.json ]] && diff -r "$plays/here" "$plays/there" >"$plays/diff"; then
        ((passed++))
    else
        ((failed++))
        echo "FAIL the lab of $name plays $* as $strobe does"
        head -n 5 "$plays/there/err" "$plays/diff" 2>/dev/null
    fi
}

scenarios=fixtures/scenarios
alike $scenarios/lock_convoy.scn --seed 7
alike $scenarios/exceptions.scn --schedule adversarial
if [[ -z ${LIGHT:-} ]]; then
    alike $scenarios/cold_start.scn --seed 7
    alike $scenarios/cold_start.scn --seed 7 --policy btrace-ios
    alike $scenarios/notify_many.scn --schedule adversarial
    alike --random 11 --size 500
fi
echo "$passed passed, $failed failed"
((failed == 0))
