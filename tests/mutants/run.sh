#!/bin/bash
# Runs mutants; see harness.py for the arguments. Without an argument, as from `make test-tools`, it runs the harness's
# checks and a few mutants whose tests build quickly.
#
# takes: 14 s
set -u
cd "$(dirname "$0")/../.." || exit 2
export LC_ALL=C.UTF-8 B=${B:-build}
B=${B#"$PWD/"}
(($#)) && exec python3 tests/mutants/harness.py "$@"
few='hook_native_of_no_function timeline_gap_without_a_label matrix_clock_goes_back'
passed=0 failed=0
log=$(mktemp)
trap 'rm -f "$log"' EXIT
for part in tests/mutants/check.sh "python3 tests/mutants/check_table.py" "python3 tests/mutants/harness.py $few"; do
    $part 2>&1 | tee "$log"
    read -r p f < <(sed -nE 's/^([0-9]+) passed, ([0-9]+) failed$/\1 \2/p' "$log" | tail -n 1)
    ((passed += p, failed += ${f:-1}))
done
echo "$passed passed, $failed failed"
((failed == 0))
