#!/bin/bash
# The instruction gate: a slower engine fails, and the message names the function that grew. An unchanged engine passes
# with equal counts. A baseline of another compiler is not compared.
#
# To make a slower engine, the suite plants a loop in a copy of a source file and links it before the library.
#
# takes: 29 s
set -u
cd "$(dirname "$0")/../.." || exit 2
export B=${B:-build}
unset MAKEFLAGS MFLAGS MAKELEVEL
if ! command -v valgrind >/dev/null; then
    echo 'skipped: all checks, because valgrind is not installed'
    echo '0 passed, 0 failed, 1 skipped'
    exit 0
fi
export HASTE
HASTE=$(cat "$B/haste" 2>/dev/null) # as this B was built
make -s "$B/bench/gate-driver" "$B/bench/gate-lab" >/dev/null || exit 1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
baseline=$scratch/baseline.json
passed=0 failed=0

# gate DRIVER KEY [OPTION...]: runs the gate; leaves its output in $said and its exit status in $status.
gate() {
    said=$(bench/gate/stored.py "$1" "$baseline" "$2" "${@:3}" 2>&1)
    status=$?
}

# expect NAME STATUS WORD...: the gate exited with STATUS and printed all words.
expect() {
    local name=$1 missing=
    for word in "${@:3}"; do
        [[ $said == *"$word"* ]] || missing+=" '$word'"
    done
    if [[ $status == "$2" && -z $missing ]]; then
        ((passed++))
    else
        ((failed++))
        echo "FAIL $name: exit status $status, expected $2; missing in the output:${missing:- nothing}; the output:"
        echo "$said"
    fi
}

# plant FILE FUNCTION [gate_lab]: builds $scratch/slow, a driver (or the lab's driver) whose FUNCTION of FILE begins
# with a loop.
plant() {
    awk -v name="$2(" '
        index($0, name) && /^[a-z]/ { inside = 1 }
        { print }
        inside && /^\{/ { print "    for (volatile int i = 0; i < 20; i++) continue;"; inside = 0; done = 1 }
        END { exit !done }' "$1" >"$scratch/slow.c" || { echo "no $2 in $1"; exit 1; }
    $(<"$B/flags") -c -o "$scratch/slow.o" "$scratch/slow.c" || exit 1
    rm -f "$scratch/slow"
    make -s "${3:-gate_driver}=$scratch/slow" gate_planted="$scratch/slow.o" "$scratch/slow" >/dev/null || exit 1
}

gate "$B/bench/gate-driver" here --update
expect 'the first baseline is stored' 0 'stored for the first time' wrote

cp "$baseline" "$scratch/before"
UNUSED=$(head -c 5000 /dev/zero | tr '\0' x) gate "$B/bench/gate-driver" here --update
expect 'an update of unchanged counts prints no change' 0 '+0.00 %'
if cmp "$scratch/before" "$baseline"; then
    ((passed++))
else
    ((failed++))
    echo 'FAIL counts are equal in each run and in any environment'
fi

gate "$B/bench/gate-driver" here
expect 'an unchanged engine passes' 0 '4 passed, 0 failed, 0 skipped'

plant engine/store/stack_table.c strobe_stack_intern_onto
gate "$scratch/slow" here --mode intern
expect 'a slower intern fails, by name' 1 'intern' GREW 'strobe_stack_intern_onto:' 'FAILED: intern'

plant engine/store/ring.c strobe_ring_write
gate "$scratch/slow" here --mode ring
expect 'a slower ring fails, by name' 1 'ring' GREW 'strobe_ring_write:' 'FAILED: ring'

# Each case takes seconds. The remaining cases run with FULL=1, in the nightly run.
if [[ -n ${FULL:-} ]]; then
    plant engine/trace/build/path.c strobe_path_cut
    gate "$scratch/slow" here --mode diff
    expect 'a slower diff fails, by name' 1 'diff' GREW 'strobe_path_cut:' 'FAILED: diff'

    plant engine/trace/export/sink_perfetto.c perfetto_slice_end
    gate "$scratch/slow" here --mode encode
    expect 'a slower encoder fails, by name' 1 'encode' GREW 'perfetto_slice_end:' 'FAILED: encode'
fi

plant engine/store/ring.c strobe_ring_write
gate "$scratch/slow" elsewhere
expect 'a build with another key is a skip of each mode' 0 'skipped: intern, ring, diff, encode' \
    "'here'" "'elsewhere'" '0 passed, 0 failed, 4 skipped'
[[ $said != *GREW* ]] || { ((failed++)); echo 'FAIL a build with another key was compared'; }

gate "$scratch/slow" here --update
expect 'an update names the function that grew' 0 'strobe_ring_write:' wrote

gate "$scratch/slow" here
expect 'counts equal to an updated baseline pass' 0 '4 passed, 0 failed, 0 skipped'

baseline=$scratch/lab.json
gate "$B/bench/gate-lab" here --update
expect 'the instructions of the lab are counted' 0 parse switch play wrote
gate "$B/bench/gate-lab" here
expect 'the counts of the lab repeat' 0 '4 passed, 0 failed, 0 skipped' '+0.00 %'
plant sim/app/lexer.c sim_lexer_next gate_lab
gate "$scratch/slow" here --mode parse
expect 'a slower scenario parser fails, by name' 1 'parse' GREW 'sim_lexer_next:' 'FAILED: parse'

gate "$B/bench/gate-driver" here --mode none
expect 'an unknown mode is an error' 2 'no driver has a mode none'
gate "$scratch/no-such-driver" here
expect 'a driver that cannot run is an error and not a failure' 2 'gate:'

echo "$passed passed, $failed failed"
((failed == 0))
