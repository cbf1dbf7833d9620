#!/bin/bash
# The table of Mach rules (rules.h) on the lab's fake Mach, over real threads and over virtual threads. Lane `emulate`
# runs the table on GNU Mach and on an emulated core too.
set -u
cd "$(dirname "$0")/../.." || exit 2
export B=${B:-build}
unset MAKEFLAGS MFLAGS MAKELEVEL
passed=0 failed=0 skipped=0
programs=(contract_mach contract_mach_virtual)
if ! make -s "${programs[@]/#/$B/}" >/dev/null; then
    echo 'FAIL its programs do not build'
    echo '0 passed, 1 failed'
    exit 1
fi
for run in {contract_mach,contract_mach_virtual}' '{xnu,gnu}; do
    read -r program kernel <<<"$run"
    out=$(timeout 60 "$B/$program" "$kernel" 2>&1)
    status=$?
    read -r p f s < <(sed -nE 's/^([0-9]+) passed, ([0-9]+) failed, ([0-9]+) skipped$/\1 \2 \3/p' <<<"$out" | tail -n 1)
    if [[ -z ${s:-} ]]; then
        echo "FAIL $run: ended with status $status"
        p=0 f=1 s=0
    fi
    grep -vE '^ok| passed, ' <<<"$out"
    ((passed += p, failed += f, skipped += s))
    unset p f s
done
echo "$passed passed, $failed failed, $skipped skipped"
((failed == 0))
