#!/bin/bash
# The fuzz programs, built without libFuzzer, replay what is stored for them: the corpora of fixtures/fuzz, and the
# inputs in tests/fuzz/seeds that once found a fault. No property fails. `make fuzz` searches for more.
#
#   B=DIR tests/fuzz/run.sh [PROGRAM...]
#
# takes: 9 s
set -u
cd "$(dirname "$0")/../.." || exit 2
B=${B:-build}
B=${B#"$PWD/"}
unset MAKEFLAGS MFLAGS MAKELEVEL
export CMOCKA_TEST_ABORT=1
passed=0 failed=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export TMPDIR=$work
ulimit -c 0
if ! make -s B="$B" HASTE="$(cat "$B/haste" 2>/dev/null)" fuzzers >"$work/log" 2>&1; then
    echo "FAIL the fuzz programs do not build: $(tail -n 3 "$work/log")"
    echo '0 passed, 1 failed'
    exit 1
fi
for source in tests/fuzz/fuzz_*.c tests/fuzz/*/fuzz_*.c; do
    name=${source##*/} name=${name%.c} folders=()
    (($# == 0)) || [[ " $* " == *" $name "* ]] || continue
    mkdir "$work/$name"
    [[ ! -e fixtures/fuzz/$name.tar.xz ]] || tar -C "$work/$name" -xJf "fixtures/fuzz/$name.tar.xz"
    folders=("$work/$name")
    [[ ! -d tests/fuzz/seeds/$name ]] || folders+=("tests/fuzz/seeds/$name")
    if said=$(timeout 120 "$B/${source%.c}" "${folders[@]}" 2>&1) && [[ $said =~ [1-9][0-9]*\ inputs$ ]]; then
        ((passed++))
    else
        ((failed++))
        echo "FAIL $name: $(grep -v '^$' <<<"$said" | tail -n 3)"
        echo "repeat with: $B/${source%.c} tests/fuzz/seeds/$name, or the files of fixtures/fuzz/$name.tar.xz"
    fi
done
echo "$passed passed, $failed failed"
((failed == 0))
