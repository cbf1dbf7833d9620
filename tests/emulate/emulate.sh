#!/bin/bash
# Tests the library for iOS on an emulated processor, under an emulated kernel that keeps Mach's rules
# (tests/emulate/host).
#
#   tests/emulate/emulate.sh B     B: a build's folder
#
# A missing package is named and skips the lane. SEEDS=N: plays N seeds of the random draws (default 8). EVERY=N: loses
# the sampler at every Nth instruction (default 97).
#
# takes: 20 s
set -u
cd "$(dirname "$0")/../.." || exit 2
build=$1 dir=$1/emulate seeds=${SEEDS:-8} limit=${LIMIT:-100}
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
if ! make -s --no-print-directory B="$build" HASTE="$(cat "$build/haste")" emulators >"$work/log" 2>&1; then
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

# expect NAME STATUS PATTERN IMAGES ARGUMENTS: the run ends with that status and prints the pattern.
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

# expect_all NAME IMAGES ARGUMENTS: for each seed, the run ends with status 0, and its session is consistent.
expect_all() {
    local name=$1 images=("$dir/libSystem.dylib")
    for image in $2; do images+=("$dir/$image.dylib"); done
    shift 2
    seq "$seeds" | xargs -P "$(nproc)" -I '{}' tests/emulate/seed.sh '{}' "$work" "$build" "$@" "${images[@]}"
    verdict $? "$name"
}

planted() {
    sed -nE 's/^ *\{"([A-Za-z_]+)", plant_.*/\1/p' tests/deadlock/plants.c
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
        'waits for the lock heap_lock' bare --run bare_main --seed $seed --unguarded --set STROBE_PLANT=malloc
done
while read -r call; do
    expect "the trap catches $call" 4 "^FORBIDDEN $call," bare --run bare_main --set "STROBE_PLANT=$call"
done < <(planted)


# ---- the library

app='app libstrobe'
expect_all "threads that compute, allocate, lock: the session balances, nothing is left, $seeds seeds" "$app" \
    --run app_main --set EMULATED_MS=4
expect_all "threads that come and go: the session balances, nothing is left, $seeds seeds" "$app" --run churn_main
for seed in 1 2 3; do
    session=(--session "$work/session" --seed $seed)
    expect "a sample at every instruction is exact, without hooks, seed $seed" 0 '[1-9][0-9]{3} samples kept, 0 wrong' \
        "$app" --exact --run exact_main "${session[@]}" --set EMULATED_TURNS=12 --set EMULATED_WITHOUT=63
    expect "a sample at every instruction is exact, in hooks as well, seed $seed" 0 ' samples kept, 0 wrong' \
        "$app" --exact --run exact_main "${session[@]}" --set EMULATED_TURNS=5
    expect "who allocates in the window is proved to wait for ever, seed $seed" 3 'waits for the lock heap_lock' \
        'app mutant' --run app_main "${session[@]}" --set EMULATED_MS=200 --unguarded --set STROBE_PLANT=malloc
done
session=(--session "$work/session")
while read -r call; do
    expect "the trap catches $call in the library's window" 4 "^FORBIDDEN $call," 'app mutant' --run app_main \
        "${session[@]}" --set EMULATED_MS=4 --set "STROBE_PLANT=$call"
done < <(planted)

# lost N: loses the sampler after N instructions with a stopped thread; prints how long this thread stayed suspended.
lost() {
    timeout "$limit" "$dir/emulate" --run lone_main --session "$work/lost.$1" --speed 1000 --kill "$1" \
        --set EMULATED_MS=400 --set EMULATED_WITHOUT=63 "$dir/"{libSystem,app,libstrobe}.dylib 2>&1 |
        sed -nE "s/^killed, stood for ([0-9]+) us;.*(: fine|: not fine).*/$1 \1\2/p
                 s/^never killed, first stop of ([0-9]+) instructions;.*: fine.*/\1/p"
    rm -f "$work/lost.$1"
}
export -f lost
export dir work limit
# The watchdog cannot help in two windows (hold.h): before the sampler has published which thread it stopped (12
# instructions), and from its claim of that thread until the system's resume (20). Counts in these windows are left out.
# The count continues from the first stop to the second one.
first=$(lost 1000000000)
{ seq 12 "${EVERY:-97}" 700 | awk -v first="$first" '$1 <= first - 20 || $1 >= first + 12'
  echo $((first - 20)); echo $((first + 12)); } >"$work/counts"
xargs -P "$(nproc)" -I '{}' bash -c 'lost {}' <"$work/counts" >"$work/log"
awk -F '[ :]+' -v counts="$(wc -l <"$work/counts")" \
    '$3 == "fine" && ($2 < 320000 || ($2 > 5000000 && $2 < 5300000)) { good++ }
     END { exit !(good == NR && NR == counts) }' "$work/log"
verdict $? 'the watchdog lets go whom a lost sampler has stopped, and all threads end'

echo "$passed passed, $failed failed, 0 skipped"
((failed == 0))
