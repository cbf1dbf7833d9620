#!/bin/bash
# Tests the rules of Mach, and the Mach backend's own sources, on a real kernel: Debian's GNU Mach, booted in an
# emulated machine with one task.
#
#   tests/gnumach/lane.sh B     B: a build's folder; fetched and built files are kept in B-gnumach
#
# A missing package is named and skips the lane. VERBOSE=1 shows the machine's whole output.
#
# takes: 12 s
set -u
cd "$(dirname "$0")/../.." || exit 2
dir=$1-gnumach kernel=gnumach-1.8-486

skip() {
    echo "SKIPPED GNU Mach: $*"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
}

fail() {
    echo "FAIL GNU Mach: $*"
    echo "0 passed, 1 failed, 0 skipped"
    exit 1
}

while read -r tool package; do
    command -v "$tool" >/dev/null || skip "needs $tool (package $package)"
done <<'TOOLS'
clang clang
ld.lld lld
qemu-i386-static qemu-user-static
qemu-system-i386 qemu-system-x86
TOOLS
why=$(ci/sysroot i386 "$dir/root" gnumach-image-1.8-486 gnumach-dev mig-i686-gnu libc6 2>&1)
case $? in
0) ;;
2) skip "$why" ;;
*) fail "its packages can't be unpacked: $why" ;;
esac

make -s --no-print-directory B="$1" HASTE="$(cat "$1/haste")" "$dir/task" || fail "the task can't be built"
gunzip -kf "$dir/root/boot/$kernel.gz" || fail "the kernel can't be unpacked"
# The machine's time follows its instructions, about 16 per us, and sleeps take no real time. So each run is the same,
# also on a busy machine. The kernel fills in the task's arguments and starts the task.
# shellcheck disable=SC2016
timeout "${LIMIT:-60}" qemu-system-i386 -m 256 -icount shift=6,sleep=off -rtc base=2020-01-01,clock=vm \
    -nodefaults -vga none -display none -serial stdio -no-reboot \
    -kernel "$dir/root/boot/$kernel" -append console=com0 \
    -initrd "$dir/task task \${host-port} \$(task-create) \$(task-resume)" </dev/null 2>&1 |
    tr -d '\r' >"$dir/log"
status=${PIPESTATUS[0]}
total=$(grep -E '^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$' "$dir/log" | tail -n 1)
[[ -z ${VERBOSE:-} ]] || cat "$dir/log"
grep -E '^(FAIL|SKIPPED) ' "$dir/log"
if [[ -z $total ]] || ((status)); then
    tail -n 20 "$dir/log"
    fail "the machine did not come to its end (status $status)"
fi
echo "$total"
[[ $total == *' 0 failed, '* ]]
