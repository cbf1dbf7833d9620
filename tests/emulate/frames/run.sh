#!/bin/bash
# Stacks at every instruction of a function set, against the truth.
#
#   B=build tests/emulate/frames/run.sh
#
# Builds the set (set.c, leaf.S) for arm64 Linux and iOS in many ways, and the rig, which runs each build on an emulated
# core (rig.c).
set -u
cd "$(dirname "$0")/../../.." || exit 2
out=${B:-build}/emulate/frames
here=tests/emulate/frames
mkdir -p "$out" || exit 2

die() {
    echo "frames: $*" >&2
    exit 2
}

clang=${CLANG:-clang}
for tool in "$clang" ld.lld ld64.lld-14; do
    command -v "$tool" >/dev/null || die "no $tool (ci/deps emulate)"
done

${CC:-gcc} -I. -isystem engine/backend/mach/include -D_GNU_SOURCE -DSTROBE_ABI_ARM64 -std=c11 -O2 -g -Wall -Wextra \
    -Werror -o "$out/rig" $here/rig.c engine/backend/mach/unwind_mach.c \
    engine/capture/{leaf,walk_fp,frame_state}.c -lunicorn || die "the rig can't be built (ci/deps emulate)"

flags=(-ffreestanding -fno-builtin -fno-stack-protector -fno-omit-frame-pointer -std=gnu11 -Wall -Wextra -Werror
       -Wno-unknown-pragmas -Wno-pass-failed)
images=()

# build NAME FLAGS...: for both systems
build() {
    local name=$1
    shift
    local elf=$out/$name.elf macho=$out/$name.dylib
    "$clang" --target=aarch64-linux-gnu "${flags[@]}" "$@" -nostdlib -static -fuse-ld=lld -Wl,--image-base=0x100000 \
        -Wl,-e,set_run -Wl,--build-id=none -o "$elf" $here/leaf.S $here/set.c || die "$name: no program"
    for source in leaf.S set.c; do
        "$clang" --target=arm64-apple-ios14.0 "${flags[@]}" "$@" -c -o "$out/$name.${source%.*}.o" $here/$source ||
            die "$name: no object"
    done
    ld64.lld-14 -arch arm64 -platform_version ios 14.0 16.0 -dylib -install_name @rpath/set.dylib -o "$macho" \
        "$out/$name.leaf.o" "$out/$name.set.o" || die "$name: no library"
    images+=("$elf" "$macho")
}

for level in O0 O1 O2 O3 Os Oz; do
    build "$level" "-$level" -mno-outline
    build "$level-leaf" "-$level" -mno-outline -mno-omit-leaf-frame-pointer
    build "$level-pac" "-$level" -mno-outline -mbranch-protection=pac-ret
    build "$level-pacleaf" "-$level" -mno-outline -mbranch-protection=pac-ret+leaf+bti
done
build Oz-outlined -Oz
"$out/rig" "${images[@]}"
