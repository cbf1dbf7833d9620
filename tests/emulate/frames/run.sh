#!/bin/bash
# Compares the stacks at every instruction of a function set with the true ones (S-43).
#
#   tests/emulate/frames/run.sh B     B: a build's folder
#
# Builds the set (set.c, leaf.S) for arm64 Linux and iOS in many ways, and the rig, which runs each build on an emulated
# core (rig.c). Prints `N passed, N failed, N skipped` last, where each build counts once. A missing package is named
# and skips the suite.
#
# takes: 15 s
set -u
cd "$(dirname "$0")/../../.." || exit 2
out=$1/emulate/frames
here=tests/emulate/frames
passed=0 failed=0

skip() {
    echo "SKIPPED stacks at every instruction: $*"
    echo '0 passed, 0 failed, 1 skipped'
    exit 0
}

die() {
    echo "FAIL stacks at every instruction: $*"
    echo "$passed passed, $((failed + 1)) failed, 0 skipped"
    exit 1
}

for tool in clang:clang ld.lld:lld ld64.lld-14:lld-14; do
    command -v "${tool%:*}" >/dev/null || skip "needs ${tool%:*} (package ${tool#*:})"
done
echo '#include <unicorn/unicorn.h>' | "${CC:-gcc}" -E - >/dev/null 2>&1 ||
    skip 'needs unicorn/unicorn.h (package libunicorn-dev)'

mkdir -p "$out" || exit 2
"${CC:-gcc}" -I. -isystem engine/backend/sdk/mach/include \
    -D_GNU_SOURCE -DSTROBE_ABI_ARM64 -std=c11 -O2 -g -Wall -Wextra \
    -Werror -o "$out/rig" $here/rig.c engine/backend/mach/unwind_mach.c \
    engine/capture/{leaf,walk_fp,frame_state}.c -lunicorn || die "the rig can't be built"

flags=(-I. -ffreestanding -fno-builtin -fno-stack-protector -fno-omit-frame-pointer -std=gnu11 -Wall -Wextra -Werror
       -Wno-unknown-pragmas -Wno-pass-failed)
images=()

# build NAME FLAGS...: builds the set for both systems
build() {
    local name=$1
    shift
    clang --target=aarch64-linux-gnu "${flags[@]}" "$@" -nostdlib -static -fuse-ld=lld -Wl,--image-base=0x100000 \
        -Wl,-e,set_run -Wl,--build-id=none -o "$out/$name.elf" $here/leaf.S $here/set.c || die "$name: no program"
    for source in leaf.S set.c; do
        clang --target=arm64-apple-ios14.0 "${flags[@]}" "$@" -c -o "$out/$name.${source%.*}.o" $here/$source ||
            die "$name: no object"
    done
    ld64.lld-14 -arch arm64 -platform_version ios 14.0 16.0 -dylib -install_name @rpath/set.dylib \
        -o "$out/$name.dylib" "$out/$name.leaf.o" "$out/$name.set.o" || die "$name: no library"
    images+=("$out/$name.elf" "$out/$name.dylib")
}

for level in O0 O1 O2 O3 Os Oz; do
    build "$level" "-$level" -mno-outline
    build "$level-leaf" "-$level" -mno-outline -mno-omit-leaf-frame-pointer
    build "$level-pac" "-$level" -mno-outline -mbranch-protection=pac-ret
    build "$level-pacleaf" "-$level" -mno-outline -mbranch-protection=pac-ret+leaf+bti
done
build Oz-outlined -Oz

timeout "${LIMIT:-200}" "$out/rig" "${images[@]}" >"$out/log" 2>"$out/wrong"
status=$?
while read -r line; do
    case $line in
    *': 0 wrong,'*) ((passed++)); echo "ok   ${line#"$out/"}" ;;
    *' wrong,'*) ((failed++)); echo "FAIL ${line#"$out/"}" ;;
    esac
done <"$out/log"
((passed + failed == ${#images[@]} && status < 2)) || die "$(tail -n 1 "$out/wrong")"
((failed == 0)) || head -n 25 "$out/wrong"
[[ $(tail -n 1 "$out/log") != *differ ]] || die 'the builds come to different results'
tail -n 1 "$out/log"

# The chain of records alone misses callers. The comparison must detect that.
timeout "${LIMIT:-200}" "$out/rig" --chain "$out/O2.dylib" >"$out/log" 2>/dev/null
if (($? == 1)) && ! grep -q ': 0 wrong' "$out/log"; then
    ((passed++))
    echo "ok   by the chain alone, $(sed -nE '1s/.*: ([0-9]+) wrong.*/\1/p' "$out/log") stacks are wrong"
else
    ((failed++))
    echo 'FAIL the chain alone is right everywhere: nothing was compared'
fi
echo "$passed passed, $failed failed, 0 skipped"
((failed == 0))
