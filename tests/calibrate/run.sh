#!/bin/bash
# The quick half of `make calibrate`: virtual time predicts real threads within the bounds of bench/calibrate.py. With a
# table of costs that are all zero it does not.
#
#   B=DIR [FULL=1] tests/calibrate/run.sh      prints `N passed, N failed, N skipped` at the end
#
# Two scenarios are compared: event_loop has hooks, wakers and devices, and hook_free has samples only. Each needs half
# a minute of a machine without other work. With FULL=1, as in the nightly run, all four scenarios of
# `make calibrate QUICK=yes` are compared: album also charges monitors and allocations, and abnormal_stack plays on one
# processor.
#
# alone: real threads are compared with virtual time, with costs that are measured beside each scenario. A scenario
# whose runs were disturbed by other processes is skipped and reported.
set -u
cd "$(dirname "$0")/../.." || exit 2
B=$(realpath "${B:-build}")
strobe=$B/strobe
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0 skipped=0

# sums FILE: adds the counts of the file's last line.
sums() {
    local p f s
    read -r p f s < <(sed -nE 's/^([0-9]+) passed, ([0-9]+) failed, ([0-9]+) skipped$/\1 \2 \3/p' "$1" | tail -n 1)
    ((passed += ${p:-0}, failed += ${f:-1}, skipped += ${s:-0}))
}

# Writes a table in which all costs and delays are zero.
make_free() {
    python3 - "$work/real.json" >"$work/free.json" <<'PYTHON'
import json, sys
def nothing(value):
    return [nothing(v) for v in value] if isinstance(value, list) else value if isinstance(value, str) else 0
table = next(tables[0] for tables in json.load(open(sys.argv[1]))["costs"].values() if tables)
json.dump({key: value if key == "slice" else nothing(value) for key, value in table.items()}, sys.stdout)
PYTHON
}

scenarios=(fixtures/scenarios/{event_loop,hook_free}.scn)
[[ -z ${FULL:-} ]] || scenarios=()
bench/calibrate.py "$strobe" --quick --measure "$B/bench/strobe-costs" --keep "$work/real.json" "${scenarios[@]}" \
    >"$work/quick"
if (($? > 1)); then
    ((++failed))
    echo 'FAIL no scenario could be played in both modes'
    cat "$work/quick"
fi
grep -E '^(  FAIL|SKIP|[a-z_]+, )' "$work/quick"
sums "$work/quick"

# Compares the same real runs with virtual time in which all costs are zero: methods and waits then have other shares of
# the time. Only `make calibrate`, whose bounds are narrower, detects a single missing cost.
if grep -q '^event_loop, quiet' "$work/quick"; then
    make_free
    bench/calibrate.py "$strobe" --quick --costs "$work/free.json" --again "$work/real.json" \
        fixtures/scenarios/event_loop.scn >"$work/free"
    if grep -q '^  FAIL' "$work/free"; then
        ((++passed))
    else
        ((++failed))
        echo 'FAIL virtual time with zero costs differs from real threads'
        cat "$work/free"
    fi
else
    ((++skipped))
fi
echo "$passed passed, $failed failed, $skipped skipped"
((failed == 0))
