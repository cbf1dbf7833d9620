#!/bin/bash
# `strobe run --runtime fakeNN`: plays and scores a scenario in a fake Android runtime in virtual time, recorded by the
# engine's Android backend. The suite uses an old API level, one in between and the newest. `strobe compare --runtime`:
# one table for each backend.
#
#   B=DIR tests/virtual/run.sh      prints `N passed, N failed, N skipped` at the end
#   FULL=1                          the invariants are checked at six seeds of each schedule, as nightly, not at three
set -u
cd "$(dirname "$0")/../.." || exit 2
. tests/support/suite.sh
strobe=$B/strobe
locks=$PWD/tests/virtual/locks.scn
export TMPDIR=$work

# refused TEXT ARGUMENT...: the run exits with status 2 and prints one line, which contains TEXT.
refused() {
    local text=$1
    shift
    "$strobe" run "$@" >"$work/refused.out" 2>"$work/refused.err"
    [[ $? == 2 && $(wc -l <"$work/refused.err") == 1 ]] && grep -qF -- "$text" "$work/refused.err" && return
    cat "$work/refused.err"
    return 1
}

# play NAME LEVEL ARGUMENT...: plays the scenario; leaves the files of the run in the folder NAME.
play() {
    local folder=$work/$1 runtime=fake$2
    shift 2
    mkdir -p "$folder" && "$strobe" run "$locks" --runtime "$runtime" -o "$folder" "$@" >/dev/null
}

