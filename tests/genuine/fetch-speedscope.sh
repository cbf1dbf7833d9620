#!/bin/bash
# Gets the schema of speedscope's file format, from its npm package, and a validator for it, into DIR (default
# build/speedscope), once. The package is pinned by version and checksum. The files must not be committed.
#
#   tests/genuine/fetch-speedscope.sh [DIR]
#
# Exit status 3, with a line that states the reason, when it cannot be fetched.
set -u
dir=${1:-${B:-build}/speedscope}
package=speedscope@1.25.0 validator=ajv@8.17.1
sum=2831f1e0d26df914b477e522d78b8485511495a6af81a0b88158f8b48f9e0d03

fail() {
    echo "speedscope: $1"
    exit 3
}

[[ -e $dir/file-format-schema.json && -d $dir/node_modules/ajv ]] && exit 0
command -v npm >/dev/null || fail 'npm is not installed'
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# One early retry. With npm's default delays a machine without a network waits for a minute.
options=(--silent --prefer-offline --fetch-retries=1 --fetch-retry-mintimeout=2000)
(cd "$scratch" && timeout 60 npm pack "${options[@]}" "$package" >/dev/null 2>&1) || fail "npm can't get $package"
echo "$sum  $scratch/speedscope-1.25.0.tgz" | sha256sum --check --status ||
    fail "what npm got is not $package as it was pinned"
mkdir "$scratch/new"
tar -xzf "$scratch"/*.tgz -C "$scratch/new" --strip-components=3 package/dist/release/file-format-schema.json ||
    fail "$package holds no schema"
timeout 60 npm install "${options[@]}" --ignore-scripts --no-audit --no-fund --prefix "$scratch/new" "$validator" \
    >/dev/null 2>&1 || fail "npm can't get $validator"
mkdir -p "$(dirname "$dir")"
rm -rf "$dir"
mv "$scratch/new" "$dir"
