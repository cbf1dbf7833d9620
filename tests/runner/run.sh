#!/bin/bash
# tests/run itself: it sums what suites count, and no way of failing goes unseen.
set -u
cd "$(dirname "$0")/../.." || exit 2
passed=0 failed=0
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export LIMIT=2 LOGS=$dir/log
unset WRAP

# script NAME TEXT: a suite in the shape of a script.
script() {
    mkdir -p "$dir/$1"
    printf '#!/bin/bash\n%s\n' "$2" >"$dir/$1/run.sh"
    chmod +x "$dir/$1/run.sh"
}

# program NAME TEXT: a suite in the shape of a CMocka program.
program() {
    printf '#!/bin/bash\n%s\n' "$2" >"$dir/$1"
    chmod +x "$dir/$1"
}

# expect NAME STATUS LAST-LINE SUITE...: what tests/run makes of these suites.
expect() {
    local name=$1 want_status=$2 want=$3 got status
    shift 3
    got=$(B=$dir tests/run "${@/#/$dir/}" 2>&1)
    status=$?
    if [[ $status == "$want_status" && $(tail -n 1 <<<"$got") == "$want" ]]; then
        ((passed++))
    else
        ((failed++))
        printf 'FAIL %s: status %s, output:\n%s\n' "$name" "$status" "$got"
    fi
    last=$got
}

# says NAME TEXT: the last output holds it.
says() {
    if [[ $last == *"$2"* ]]; then
        ((passed++))
    else
        ((failed++))
        printf 'FAIL %s: not in:\n%s\n' "$1" "$last"
    fi
}

script good 'echo "3 passed, 0 failed, 2 skipped"; echo "skipped: no perf"'
script old 'echo "9 passed, 9 failed"; echo "4 passed, 0 failed"'
script bad 'echo "FAIL x"; echo "2 passed, 1 failed"; exit 1'
script mute 'exit 0'
script liar 'echo "5 passed, 0 failed"; exit 7'
script dies 'echo "5 passed, 0 failed"; kill -SEGV $$'
script hangs 'echo "5 passed, 0 failed"; sleep 60'
program groups 'echo "[  PASSED  ] 4 test(s)."; echo "[  PASSED  ] 6 test(s)."'
program broken 'echo "[  PASSED  ] 4 test(s)."; echo "[  FAILED  ] 2 test(s), listed below:"; exit 2'
program skips 'echo "[  PASSED  ] 1 test(s)."; echo "[  SKIPPED ] 2 test(s), listed below:"'

expect 'sums over suites' 0 '17 passed, 0 failed, 2 skipped' good/run.sh old/run.sh groups
says 'names what was skipped' 'skipped: no perf'
expect 'counts failures of a script' 1 '5 passed, 1 failed, 2 skipped' good/run.sh bad/run.sh
says 'says how to repeat' "repeat with: B=$dir $dir/bad/run.sh"
expect 'counts failures of a program' 1 '4 passed, 2 failed, 0 skipped' broken
says 'says how to repeat a program' "repeat with: $dir/broken"
expect 'counts skipped tests of a program' 0 '1 passed, 0 failed, 2 skipped' skips
expect 'a suite that counts nothing has failed' 1 '0 passed, 1 failed, 0 skipped' mute/run.sh
expect 'a bad exit status is a failure' 1 '5 passed, 1 failed, 0 skipped' liar/run.sh
expect 'a crash is a failure' 1 '5 passed, 1 failed, 0 skipped' dies/run.sh
expect 'a hang is a failure' 1 '5 passed, 1 failed, 0 skipped' hangs/run.sh
expect 'a missing suite is a failure' 1 '0 passed, 1 failed, 0 skipped' nowhere
expect 'a failure does not hide later suites' 1 '10 passed, 1 failed, 0 skipped' mute/run.sh groups

echo "$passed passed, $failed failed"
((failed == 0))
