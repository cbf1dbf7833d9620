#!/bin/bash
# Our declarations of Darwin against Apple's own headers, where they can be had: the same facts hold with them, the
# sources of the library compile with them, and then want the same names as with ours, and what the library calls is
# exported by Apple's C library.
#
#   tests/darwin/headers.sh B     B has darwin/ios, built
#
# Headers that Apple's package lacks (of what is exported, but in no public header) are ours.
#
# takes: 20 s
set -u
cd "$(dirname "$0")/../.." || exit 2
build=$1 passed=0 failed=0
if ! why=$(tests/darwin/fetch-apple-headers.sh "$build/apple"); then
    echo "SKIPPED our declarations against Apple's: $why"
    echo '0 passed, 0 failed, 1 skipped'
    exit 0
fi

# NAME ARGUMENTS: they compile.
accepts() {
    local name=$1 said
    shift
    if said=$(clang -std=c11 -O2 -fPIC -fno-blocks -fno-stack-protector -femulated-tls -U_FORTIFY_SOURCE \
        -D_FORTIFY_SOURCE=0 -Wall -Wextra -Werror -nostdlibinc -isystem "$build/apple/include" \
        -isystem engine/backend/sdk/mach/include -I. -DSTROBE_APPLE_HEADERS "$@" 2>&1); then
        ((passed++))
        return 0
    fi
    ((failed++))
    echo "FAIL $name"
    head -n 10 <<<"$said"
    return 1
}

# NAME FOUND EXPECTED
holds() {
    if [[ $2 == "$3" ]]; then
        ((passed++))
    else
        ((failed++))
        echo "FAIL $1: expected '$3', found '$2'"
    fi
}

for target in arm64-apple-ios14.0 arm64-apple-ios14.0-simulator arm64-apple-macos11.0 x86_64-apple-macos11.0; do
    accepts "facts of $target" --target=$target -fsyntax-only engine/backend/mach/abi.c
done
object=$build/apple/object.o
for source in engine/{base,store,capture,backend/common,backend/mach}/*.c; do
    ours=$build/darwin/ios/${source%.c}.o
    [[ -e $source ]] && accepts "$source with Apple's headers" --target=arm64-apple-ios14.0 -c -o "$object" "$source" &&
        holds "$source: names that it wants with Apple's headers" \
            "$(llvm-nm -u "$object" | sort | paste -sd' ')" "$(llvm-nm -u "$ours" | sort | paste -sd' ')"
done
rm -f "$object"
# Of what the list of exports has, in lines that break anywhere between two names, for the arm64 Mac among others.
exported=$(tr -s " ',[]\n" '\n' <"$build/apple/libSystem.tbd" | LC_ALL=C sort -u)
unknown=$(LC_ALL=C comm -23 <(LC_ALL=C sort engine/backend/sdk/darwin/libSystem.syms) - <<<"$exported" | paste -sd' ')
holds "called, and not exported by Apple's C library" "$unknown" ''
echo "the libraries for Darwin: their sources and declarations with Apple's headers"
echo "$passed passed, $failed failed, 0 skipped"
((failed == 0))
