#!/bin/bash
# Compares Strobe's declarations of Darwin with Apple's own headers, if these can be fetched. The same facts hold with
# both. The sources of the library compile with Apple's headers, and then refer to the same names. Apple's C library
# exports the functions that the library calls.
#
#   tests/darwin/headers.sh B     B contains the build darwin/ios
#
# Functions that are exported but in no public header are declared in Strobe's headers.
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

# accepts NAME ARGUMENTS: the compiler accepts the arguments.
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

# holds NAME FOUND EXPECTED: both texts are equal.
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
for source in engine/{base,store,capture,control,backend/common,backend/common/embed,backend/mach}/*.c; do
    ours=$build/darwin/ios/${source%.c}.o
    [[ -e $source ]] && accepts "$source with Apple's headers" --target=arm64-apple-ios14.0 -c -o "$object" "$source" &&
        holds "$source: names that it wants with Apple's headers" \
            "$(llvm-nm -u "$object" | sort | paste -sd' ')" "$(llvm-nm -u "$ours" | sort | paste -sd' ')"
done
rm -f "$object"
# The names in the list of exports, which contains those of the arm64 Mac. Its lines break between any two names.
exported=$(tr -s " ',[]\n" '\n' <"$build/apple/libSystem.tbd" | LC_ALL=C sort -u)
unknown=$(LC_ALL=C comm -23 <(LC_ALL=C sort engine/backend/sdk/darwin/libSystem.syms) - <<<"$exported" | paste -sd' ')
holds "called, and not exported by Apple's C library" "$unknown" ''
echo "the libraries for Darwin: their sources and declarations with Apple's headers"
echo "$passed passed, $failed failed, 0 skipped"
((failed == 0))
