#!/bin/bash
# `strobe run --runtime mach` in virtual time: fixtures, and rows of properties that are about iOS, played as an app on
# the fake Mach with the engine's Mach backend hooked into it, scored.
#
#   B=DIR tests/mach/run.sh      prints `N passed, N failed, N skipped` at the end
#
# takes: 5 s
set -u
cd "$(dirname "$0")/../.." || exit 2
B=$(realpath "${B:-build}")
strobe=$B/strobe
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export TMPDIR=$work
passed=0 failed=0

# check NAME COMMAND...: passes when the command succeeds; what it prints is shown when it fails.
check() {
    local name=$1
    shift
    if "$@" >"$work/check.out" 2>&1; then
        ((passed++))
    else
        ((failed++))
        echo "FAIL $name: $(head -n 3 "$work/check.out" | tr '\n' ' ')"
    fi
}

# play RUN SCENARIO ARGUMENT...: leaves a run's files in a folder of that name.
play() {
    local folder=$work/$1 scenario=$2
    shift 2
    mkdir -p "$folder" && "$strobe" run "$scenario" --runtime mach -o "$folder" "$@" >/dev/null
}

# The same from another folder, with another environment.
play_elsewhere() (
    export SOMETHING
    SOMETHING=$(printf 'x%.0s' {1..3000})
    cd "$work" && play "$@"
)

same_files() {
    local name
    for name in session.strobe trace.pftrace truth.pftrace score.json; do
        cmp "$work/$1/$name" "$work/$2/$name" || return 1
    done
}

differ() {
    ! cmp -s "$work/$1/session.strobe" "$work/$2/session.strobe" &&
        ! cmp -s "$work/$1/truth.pftrace" "$work/$2/truth.pftrace"
}

