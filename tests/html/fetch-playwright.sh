#!/bin/bash
# Gets playwright-core, which drives a browser, from its npm package into DIR (default build/playwright), once. The
# package is pinned by version and checksum: 3 MB, without dependencies. Its files must not be committed. It brings no
# browser; the browser is Debian's chromium.
#
#   tests/html/fetch-playwright.sh [DIR]
#
# Exit status 3, with a line that states the reason, when it cannot be fetched.
set -u
dir=${1:-${B:-build}/playwright}
package=playwright-core@1.65.1
sum=6f5a60be62a4fddfbe7d10c448d8fbd54547da3358f2f8a04211440471ee863e

fail() {
    echo "playwright: $1"
    exit 3
}

grep -qs "\"version\": \"${package#*@}\"" "$dir/package.json" && exit 0
command -v npm >/dev/null || fail 'npm is not installed'
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
(cd "$scratch" && timeout 120 npm pack --silent --fetch-retries=1 --fetch-retry-mintimeout=2000 "$package" \
    >/dev/null 2>&1) || fail "npm can't get $package"
echo "$sum  $scratch/playwright-core-${package#*@}.tgz" | sha256sum --check --status ||
    fail "what npm got is not $package as it was pinned"
tar -xzf "$scratch"/*.tgz -C "$scratch" || fail "$package cannot be unpacked"
mkdir -p "$(dirname "$dir")"
rm -rf "$dir"
mv "$scratch/package" "$dir"
