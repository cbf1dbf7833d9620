#!/bin/bash
# One table of behaviours, for the genuine Android runtimes that are here and the fake of every level: see contract.h.
#
#   tests/contract_art/run.sh [RUNTIME...]      default: art11, art14 where STROBE_ART14 names it, all fakes
set -u
cd "$(dirname "$0")/../.." || exit 2
export B=${B:-build}
unset MAKEFLAGS MFLAGS MAKELEVEL
passed=0 failed=0 skipped=0

# The last line of what a run says, added up; and a run that says nothing of the kind has failed.
count() {
    local p f s
    read -r p f s < <(sed -nE 's/^([0-9]+) passed, ([0-9]+) failed, ([0-9]+) skipped$/\1 \2 \3/p' <<<"$2" | tail -n 1)
    if [[ -z ${s:-} ]]; then
        echo "FAIL $1: ended with status $3"
        p=0 f=1 s=0
    fi
    ((passed += p, failed += f, skipped += s))
    printf '%-8s %-12s %4d passed %3d failed %3d skipped\n' "${1% *}" "${1#* }" "$p" "$f" "$s"
}

# contract RUNTIME MODE
contract() {
    local out status
    out=$(timeout 200 "$B/contract_art" "$1" "$2" 2>&1)
    status=$?
    grep -v ' passed, ' <<<"$out"
    count "$1 $2" "$out" "$status"
}

make -s "$B/contract_art" >/dev/null || { echo 'FAIL contract_art does not build'; echo '0 passed, 1 failed'; exit 1; }
runtimes=("$@")
if ((${#runtimes[@]} == 0)); then
    runtimes=(art11)
    [[ -n ${STROBE_ART14:-} ]] && runtimes+=(art14)
    if [[ -e sim/art/fake/level ]]; then
        mapfile -t -O "${#runtimes[@]}" runtimes < <(printf 'fake%s\n' {24..36})
    fi
fi
for runtime in "${runtimes[@]}"; do
    modes=(interpreted quick)
    if [[ $runtime == fake* ]]; then
        modes+=(inlined)
        if ! make -s "$B/art/${runtime#fake}/libart.so" >/dev/null; then
            echo "FAIL $runtime does not build"
            ((failed++))
            continue
        fi
    fi
    for mode in "${modes[@]}"; do contract "$runtime" "$mode"; done
done
echo "$passed passed, $failed failed, $skipped skipped"
((failed == 0))
