#!/bin/bash
# The instruction gate bites: a slower engine fails it, and the message names the function that grew; an unchanged
# one passes it to the instruction; a baseline of another compiler is not compared with.
#
# Slower engines are made by planting a loop into a copy of a source file and linking it before the library.
#
# takes: 29 s
set -u
cd "$(dirname "$0")/../.." || exit 2
export B=${B:-build}
unset MAKEFLAGS MFLAGS MAKELEVEL
if ! command -v valgrind >/dev/null; then
    echo 'skipped: all, valgrind is not installed'
    echo '0 passed, 0 failed, 1 skipped'
    exit 0
fi
make -s "$B/bench/gate-driver" "$B/bench/gate-lab" >/dev/null || exit 1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
baseline=$scratch/baseline.json
passed=0 failed=0

# gate DRIVER KEY [OPTION...]: output in $said, exit status in $status.
gate() {
    said=$(bench/gate.py "$1" "$baseline" "$2" "${@:3}" 2>&1)
    status=$?
}

# expect NAME STATUS WORDS: the gate ended so, and said all of these.
expect() {
    local name=$1 missing=
    for word in "${@:3}"; do
        [[ $said == *"$word"* ]] || missing+=" '$word'"
    done
    if [[ $status == "$2" && -z $missing ]]; then
        ((passed++))
    else
        ((failed++))
        echo "FAIL $name: exit status $status, expected $2; not said:${missing:- nothing}; it said:"
        echo "$said"
    fi
}

# plant FILE FUNCTION [gate_lab]: a driver, or that of the lab, whose FUNCTION of FILE begins with a loop, as
# $scratch/slow.
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
expect 'an update prints what changed: nothing' 0 '+0.00 %'
if cmp "$scratch/before" "$baseline"; then
    ((passed++))
else
    ((failed++))
    echo 'FAIL counts repeat to the instruction, in any environment'
fi

gate "$B/bench/gate-driver" here
expect 'an unchanged engine passes' 0 'gate: passed'

plant engine/store/stack_table.c strobe_stack_intern_onto
gate "$scratch/slow" here --mode intern
expect 'a slower intern fails, by name' 1 'intern' GREW 'strobe_stack_intern_onto:' 'FAILED: intern'

plant engine/store/ring.c strobe_ring_write
gate "$scratch/slow" here --mode ring
expect 'a slower ring fails, by name' 1 'ring' GREW 'strobe_ring_write:' 'FAILED: ring'

# Each takes seconds: the nightly run plays the rest.
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
expect 'a build of another key is not compared, and that is said' 0 'skipped' "'here'" "'elsewhere'"
[[ $said != *GREW* ]] || { ((failed++)); echo 'FAIL it compared all the same'; }

gate "$scratch/slow" here --update
expect 'an update names what grew' 0 'strobe_ring_write:' wrote

gate "$scratch/slow" here
expect 'what an update stored passes' 0 'gate: passed'

baseline=$scratch/lab.json
gate "$B/bench/gate-lab" here --update
expect 'the lab is counted, too' 0 parse switch play wrote
gate "$B/bench/gate-lab" here
expect 'the counts of the lab repeat' 0 'gate: passed' '+0.00 %'
plant sim/app/lexer.c sim_lexer_next gate_lab
gate "$scratch/slow" here --mode parse
expect 'a slower reader of scenarios fails, by name' 1 'parse' GREW 'sim_lexer_next:' 'FAILED: parse'

gate "$B/bench/gate-driver" here --mode none
expect 'a mode that no driver has is an error' 2 'no driver has a mode none'
gate "$scratch/no-such-driver" here
expect 'a driver that cannot run is an error, no verdict' 2 'gate:'

echo "$passed passed, $failed failed"
((failed == 0))
