#!/bin/bash
# Unwinding by exception tables on 32-bit ARM, emulated.
#
#   tests/armv7/lane.sh B     B: a build's folder
#
# Builds the function set of tests/emulate/frames as ARM code and as Thumb code, by GCC and by LLVM, without frame
# pointers where the level allows. Runs each build on an emulated core, and compares the stack at each instruction, and
# at each call by tables alone, with the true one (rig.c). joined.c takes whole stacks of a process under qemu-user.
# Prints `N passed, N failed, N skipped` last. A missing package is named and skips the suite. With FULL=1, as in the
# nightly run, the set is built at each level of optimization.
#
# takes: 15 s
set -u
cd "$(dirname "$0")/../.." || exit 2
out=$1/armv7
here=tests/armv7
passed=0 failed=0

skip() {
    echo "SKIPPED stacks on armv7: $*"
    echo '0 passed, 0 failed, 1 skipped'
    exit 0
}

die() {
    echo "FAIL stacks on armv7: $*"
    echo "$passed passed, $((failed + 1)) failed, 0 skipped"
    exit 1
}

for tool in clang:clang ld.lld:lld arm-linux-gnueabihf-gcc:gcc-arm-linux-gnueabihf \
    qemu-arm-static:qemu-user-static; do
    command -v "${tool%:*}" >/dev/null || skip "needs ${tool%:*} (package ${tool#*:})"
done
echo '#include <unicorn/unicorn.h>' | "${CC:-gcc}" -E - >/dev/null 2>&1 ||
    skip 'needs unicorn/unicorn.h (package libunicorn-dev)'

mkdir -p "$out" || exit 2
"${CC:-gcc}" -I. -D_GNU_SOURCE -DSTROBE_ABI_ARM -std=c11 -O2 -g -Wall -Wextra -Werror -o "$out/rig" $here/rig.c \
    engine/backend/linux/{exidx,arm_code,unwind_index,unwind_table}.c -lunicorn || die "the rig can't be built"

flags=(-I. -ffreestanding -fno-builtin -fno-stack-protector -funwind-tables -std=gnu11 -Wall -Wextra -Werror
       -Wno-unknown-pragmas -nostdlib -static -Wl,-e,set_run -Wl,--build-id=none)
sources=("$here/hand.S" "$here/runtime.c" tests/emulate/frames/set.c)
images=()
levels=(O0 O2 Os)
[[ -z ${FULL:-} ]] || levels+=(O1 O3)
for level in "${levels[@]}"; do
    for state in thumb arm; do
        arm-linux-gnueabihf-gcc "${flags[@]}" "-$level" "-m$state" -Wl,-Ttext-segment=0x100000 \
            -o "$out/gcc-$level-$state.elf" "${sources[@]}" || die "gcc-$level-$state: no program"
        clang --target=arm-linux-gnueabihf -march=armv7-a -mfpu=neon "${flags[@]}" -Wno-pass-failed "-$level" \
            "-m$state" -fuse-ld=lld -Wl,--image-base=0x100000 -o "$out/clang-$level-$state.elf" "${sources[@]}" ||
            die "clang-$level-$state: no program"
        images+=("$out/"{gcc,clang}"-$level-$state.elf")
    done
done

# compare WHAT OPTION...: compares the stacks of all images, and counts each image.
compare() {
    local what=$1 status line count=0
    shift
    timeout "${LIMIT:-200}" "$out/rig" "$@" "${images[@]}" >"$out/log" 2>"$out/wrong"
    status=$?
    while read -r line; do
        case $line in
        *': 0 wrong, 0 in doubt') ((passed++, count++)); echo "ok   $what: ${line#"$out/"}" ;;
        *' wrong, '*) ((failed++, count++)); echo "FAIL $what: ${line#"$out/"}" ;;
        esac
    done <"$out/log"
    ((count == ${#images[@]} && status < 2)) || die "$(tail -n 1 "$out/wrong")"
    ((failed == 0)) || head -n 25 "$out/wrong"
    [[ $(tail -n 1 "$out/log") != *differ ]] || die 'the builds come to different results'
}

compare 'at each call' --calls
compare 'at each instruction'

# The tables alone are wrong in prologues and epilogues. The comparison must detect that.
timeout "${LIMIT:-200}" "$out/rig" --tables "${images[0]}" >"$out/log" 2>/dev/null
if (($? == 1)) && ! grep -q ': 0 wrong' "$out/log"; then
    ((passed++))
    echo "ok   by tables alone, $(sed -nE '1s/.*: ([0-9]+) wrong.*/\1/p' "$out/log") stacks are wrong"
else
    ((failed++))
    echo 'FAIL tables alone are right at each instruction: nothing was compared'
fi
# Whole stacks: the engine is compiled as the library for Android is, the app as most apps are.
root=/usr/arm-linux-gnueabihf
app=(-I. -std=gnu11 -O2 -mthumb -fomit-frame-pointer -funwind-tables -Wall -Wextra -Werror)
engine=(--target=arm-linux-gnueabihf -march=armv7-a -marm -isystem "$root/include" -I. -D_GNU_SOURCE -std=c11 -O2
        -fno-omit-frame-pointer -funwind-tables -Wall -Wextra -Werror)
objects=()
for source in $here/joined.c engine/backend/art/{frames,frames_images,code}.c \
    engine/backend/linux/{exidx,arm_code,unwind_images,unwind_index,unwind_table}.c; do
    objects+=("$out/$(basename "$source" .c).o")
    clang "${engine[@]}" -c -o "${objects[-1]}" "$source" || die "$source: no object"
done
arm-linux-gnueabihf-gcc "${app[@]}" -fPIC -shared -o "$out/libart-armv7.so" $here/invoke.S $here/invoke.c &&
    arm-linux-gnueabihf-gcc "${app[@]}" -o "$out/joined" $here/joined_app.c "${objects[@]}" ||
    die 'joined.c: no program'
timeout "${LIMIT:-200}" qemu-arm-static -L "$root" "$out/joined" "$out/libart-armv7.so" >"$out/log" 2>"$out/wrong"
read -r p f < <(sed -nE 's/^([0-9]+) passed, ([0-9]+) failed$/\1 \2/p' "$out/log")
[[ -n ${p:-} ]] || die "joined.c: $(tail -n 1 "$out/wrong")"
grep -vE '^[0-9]+ passed' "$out/log"
((passed += p, failed += f))
echo "$passed passed, $failed failed, 0 skipped"
((failed == 0))
