#!/bin/bash
# A small swarm: random scenarios keep each invariant, under each fault and both schedules. The results of a swarm do
# not depend on jobs and shards. `make swarm` plays the large swarm.
#
# FULL=1, as nightly, plays twice as many random scenarios.
set -u
cd "$(dirname "$0")/../.." || exit 2
export LC_ALL=C.UTF-8
strobe=${B:-build}/strobe
passed=0 failed=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

check() {   # NAME COMMAND...
    local name=$1
    shift
    if "$@" >"$work/check.log" 2>&1; then
        ((passed++))
    else
        ((failed++))
        echo "FAIL $name"
        head -n 20 "$work/check.log"
    fi
}

small=1..150 middling=301..375
[[ -z ${FULL:-} ]] || small=1..300 middling=301..450
for schedule in fair adversarial; do
    check "random, $schedule: small" "$strobe" run --random $small --size 50 --schedule $schedule -j 2 -o "$work/r" -f
    check "random, $schedule: middling" \
        "$strobe" run --random $middling --size 200 --schedule $schedule -j 2 -o "$work/r" -f
    for scenario in tests/sim/scenarios/fault_*.scn; do
        check "$(basename "$scenario" .scn), $schedule" \
            "$strobe" run "$scenario" --seeds 1..6 --schedule $schedule -j 2 -o "$work/r" -f
    done
done

scenario=fixtures/scenarios/identical_messages.scn
check "one job" "$strobe" run $scenario --seeds 1..30 -o "$work/one" -f
check "three jobs" "$strobe" run $scenario --seeds 1..30 -j 3 -o "$work/three" -f
check "results do not depend on the number of jobs" cmp "$work/one/results.jsonl" "$work/three/results.jsonl"
for i in 1 2 3 4; do
    check "shard $i" "$strobe" run $scenario --seeds 1..30 --shard $i/4 -o "$work/shard$i" -f
done
check "each seed is in exactly one shard" cmp <(sort "$work/one/results.jsonl") <(sort "$work"/shard?/results.jsonl)

echo "$passed passed, $failed failed"
((failed == 0))