play_elsewhere() (
    export SOMETHING
    SOMETHING=$(printf 'x%.0s' {1..3000})
    play "$@"
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

# in_bounds RUN NAME LOW HIGH: the score NAME of the run is within the bounds.
in_bounds() {
    python3 - "$work/$1/score.json" "${@:2}" <<'PYTHON'
import json, sys
value = json.load(open(sys.argv[1]))[sys.argv[2]]
low, high = map(float, sys.argv[3:])
print(f"{value}, expected {low} .. {high}")
sys.exit(not low <= value <= high)
PYTHON
}

# each_wait LEVEL: each kind of wait that hooks record occurs, and its recorded time is within 10 % of the true time.
# The test sums six seeds, because polls are rare and only the sum of the shortest waits is accurate.
each_wait() {
    local seed
    for seed in 1 2 3 4 5 6; do
        "$strobe" run "$locks" --runtime "fake$1" --seed $seed --json || return
    done | python3 -c '
import collections, json, sys
times = collections.defaultdict(lambda: [0, 0])
text = sys.stdin.read().lstrip()
while text:
    result, end = json.JSONDecoder().raw_decode(text)
    text = text[end:].lstrip()
    for m in result["methods"]:
        times[m["name"]][0] += m["true_self_ns"]
        times[m["name"]][1] += m["claimed_self_ns"]
for kind in "monitor", "cond", "park", "gc", "poll":
    true, claimed = times[f"[{kind} wait]" if kind != "poll" else "[poll]"]
    if not true or not 0.9 * true <= claimed <= 1.1 * true:
        sys.exit(f"{kind}: {claimed} ns claimed, {true} ns true")'
}

# consistent RUN: the accounting is consistent, threads were suspended, and each was resumed.
consistent() {
    "$strobe" report --json "$work/$1/session.strobe" | python3 -c '
import json, sys
report = json.load(sys.stdin)
text = json.dumps(report)
def find(o, name):
    if isinstance(o, dict):
        return o[name] if name in o else next((v for v in (find(x, name) for x in o.values()) if v is not None), None)
suspends, resumes = find(report, "suspends"), find(report, "resumes")
print(suspends, resumes, find(report, "balanced"))
sys.exit(not (find(report, "balanced") and suspends and suspends == resumes))'
}

seeds=1..3
[[ -z ${FULL:-} ]] || seeds=1..6
for level in 24 30 36; do
    check "level $level plays in virtual time" play "$level" "$level"
    check "level $level plays again in another environment" play_elsewhere "$level-again" "$level"
    check "level $level: the same seed writes the same bytes" same_files "$level" "$level-again"
    check "level $level: the accounting is consistent, every suspend has its resume" consistent "$level"
    check "level $level: recorded waits of each kind have the true duration" each_wait "$level"
    check "level $level: wakers are right" in_bounds "$level" waker_precision 0.8 1
    check "level $level: wakers are found" in_bounds "$level" waker_recall 0.7 1
    check "level $level: samples are taken" in_bounds "$level" samples 500 100000
    check "level $level: the overhead of the engine is charged" in_bounds "$level" overhead 0.0005 0.05
    for schedule in fair adversarial; do
        check "level $level keeps its invariants at any seed, $schedule" \
            "$strobe" run "$locks" --runtime "fake$level" --schedule $schedule --seeds $seeds -j 2
    done
done

# The scenario states the duration of collections: five of 2 ms, one every 20 ms. The thread that waits for one runs
# again late, by 40 to 90 us on an idle processor (wake_late of the costs).
gc_time() {
    python3 - "$work/30/score.json" <<'PYTHON'
import json, sys
gc = [m for m in json.load(open(sys.argv[1]))["methods"] if m["name"] == "[gc wait]"]
print(gc)
sys.exit(not gc or gc[0]["calls"] != 5 or not 10e6 <= gc[0]["true_self_ns"] < 10.45e6)
PYTHON
}
# The expect lines of notify_many hold. At this seed a notification comes right after a timeout, and the runtime wakes
# another waiter than the true one, which then waits again, behind all others.
check 'a waiter that wakes up without a notification waits again as the last one' \
    "$strobe" run fixtures/scenarios/notify_many.scn --runtime fake24 --seed 11

check 'a collection takes the time that the scenario states' gc_time
check 'the trace has the names of methods' grep -q 'Cache.evict' "$work/30/trace.pftrace"

check 'another seed plays' play other 30 --seed 2
check 'another seed gives another run' differ 30 other
check 'an adversarial schedule plays' play adversary 30 --schedule adversarial
check 'an adversarial schedule plays again' play adversary-again 30 --schedule adversarial
check 'under an adversarial schedule the same seed writes the same bytes' same_files adversary adversary-again
check 'an adversarial schedule gives another run' differ 30 adversary
sed 's/"hook": *[0-9.]*/"hook": 5000/' fixtures/costs/x86-64.json >"$work/dear.json"
check 'a run with expensive hooks plays' play dear 30 --costs "$work/dear.json"
check 'expensive hooks increase the overhead' in_bounds dear overhead 0.05 10

"$strobe" run "$locks" --runtime fake30 --seeds 1..4 --json >"$work/one.jsonl"
"$strobe" run "$locks" --runtime fake30 --seeds 1..4 --json -j 3 >"$work/many.jsonl"
check 'a swarm has the same results with one process and with several' cmp "$work/one.jsonl" "$work/many.jsonl"
check 'a swarm has a line for each seed' test "$(wc -l <"$work/one.jsonl")" == 4

check 'virtual time is refused for a genuine runtime' refused 'only fakes' "$locks" --runtime art11 --mode virtual
check 'an adversarial schedule is refused in real time' refused 'adversarial' \
    "$locks" --runtime fake30 --mode real --schedule adversarial
check 'other policies are refused' refused 'plays in virtual time only' "$locks" --runtime fake30 --policy async-1ms
printf 'scenario deep "deep"\nduration 1s\ncores 1\nimage a managed {\nmethod A { compute 1us }\n' >"$work/deep.scn"
printf 'method B { recurse A 9999 }\nmethod C { recurse B 9999 }\n}\nthread main main run C\n' >>"$work/deep.scn"
check 'a failure of the played process is reported' refused 'within the stack' "$work/deep.scn" --runtime fake30
# A message is due at each poll, so no poll waits.
cat >"$work/due.scn" <<'SCENARIO'
scenario due "A queue that is never empty"
duration 100ms
cores 1
queue jobs
image a managed {
    method Job.run { compute 100us; post Job.run to jobs }
    method Main.run { post Job.run to jobs; loop jobs }
}
thread main main run Main.run
SCENARIO
polls_take_no_time() {
    "$strobe" run "$work/due.scn" --runtime fake30 --json >"$work/due" &&
        python3 -c 'import json, sys
r = json.load(open(sys.argv[1]))
waits = r["thread_ns"] - r["running_ns"]
sys.exit(f"threads wait for {waits} ns" if waits > r["thread_ns"] / 100 else 0)' "$work/due"
}
check 'a poll of a queue with a due message takes no time' polls_take_no_time

# ---- every backend in one table

# compare NAME STATUS ARGUMENT...: leaves the table in the file NAME. Succeeds when the comparison exits with STATUS.
compare() {
    compare_by "$strobe" "$@"
}

compare_by() {
    local lab=$1 name=$work/$2 expected=$3
    shift 3
    (cd "$work" && "$lab" compare "$@" >"$name" 2>"$name.err")
    [[ $? == "$expected" ]] && return
    cat "$name.err"
    return 1
}

# says FILE PATTERN...: each pattern (grep -E) matches a line of the file.
says() {
    local file=$work/$1 pattern
    shift
    for pattern; do
        grep -qE -- "$pattern" "$file" || { echo "no line like '$pattern':" "$(<"$file")"; return 1; }
    done
}

numbers_of_both_tables_agree() {
    local exact
    exact=$(awk '$1 == "fake30:" { on = 1 } on && $1 == "locks" { printf "%.1f", $2; exit }' "$work/tables")
    [[ $exact ]] && awk -v exact="$exact" '$1 == "exact," { for (i = 3; i <= NF; i++) column[$i] = i - 1 }
        $1 == "locks" { found = $column["fake30"] == exact } END { exit !found }' "$work/brief"
}

scenario='duration 100ms\nimage a managed { method A.run { forever { compute 1ms; sleep 1ms } } }\n'
scenario+='thread main main run A.run\n'
printf "scenario fine \"\"\n$scenario" >"$work/fine.scn"
printf "scenario odd \"\"\n${scenario//A.run/java.lang.A.run}" >"$work/odd.scn"
expected='expect agreement strobe on'
printf "scenario held \"\"\n$scenario$expected fake30 0.1..1\n$expected mach 0..0.1\n" >"$work/held.scn"
printf "scenario held \"\"\n$scenario$expected fake 0..0.1\n" >"$work/broken.scn"

check 'each backend has a table, with `ideal` beside' compare tables 0 --runtime virtual "$locks" -j 2
check 'the tables name the backends' says tables '^host: simulated host' '^fake24: fake Android runtime, API level 24' \
    '^fake28: ' '^fake30: ' '^fake34: ' '^fake36: ' '^mach: fake Mach' 'overhead +ideal +resolved$' \
    '1 played, 0 cannot be played here, 0 failed'
check 'the short form has a column for each backend' compare brief 0 --runtime virtual --brief "$locks"
check 'the short form has them all' says brief 'host +fake24 +fake28 +fake30 +fake34 +fake36 +mach$'
check 'both forms have the same figures' numbers_of_both_tables_agree
check 'what a runtime cannot express is said and counted' compare odd 0 --runtime fake30 --runtime mach odd.scn fine.scn
check 'the reason is in its line' says odd '^  odd +not played: odd.scn: method "java.lang.A.run": expected a name' \
    '^  fine +[0-9.]+ %' '^  1 played, 1 cannot be played here, 0 failed$' '^  2 played, 0 cannot'
mkdir "$work/bin" && cp "$B/strobe-lab" "$work/bin"
printf '#!/bin/bash\nkill -SEGV $$\n' >"$work/bin/strobe-player-virtual"
chmod +x "$work/bin/strobe-player-virtual"
check 'a player that dies is a failure' compare_by "$work/bin/strobe-lab" dies 1 --runtime fake30 fine.scn
check 'it is counted as one' says dies '^  fine +FAILED: the played process: Segm' '0 cannot be played here, 1 failed$'
check 'several seeds give medians' compare seeds 0 --runtime mach --seeds 1..3 --json fine.scn
check 'of all seeds' says seeds '"runtime": "mach"' '"seeds": 3,'
check 'a comparison leaves sessions of each backend' compare kept 0 --runtime fake30 --runtime mach -o left fine.scn
check 'in a folder for each' test -s "$work/left/mach/fine/strobe/session.strobe" -a \
    -s "$work/left/fake30/fine/strobe/session.strobe" -a -s "$work/left/mach/results.jsonl"
check 'an unknown backend is refused' compare none 2 --runtime fake99 fine.scn
check 'expectations of other runtimes are not judged' compare held 0 --runtime fake30 --runtime host held.scn
check 'expectations of a runtime are judged there' compare held 1 --runtime fake30 --runtime mach held.scn
check 'and the message names it' says held.err 'expected agreement of strobe on mach in 0..0.1'
check 'expectations of `fake` are judged on each level' compare broken 1 --runtime fake36 broken.scn
check 'a run judges them, too' bash -c '"$1" run "$2" --runtime fake30; (($? == 1))' - "$strobe" "$work/broken.scn"

# ---- sessions are for the ordinary commands, too

cat >"$work/names.scn" <<'SCENARIO'
scenario names "A main thread that waits for a token, in methods of Objective-C"
duration 3s
cores 2
semaphore token
queue main_queue
queue network_queue
image App {
    method "-[Login token]" { post "-[Login fetch]" to network_queue; acquire token; compute 2ms }
    method "-[Login fetch]" { compute 30ms; sleep 400ms; release token }
    method "-[Touch handle]" { compute 20ms; call "-[Login token]"; compute 10ms }
    method "-[Touch loop]" { repeat 5 { post "-[Touch handle]" to main_queue; sleep 500ms } }
    method main { loop main_queue }
}
image libdispatch.dylib { method _dispatch_worker_thread { loop network_queue } }
thread main main run main
thread "com.app.touches-of-the-user" start 5ms run "-[Touch loop]"
thread "com.apple.root.default-qos" start 5ms run _dispatch_worker_thread
SCENARIO

# report_names RUNTIME: plays the scenario ("host": on the simulated host), and prints reports of its session.
report_names() {
    local folder=$work/names-$1 runtime=(--runtime "$1")
    [[ $1 != host ]] || runtime=()
    mkdir -p "$folder"
    "$strobe" run "$work/names.scn" "${runtime[@]}" -o "$folder" >"$folder/printed" &&
        "$strobe" report --top 40 "$folder/session.strobe" >"$work/report-$1" &&
        "$strobe" report --findings --evil-ms 200 "$folder/session.strobe" >"$work/findings-$1" &&
        "$strobe" convert "$folder/session.strobe" -o "$folder/named.folded"
}

# All code has a name: no address, and no offset in an image.
has_no_address() {
    ! grep -nE '(^|[ ;])0x[0-9a-f]|\+0x' "$work/report-$1" "$work/names-$1/named.folded"
}

for runtime in host mach fake30; do
    check "a session of $runtime is read by the ordinary commands" report_names $runtime
    check "its methods and images have their names: $runtime" says report-$runtime '-\[Touch handle\]  \[App\]' \
        '_dispatch_worker_thread  \[libdispatch.dylib\]'
    check "no code is an address: $runtime" has_no_address $runtime
    check "stacks are those of the scenario: $runtime" says names-$runtime/named.folded \
        '^[^;]*;main;-\[Touch handle\];-\[Login token\];\[sem wait\] '
    check "findings blame the method that waits: $runtime" says findings-$runtime \
        'evil-method .*  -\[Login token\] in \[sem wait\]'
    [[ $runtime == fake30 ]] || # Linux cuts names of threads
        check "threads have their whole names: $runtime" says report-$runtime ' com.app.touches-of-the-user$'
done
# The fixture about hangs. Prints the findings of its session in RUNTIME as JSON.
find_hangs() {
    local folder=$work/hang-$1
    mkdir -p "$folder"
    "$strobe" run fixtures/scenarios/hang.scn --runtime "$1" -o "$folder" >/dev/null &&
        "$strobe" report --findings --evil-ms 250 --json "$folder/session.strobe" >"$work/hang-$1.json"
}

# blames_hangs RUNTIME: each long message is blamed on the method of the app that waits, below its callers by name.
blames_hangs() {
    python3 - "$work/hang-$1.json" <<'PYTHON'
import json, sys
found = [f for f in json.load(open(sys.argv[1]))["findings"] if f["kind"] == "evil-method"]
waits = {"-[Login token] in [sem wait]": 2, "-[Archive load] in [read]": 1}
callers = ["-[CADisplayLink fire]", "-[Touch handle]"]
for f in found:
    print(f["blame"], f["stack"])
    method, wait = f["blame"].split(" in ")
    names = [s["method"] for s in f["stack"] if s["ms"] >= f["cost_ns"] / 1e6 * 0.9 - 1 and s["method"] != "main"]
    names = names[names.index(callers[0]):]
    while names[1] == names[0]: # the frame of the message itself
        del names[0]
    if names != callers + [method, wait]:
        sys.exit("another stack")
sys.exit({b: sum(f["blame"] == b for f in found) for b in {f["blame"] for f in found}} != waits)
PYTHON
}

for runtime in mach fake30; do
    check "the hangs of the fixture are found: $runtime" find_hangs $runtime
    check "each is blamed on the method that waits, with its callers by name: $runtime" blames_hangs $runtime
done
check 'no file is left in the temporary folder' bash -c '! ls -d "$1"/strobe-real-* 2>/dev/null' - "$work"

end_suite
