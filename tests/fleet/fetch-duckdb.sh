#!/bin/bash
# Gets DuckDB, from an npm package, into DIR (default build/duckdb), once: its library, and the module by which node
# loads it. The package is pinned by version and checksums. The files must not be committed.
#
#   tests/fleet/fetch-duckdb.sh [DIR]
#
# Exit status 3, with a line that states the reason, when it cannot be fetched.
set -u
cd "$(dirname "$0")/../.." || exit 2
dir=${1:-${B:-build}/duckdb}
command -v node >/dev/null || { echo 'DuckDB: node is not installed'; exit 3; }
[[ $(uname -sm) == 'Linux x86_64' ]] || { echo 'DuckDB: is pinned for Linux on x86-64 only'; exit 3; }
exec ci/npm-files "$dir" @duckdb/node-bindings-linux-x64@1.5.6-r.1 . \
    duckdb.node=ff7fc7f2c2bcba140c29d09d0f486b891c6c4d9fe694e38a11a853b40e2a5d96 \
    libduckdb.so=3f4962cdd266eab2b479a5b5a4a6d063d279b2954ae814ed00385d553b747633