# holds RUN (NAME EXPRESSION)...: each is a test, of the run's score `s`, its threads and methods by name, and what
# `strobe report --json` says of its session `r`. off(M): by how many points of all threads' time method M is off.
holds() {
    local run=$1 out
    shift
    "$strobe" report --json "$work/$run/session.strobe" >"$work/report.json"
    out=$(python3 - "$work/$run/score.json" "$work/report.json" "$run" "$@" <<'PYTHON'
import json, sys
s, r = (json.load(open(path)) for path in sys.argv[1:3])
threads = {t["name"]: t for t in s["threads"]}
methods = {m["name"]: m for m in s["methods"]}
def off(name):
    return 100 * abs(methods[name]["claimed_self_ns"] - methods[name]["true_self_ns"]) / s["thread_ns"]
tests = list(zip(sys.argv[4::2], sys.argv[5::2]))
failed = [name for name, expression in tests if not eval(expression)]
for name in failed:
    print(f"FAIL {sys.argv[3]}: {name}:", {k: v for k, v in s.items() if not isinstance(v, list)}, r["sampler"])
print(len(tests) - len(failed), len(failed))
PYTHON
    ) || out="$out"$'\n'"FAIL $run: it cannot be read"$'\n''0 1'
    grep '^FAIL' <<<"$out"
    local counts
    counts=$(tail -n 1 <<<"$out")
    ((passed += ${counts% *}, failed += ${counts#* }))
}

# short NAME DURATION: that fixture, over sooner; its `expect` lines are for the whole of it.
short() {
    sed "s/^duration .*/duration $2/" "fixtures/scenarios/$1.scn" >"$work/$1.scn"
}

# ---- the fixtures that are about iOS

short ios_launch 1s
short dispatch_storm 150ms
short hang 4s
short malloc_deadlock 60ms
short thread_churn 300ms
consistent='r["balanced"] and r["sampler"]["suspends"] == r["sampler"]["resumes"] > 0'
for name in ios_launch dispatch_storm hang malloc_deadlock thread_churn; do
    scenario=$work/$name.scn wakers=1
    # Of several threads at one port, one is woken by a message and may run the block of another.
    [[ $name != dispatch_storm ]] || wakers=0.97
    check "$name plays in virtual time" play $name "$scenario"
    check "$name plays again in another folder" play_elsewhere $name-again "$scenario"
    check "$name: the same seed leaves the same bytes" same_files $name $name-again
    check "$name: another seed plays" play $name-other "$scenario" --seed 2
    check "$name: another seed is another run" differ $name $name-other
    check "$name: under an adversary it comes to its end" play $name-adversary "$scenario" --schedule adversarial
    holds $name-adversary \
        'the accounting is consistent, every suspend has its resume' "$consistent" \
        'few are taken for wakers who were none' 's["waker_precision"] > 0.8'
    # malloc_deadlock, where six threads fight for one lock, is less right than an ideal sampler: see bench/README.md.
    # So is dispatch_storm, whose blocks between two hooks take some tens of us. Short threads are seen at hooks alone.
    ideal=0 below=0
    [[ $name != dispatch_storm ]] || below=0.06
    [[ $name != thread_churn ]] || below=0.02
    [[ $name == malloc_deadlock ]] || ideal=$("$strobe" run "$scenario" --policy ideal --json |
        python3 -c 'import json, sys; print(json.load(sys.stdin)["agreement"])')
    holds $name \
        'the accounting is consistent, every suspend has its resume' "$consistent" \
        'no stop came too late' 'r["sampler"]["suspend_late"] == 0' \
        'nobody is taken for a waker who was none' "s['waker_precision'] >= $wakers" \
        'nothing is lost, no stack is cut, few are in doubt' \
        's["lost"] == r["stacks"]["cut"] == 0 and r["stacks"]["doubtful"] < 0.001 * s["samples"] + 2' \
        'what the engine does is charged, and no more than 6 %' '0.001 < s["overhead"] <= 0.06' \
        'as right as exact samples that cost nothing, or nearly' "s['agreement'] >= ${ideal:-1} - $below"
done
holds hang 'threads have the names that the app gave them' '"com.app.databas" in {t["name"] for t in r["threads"]}'
# At seeds 1..12: error of blocked time up to 0.001, resolved 0.8305 (seed 1) to 0.952.
holds malloc_deadlock \
    'what is waited in all is known, though not where' 's["blocked_error"] < 0.002 and s["agreement_resolved"] > 0.82'
holds thread_churn \
    'the end of a thread that another waits for is recorded as the waker' \
    's["true_wakers"] >= 10 and s["waker_recall"] > 0.9 and s["blocked_error"] < 0.01'

# ---- rows of properties

# row SCENARIO ARGUMENT...: plays it; the rest as for holds.
row() {
    local name=$1
    shift
    check "$name plays" play "$name" "tests/sim/scenarios/$name.scn"
    holds "$name" "$@"
}
row s_04_loop_without_hooks \
    'S-4: the sampler fills what has no hooks' 's["agreement_running"] > 0.999 and off("crunch") < 0.1'

# A call of 10 ms that is seen 2 ms late is shown right for 80 % of its time.
sed 's/compute 20ms/compute 10ms/' tests/sim/scenarios/s_05_idle_burst.scn >"$work/s_05.scn"
check 'a worker with short bursts plays' play s_05 "$work/s_05.scn"
holds s_05 'S-5: a burst of an idle worker is seen within 2 ms' \
    'methods["burst"]["calls"] >= 6 and threads["worker"]["agreement_running"] > 0.8 and off("burst") < 0.1'

row s_06_hook_bias 'S-6: hook-free leaf work is within 2 points of the truth' \
    'off("leaf") < 2 and off("make") < 2 and methods["leaf"]["true_self_ns"] > 0.85 * s["thread_ns"]'

row s_08_many_threads \
    'S-8: passes over 5,000 threads keep to the grid of 1 ms' \
    'len(s["threads"]) == 5001 and 400 <= r["sampler"]["passes"] + r["sampler"]["late_passes"] <= 404' \
    'S-8: their lag is counted' 'r["sampler"]["lag_ns"] > 400 * 500' \
    'S-8: main is seen as if there were no others' 'threads["main"]["agreement"] > 0.99'

# The truth is one half. A sampler in step with the app would say nothing of it, or all.
wanders() {
    "$strobe" run tests/sim/scenarios/s_09_rhythm.scn --runtime mach --seeds 1..10 --json -j 2 | python3 -c '
import json, sys
shares = []
for line in sys.stdin:
    times = {m["name"]: m["claimed_self_ns"] for m in json.loads(line)["methods"]}
    shares.append(times["even"] / (times["even"] + times["odd"]))
print(shares)
sys.exit(len(shares) != 10 or min(shares) < 0.2 or max(shares) > 0.8 or not 0.4 < sum(shares) / 10 < 0.6)'
}
check 'S-9: a sampler that wanders sees both halves of a rhythm' wanders

row s_76_others_take_locks 'S-76: locks that others take meanwhile hide nobody who let main go on' \
    's["true_wakers"] >= 90 and s["waker_recall"] > 0.99 and threads["main"]["agreement"] > 0.999'
row s_75_worker_blocks_worker 'S-75: workers know who blocked them' \
    's["true_wakers"] >= 10 and s["waker_recall"] > 0.99 and s["waker_precision"] == 1'

check 'locks of readers and writers are played' play rwlocks tests/mach/rwlocks.scn
holds rwlocks \
    'who let a reader or a writer go is known' \
    's["true_wakers"] >= 50 and s["waker_recall"] > 0.9 and s["waker_precision"] > 0.9' \
    'the engine is as right as with other locks' 's["agreement"] > 0.8 and s["blocked_error"] < 0.02'

# A lock of the C library would take the lab's object for its own.
lab_answers_all_locks() {
    ! nm -u "$B"/sim/virtual.o "$B"/sim/virtual_mach.o |
        grep -E ' (sem_|pthread_(mutex|cond|rwlock|create|join|kill|key|[gs]etspecific))[a-z_]*$' |
        grep -vE 'attr_|condattr'
}
check 'locks and waits are answered by the lab, none by the C library' lab_answers_all_locks

check 'nothing is left in the temporary folder' bash -c '! ls -d "$1"/strobe-real-* 2>/dev/null' - "$work"

echo "$passed passed, $failed failed, 0 skipped"
((failed == 0))
