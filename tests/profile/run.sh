#!/bin/bash
# Our profile of a CPU-bound program against that of `perf record -g`, both at 1 kHz: the ten functions that perf finds
# hottest have the same share of CPU time in both, within the sampling error (compare.mjs says how large that is).
#
#   B=DIR tests/profile/run.sh     prints `N passed, N failed, N skipped` at the end
#
# alone: two runs of a program are compared by where their processor time went.
set -u
cd "$(dirname "$0")/../.." || exit 2
B=$(realpath "${B:-build}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0 skipped=0

finish() {
    printf '%d passed, %d failed, %d skipped\n' $passed $failed $skipped
    exit $((failed > 0))
}

perf=$(command -v perf) || perf=
if [[ -z $perf ]] || ! "$perf" record -q -e cpu-clock -F 1000 -g -o "$work/try.data" -- true >/dev/null 2>&1; then
    echo "SKIP the profile is not compared: perf is missing or not allowed here" \
        "(linux-perf; kernel.perf_event_paranoid)"
    skipped=1
    finish
fi
if ! command -v node >/dev/null; then
    echo "SKIP the profile is not compared: node is missing"
    skipped=1
    finish
fi

# measure COMMAND...: status 0 alike, 1 not, 3 the machine is too crowded to say.
measure() {
    "$perf" record -q -e cpu-clock:u -F 1000 -g -o "$work/perf.data" -- "$@" >/dev/null 2>&1
    "$perf" report -q -i "$work/perf.data" --no-children --stdio -g none -n -s symbol 2>/dev/null >"$work/perf.txt"
    "$B/strobe" record -q -f -o "$work/s.perfetto-trace" -- "$@" >/dev/null 2>&1
    "$B/strobe" report --json --top 100000 "$work/s.strobe" >"$work/report.json"
    node tests/profile/compare.mjs "$work/report.json" "$work/perf.txt"
}

# compare NAME COMMAND...     A bias is there every time; other work on the machine comes and goes, and disturbs by more
# than the sampling error. So it is measured up to three times.
compare() {
    local name=$1 status tries=0
    shift
    while measure "$@"; status=$?; ((status != 0 && ++tries < 3)); do sleep 2; done
    case $status in
    0) ((passed++)) ;;
    3) ((++skipped)) && echo "SKIP $name: the machine is too crowded" ;;
    *) ((++failed)) && echo "FAIL $name" ;;
    esac
}

mkdir -p "$B/tests/profile"
${CC:-gcc} -std=c11 -D_GNU_SOURCE -O2 -g -fno-omit-frame-pointer -o "$B/tests/profile/hot" tests/profile/hot.c || exit 2
${CC:-gcc} -std=c11 -D_GNU_SOURCE -O2 -g -fomit-frame-pointer -o "$B/tests/profile/hot-nofp" \
    tests/profile/hot.c || exit 2
compare the_profile_of_a_program_with_frame_pointers_is_that_of_perf "$B/tests/profile/hot" 2
compare the_profile_of_a_program_without_frame_pointers_is_that_of_perf "$B/tests/profile/hot-nofp" 2
finish
