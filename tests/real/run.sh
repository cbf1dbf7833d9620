#!/bin/bash
# `strobe run --mode real`: plays and scores a scenario on real threads with the engine preloaded, and an iOS app on the
# fake Mach. This suite tests whole runs on a machine that may be busy, so its bounds do not depend on how soon threads
# run. tests/sim/play/test_real* and tests/mach test exact results. How well real timelines agree with the truth is a
# benchmark (`make calibrate`, bench/README.md).
#
#   B=DIR tests/real/run.sh      prints `N passed, N failed, N skipped` at the end
#
# takes: 10 s
set -u
cd "$(dirname "$0")/../.." || exit 2
. tests/support/suite.sh
strobe=$B/strobe
small=$PWD/tests/real/small.scn
export TMPDIR=$work

case $(uname -m) in
    x86_64 | aarch64) ;;
    *) skip 'real mode' 'this processor is not supported' && end_suite ;;
esac

threads_match() {
    python3 - "$work/score.json" <<'PYTHON'
import json, sys
names = sorted(t["name"] for t in json.load(open(sys.argv[1]))["threads"])
print(names)
sys.exit(names != ["cache-1", "cache-2", "main", "ticker"])
PYTHON
}

mkdir "$work/out"
play() {
    "$strobe" run "$small" --mode real --seed 3 --json -o "$work/out" >"$work/score.json"
}

check 'a scenario plays on real threads' play
check 'the true and the reconstructed timeline have the same threads' threads_match
# Bounds: 9 runs with a load of 20 to 30 on two processors, six of them with `--busy 4`, had all wakers right, a
# precision of calls of 0.957..0.983, 250..535 samples and an error of processor time of up to 0.03. Exact bounds hold
# for what the engine knows from events. The other bounds double the distance of the worst value from the ideal one, or
# halve and double the range.
check 'no sample is lost' in_bounds lost 0 0
check 'threads wake other threads' in_bounds true_wakers 1 1000
check 'claimed wakers are right' in_bounds waker_precision 1 1
check 'each wait has its waker' in_bounds waker_recall 1 1
check 'claimed calls are right' in_bounds precision 0.91 1
check 'threads are sampled' in_bounds samples 125 1070
check 'the processor time of threads is right' in_bounds cpu_error 0 0.06
check 'the trace has the names of methods' grep -q 'Cache.fill' "$work/out/trace.pftrace"
check 'the true trace has the names of methods' grep -q 'Cache.fill' "$work/out/truth.pftrace"
check 'neither trace has frames of the player' bash -c '! grep -q sim_real "$@"' - "$work"/out/t*.pftrace
check 'the accounting of its session is consistent' \
    bash -c '"$1" report --json "$2" | grep -q "\"balanced\": true"' - \
    "$strobe" "$work/out/session.strobe"
check 'existing files are not overwritten' refused 2 'exists already' "$strobe" run "$small" --mode real -o "$work/out"
check 'policies of virtual time are refused' refused 2 'virtual time only' \
    "$strobe" run "$small" --mode real --policy ideal

# Capture policies with probes in methods: a quarter of a second, with 8 messages of 4 probed calls each.
probes=$PWD/tests/real/probes.scn
mkdir "$work/probes"
instrumented() {
    "$strobe" run "$probes" --mode real --policy "$1" --json -f -o "$work/probes" >"$work/score.json"
}

# calls_match METHOD...: each call of these methods is recorded with a begin and an end, and no other call is. The
# methods are those with probes on the threads that the policy follows. Calls that run at the end may lack their end.
calls_match() {
    python3 - "$work/score.json" "$@" <<'PYTHON'
import json, sys
score = json.load(open(sys.argv[1]))
calls = {m["name"]: m["calls"] for m in score["methods"]}
probed = 2 * sum(calls.get(m, 0) for m in sys.argv[2:])
print(score["samples"], probed, calls)
sys.exit(not probed >= 14 or not probed - 6 <= score["samples"] <= probed)
PYTHON
}
check 'matrix: a scenario plays with probes in its methods' instrumented matrix
main_calls=(Looper.run Job.run Job.check Job.fail Job.draw)
check 'matrix: each probed call of the main thread is recorded' calls_match "${main_calls[@]}"
check 'matrix: methods that call nothing have no probes' in_bounds methods_in 7 7
check 'matrix: other threads are not recorded' bash -c '! grep -q "Ticker\." "$1"' - "$work/probes/trace.pftrace"
check 'matrix: its log is written' test -s "$work/probes/capture.matrix"
check 'matrix: its trace has the names of methods' grep -q 'Job.draw' "$work/probes/trace.pftrace"
check 'matrix: existing files are not overwritten' refused 2 'exists already' \
    "$strobe" run "$probes" --mode real --policy matrix -o "$work/probes"
