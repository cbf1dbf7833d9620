#!/bin/bash
# The library for iOS on an emulated processor, under a kernel of ours that keeps Mach's rules (tests/emulate/host).
#
#   tests/emulate/emulate.sh B     B: a build's folder
#
# What the machine lacks is named, and skips it. SEEDS=N: plays that many seeds of what is drawn (default 50).
set -u
cd "$(dirname "$0")/../.." || exit 2
build=$1 dir=$1/emulate seeds=${SEEDS:-50} limit=${LIMIT:-100}
passed=0 failed=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

skip() {
    echo "SKIPPED the library for iOS, emulated: $*"
    echo '0 passed, 0 failed, 1 skipped'
    exit 0
}

for tool in clang:clang ld64.lld-14:lld-14; do
    command -v "${tool%:*}" >/dev/null || skip "needs ${tool%:*} (package ${tool#*:})"
done
echo '#include <unicorn/unicorn.h>' | "${CC:-gcc}" -E - >/dev/null 2>&1 ||
    skip 'needs unicorn/unicorn.h (package libunicorn-dev)'
if ! make -s --no-print-directory B="$build" emulators >"$work/log" 2>&1; then
    tail -n 20 "$work/log"
    echo 'FAIL the emulators can not be built'
    echo '0 passed, 1 failed, 0 skipped'
    exit 1
fi

verdict() {
    if (($1)); then
        ((failed++))
        echo "FAIL $2"
        tail -n 25 "$work/log"
        [[ -z ${3:-} ]] || echo "  again: $3"
    else
        ((passed++))
        echo "ok   $2"
    fi
}

# NAME STATUS PATTERN IMAGES ARGUMENTS: the run ends with that status, and says so.
expect() {
    local name=$1 status=$2 pattern=$3 images=$4
    shift 4
    local command=("$dir/emulate" "$@" "$dir/libSystem.dylib")
    for image in $images; do command+=("$dir/$image.dylib"); done
    timeout "$limit" "${command[@]}" >"$work/log" 2>&1
    local got=$?
    ((got == status)) && grep -qE "$pattern" "$work/log"
    verdict $? "$name" "${command[*]}"
}

# NAME IMAGES ARGUMENTS: the same with status 0, for all seeds, each with a session of its own that balances.
expect_all() {
    local name=$1 images=("$dir/libSystem.dylib")
    for image in $2; do images+=("$dir/$image.dylib"); done
    shift 2
    seq "$seeds" | xargs -P "$(nproc)" -I '{}' tests/emulate/seed.sh '{}' "$work" "$build" "$@" "${images[@]}"
    verdict $? "$name"
}

# ---- the host itself

for seed in 1 2 3; do
    expect "the table of Mach rules holds on the emulated kernel, seed $seed" 0 '^[1-9][0-9]* passed, 0 failed' rules \
        --unguarded --run rules_main --seed $seed
    expect "a sampler that does nothing else is let be, seed $seed" 0 '300 suspends, 300 resumes' bare \
        --run bare_main --seed $seed
    cp "$work/log" "$work/first"
    expect "a seed plays the same again, seed $seed" 0 "^$(cat "$work/first")\$" bare --run bare_main --seed $seed
    expect "who allocates while it holds another thread is proved to wait for ever, seed $seed" 3 \
        'waits for the lock heap_lock' bare --run bare_main --seed $seed --unguarded --set EMULATED_PLANT=malloc
done
while read -r call; do
    expect "the trap catches $call" 4 "^FORBIDDEN $call," bare --run bare_main --set "EMULATED_PLANT=$call"
done < <(sed -nE 's/^ *\{"([A-Za-z_]+)", plant_.*/\1/p' tests/emulate/guest/planted.c)

echo "$passed passed, $failed failed, 0 skipped"
((failed == 0))
