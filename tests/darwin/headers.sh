#!/bin/bash
# Our declarations of Darwin against Apple's own headers, where they can be had: the same facts hold with them, the
# sources of the library compile with them as they do with ours, and what the library calls is exported by Apple's
# C library.
#
#   tests/darwin/headers.sh B
#
# Headers that Apple's package lacks (of what is exported, but in no public header) are ours.
set -u
cd "$(dirname "$0")/../.." || exit 2
build=$1 passed=0 failed=0
if ! why=$(tests/darwin/fetch-apple-headers.sh "$build/apple"); then
    echo "SKIPPED our declarations against Apple's: $why"
    echo '0 passed, 0 failed, 1 skipped'
    exit 0
fi

accepts() {
    local name=$1 said
    shift
    if said=$(clang -std=c11 -O2 -Wall -Wextra -Werror -nostdlibinc -fsyntax-only -isystem "$build/apple/include" \
        -isystem engine/backend/mach/include -I. -DSTROBE_APPLE_HEADERS "$@" 2>&1); then
        ((passed++))
    else
        ((failed++))
        echo "FAIL $name"
        head -n 10 <<<"$said"
    fi
}

for target in arm64-apple-ios14.0 arm64-apple-ios14.0-simulator arm64-apple-macos11.0 x86_64-apple-macos11.0; do
    accepts "facts of $target" --target=$target engine/backend/mach/abi.c
done
for source in engine/{base,store,capture,backend/posix,backend/mach}/*.c; do
    [[ -e $source ]] && accepts "$source with Apple's headers" --target=arm64-apple-ios14.0 "$source"
done
# Of what the list of exports has, in lines that break anywhere between two names, for the arm64 Mac among others.
exported=$(tr -s ' ,[]\n' '\n' <"$build/apple/libSystem.tbd" | LC_ALL=C sort -u)
unknown=$(LC_ALL=C comm -23 <(LC_ALL=C sort engine/backend/mach/darwin/libSystem.syms) - <<<"$exported" | paste -sd' ')
if [[ -z $unknown ]]; then
    ((passed++))
else
    ((failed++))
    echo "FAIL called, and not exported by Apple's C library: $unknown"
fi
echo "the libraries for Darwin: their sources and declarations with Apple's headers"
echo "$passed passed, $failed failed, 0 skipped"
((failed == 0))