check 'matrix: a runtime is refused' refused 2 'without --runtime' \
    "$strobe" run "$probes" --policy matrix --runtime fake30
check 'rheatrace: a scenario plays with probes in its methods' instrumented rheatrace
check 'rheatrace: each probed call of each thread is recorded' \
    calls_match "${main_calls[@]}" Ticker.tick Ticker.run '[read]'
# A mean over 25 to 34 calls: 2 us, and up to 4e5 ns more when a thread waits 10 ms for a processor between two reads of
# the clock. A clock of milliseconds has an error of 9e5.
check 'rheatrace: calls have the true duration' in_bounds call_error_ns 0 5e5
check 'rheatrace: a read is recorded with its calling method' \
    grep -q '|read:/data/Ticker.tick$' "$work/probes/capture.rheatrace"
check 'rheatrace: throws are probed' grep -q 'T:Job.fail$' "$work/probes/capture.rheatrace"
check 'rheatrace-main: a scenario plays' instrumented rheatrace-main
check 'rheatrace-main: each probed call of the main thread is recorded, and no other' calls_match "${main_calls[@]}"
check 'btrace2: a scenario plays with probes in its methods' instrumented btrace2
check 'btrace2: each call that returned or threw is recorded, and no other' \
    calls_match Job.run Job.draw Job.fail Ticker.tick Ticker.run
check 'btrace2: calls have the true duration' in_bounds call_error_ns 0 5e5
check 'netease: a run without a runtime is refused' refused 2 '--runtime art11' \
    "$strobe" run "$probes" --mode real --policy netease

# An iOS app on the fake Mach, played with five seeds. Wakers are not tested here: the waker of a thread at a port is
# the sender of its message, and another thread may have posted the block that it then runs. tests/mach scores times and
# wakers in virtual time.
mach() {
    local seed
    for seed in 1 2 3 4 5; do
        "$strobe" run "$work/launch.scn" --runtime mach --mode real --seed $seed --json -f -o "$work/mach" \
            >"$work/score-$seed.json" || return 1
    done
    cp "$work/score-5.json" "$work/score.json"
}

mkdir "$work/mach"
sed 's/^duration .*/duration 700ms/' fixtures/scenarios/ios_launch.scn >"$work/launch.scn"
check 'an iOS app plays on the fake Mach on real threads' mach
# Six runs with a load of 30, three of them with `--busy 4`, had 148..501 samples; the bound halves that.
check 'mach: threads are sampled' in_bounds samples 74 1000
check 'mach: no sample is lost' in_bounds lost 0 0
check 'mach: the accounting of its session is consistent' \
    bash -c '"$1" report --json "$2" | grep -q "\"balanced\": true"' - \
    "$strobe" "$work/mach/session.strobe"

{
    printf 'scenario many "many"\nduration 1s\ncores 1\nimage app {\n'
    printf 'method M%d { compute 1us }\n' {0..1024}
    printf '}\nthread main main run M0\n'
} >"$work/many.scn"
check 'too many methods are refused' refused 2 '1025 methods' "$strobe" run "$work/many.scn" --mode real
{
    printf 'scenario deep "deep"\nduration 1s\ncores 1\nimage app {\nmethod A { compute 1us }\n'
    printf 'method B { recurse A 9999 }\nmethod C { recurse B 9999 }\n}\nthread main main run C\n'
} >"$work/deep.scn"
check 'a failure of the played process is reported' refused 2 'within the stack' \
    "$strobe" run "$work/deep.scn" --mode real
check 'no file is left in the temporary folder' bash -c '! ls -d "$1"/strobe-real-* 2>/dev/null' - "$work"

end_suite
