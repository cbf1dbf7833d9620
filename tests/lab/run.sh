#!/bin/bash
# The lab from a user's point of view: `strobe run`, `strobe compare` and `strobe help scenario`, with right and wrong
# use.
#
#   B=DIR tests/lab/run.sh [PATTERN]     PATTERN: runs only tests whose name matches it
#
# takes: 35 s
set -u
cd "$(dirname "$0")/../.." || exit 2
home=$PWD
export LC_ALL=C.UTF-8 B=${B:-build}
[[ $B == /* ]] || B=$home/$B
strobe=$B/strobe
only=${1:-}
suite=tests/lab/run.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
cd "$work" || exit 2
source "$home/tests/cli/verdict.sh"

fixtures=$home/fixtures/scenarios
small=$work/abnormal_stack.scn
convoy=$work/lock_convoy.scn
cp "$fixtures"/{abnormal_stack,lock_convoy}.scn .

# check NAME COMMAND...: passes when the command succeeds. Prints the command's output when it fails.
check() {
    local name=$1 said
    shift
    wanted "$name" || return 0
    if said=$("$@" 2>&1); then
        verdict "$name"
    else
        verdict "$name" "${said:-it is not so}"
    fi
}

# check_json NAME FILE...: passes when check_results.py accepts the files.
check_json() {
    check "$1" python3 "$home/tests/lab/check_results.py" "$@"
}

# Prints a fault unless the last run had status 0 and printed nothing to stderr.
went_well() {
    ((status == 0)) || echo "exit status $status: $(head -c 300 "$work/err")"
    [[ ! -s $work/err ]] || echo "it said: $(head -c 300 "$work/err")"
}

# it_works NAME: judges the last run so, without a process when there is no fault.
it_works() {
    if ((status == 0)) && [[ ! -s $work/err ]]; then verdict "$1"; else verdict "$1" "$(went_well)"; fi
}

# works NAME COMMAND...: the command succeeds and prints nothing to stderr.
works() {
    local name=$1
    shift
    wanted "$name" || return 0
    run "$@"
    it_works "$name"
}

# ---- wrong arguments

is_refused the_lab_names_itself 'strobe-lab: run: which scenario? strobe-lab run SCENARIO' "$strobe" run
every_policy='strobe, btrace-android, btrace-ios, async-1ms, async-10ms, sync-only, matrix, rheatrace, btrace2, '
every_policy+='netease, ideal, strobe-stops, rheatrace-main, none'
is_refused policy_unknown "expected one of $every_policy" "$strobe" run "$small" --policy x
is_refused seeds_that_go_down 'A..B with A <= B' "$strobe" run "$small" --seeds 5..1
is_refused random_seeds_that_go_down 'A..B with A <= B' "$strobe" run --random 5..2
is_refused compare_seeds_that_go_down 'A..B with A <= B' "$strobe" compare "$small" --seeds 5..1
is_refused run_of_nothing 'which scenario' "$strobe" run
is_refused run_of_two 'one scenario at a time' "$strobe" run "$small" "$convoy"
is_refused run_of_both 'not both' "$strobe" run "$small" --random 1
is_refused run_beside_a_policy 'expected one of strobe, ' "$strobe" run "$small" --policy xctrace
is_refused run_in_a_dream 'expected virtual or real' "$strobe" run "$small" --mode dream
is_refused run_at_a_whim 'expected fair or adversarial' "$strobe" run "$small" --schedule whim
is_refused real_ideal 'plays in virtual time only' "$strobe" run "$small" --mode real --policy ideal
is_refused real_adversary 'for --mode virtual' "$strobe" run "$small" --mode real --schedule adversarial
is_refused against_of_one '--against is for --seeds' "$strobe" run "$small" --against ideal
is_refused against_xctrace 'expected one of strobe, ' "$strobe" run "$small" --seeds 1..2 --against xctrace
is_refused against_in_real_time '--against is for virtual time' \
    "$strobe" run "$small" --seeds 1..2 --against ideal --mode real
for value in 0 x 65; do
    is_refused "cores_of_$value" 'from 1 to 64' "$strobe" run "$small" --cores $value
done
for value in -1 x 257; do
    is_refused "busy_of_$value" 'from 0 to 256' "$strobe" run "$small" --busy $value
done
is_refused shard_of_one '--shard is for --seeds' "$strobe" run "$small" --shard 1/2
is_refused print_of_many 'one scenario' "$strobe" run --random 1..3 --print
for value in '' x -1 1.5 1..2 18446744073709551616; do
    is_refused "seed_of_${value:-nothing}" 'expected a whole number' "$strobe" run "$small" --seed "$value"
done
for value in '' x 5..1 1.. ..3 1..2..3 0..99999999999999; do
    is_refused "seeds_of_${value:-nothing}" 'expected A..B' "$strobe" run "$small" --seeds "$value"
    is_refused "compare_seeds_of_${value:-nothing}" 'expected A..B' "$strobe" compare "$small" --seeds "$value"
done
for value in '' 1 0/3 4/3 1/0 /3 3/ a/b 1/2/3; do
    is_refused "shard_of_${value:-nothing}" 'expected I/N' "$strobe" run "$small" --seeds 1..9 --shard "$value"
done
is_refused random_of_x 'expected SEED, or A..B with A <= B' "$strobe" run --random x
for value in 0 x 100001; do
    is_refused "size_of_$value" 'from 1 to 100000' "$strobe" run --random 1 --size $value
done
head -c 100 "$home/fixtures/costs/x86-64.json" >cut.json
for command in run compare; do
    for value in 0 x 1025; do
        is_refused "jobs_of_${value}_$command" 'from 1 to 1024' "$strobe" $command "$small" -j $value
    done
    is_refused "unknown_option_$command" 'no such option: --frobnicate' "$strobe" $command "$small" --frobnicate
    is_refused "unknown_letter_$command" 'no such option: -Z' "$strobe" $command "$small" -Z
    is_refused "value_missing_$command" 'needs a value' "$strobe" $command "$small" -o
    is_refused "value_unasked_$command" 'takes no value' "$strobe" $command "$small" --json=yes
    is_refused "costs_missing_$command" 'nothing-here: ' "$strobe" $command "$small" --costs nothing-here
    is_refused "costs_of_something_else_$command" "$small: " "$strobe" $command "$small" --costs "$small"
    is_refused "costs_cut_$command" 'cut.json: ' "$strobe" $command "$small" \
        --costs cut.json
done
is_refused compare_of_nothing 'which scenarios' "$strobe" compare
is_refused compare_twice_the_same 'of the same name' "$strobe" compare "$small" "$small"
is_refused compare_with_a_policy_unknown 'expected one of strobe, ' "$strobe" compare "$small" --policy xctrace
is_refused scenario_is_no_command 'no such command: scenario' "$strobe" scenario
is_refused help_of_scenarios 'no such command: scenarios' "$strobe" help scenarios

# ---- bad files

# Each command refuses this file and names the position of the error.
bad_scenario() {
    local name=$1 text=$2 file=$3
    is_refused "run_$name" "$text" "$strobe" run "$file"
    is_refused "swarm_$name" "$text" "$strobe" run "$file" --seeds 1..3 -j 2
    is_refused "print_$name" "$text" "$strobe" run "$file" --print
    is_refused "compare_$name" "$text" "$strobe" compare "$small" "$file"
}

: >empty.scn
mkdir folder
head -c 100000 /dev/urandom >garbage
printf 'scenario a "b"\nduration 1s\n\0\0\0' >zeros.scn
printf 'scenario a "b"\nduration 1s\nthread main main run Main.run\n' >dangling.scn
printf 'scenario a "b"\nduration 1s\ninclude "nothing-here.scn"\n' >includes.scn
bad_scenario missing_file 'nothing-here: ' nothing-here
bad_scenario empty_file "empty.scn:1:1: expected a line 'scenario NAME" empty.scn
bad_scenario folder 'folder: ' folder
bad_scenario garbage 'garbage:' garbage
bad_scenario device '/dev/null: ' /dev/null
bad_scenario zeros 'zeros.scn:3:1: ' zeros.scn
bad_scenario method_unknown 'dangling.scn:3:' dangling.scn
bad_scenario include_missing 'includes.scn:3:' includes.scn
size=$(stat -c %s "$convoy")
for keep in 1 40 $((size / 2)) $((size - 20)); do
    head -c "$keep" "$convoy" >cut.scn
    is_refused "scenario_cut_to_$keep" 'cut.scn:' "$strobe" run cut.scn
done
if wanted unreadable_scenario; then
    nobody_can=$(setpriv --reuid=65534 --clear-groups test -x "$strobe" 2>/dev/null && echo yes)
    cp "$small" unreadable.scn && chmod 000 unreadable.scn
    if (($(id -u) != 0)); then
        run "$strobe" run unreadable.scn
        verdict unreadable_scenario "$(refused 'unreadable.scn: ')"
    elif [[ -n $nobody_can ]]; then
        run setpriv --reuid=65534 --regid=65534 --clear-groups "$strobe" run unreadable.scn
        verdict unreadable_scenario "$(refused 'unreadable.scn: ')"
    else
        skip unreadable_scenario 'root can read all files, and no other user can run this build'
    fi
fi

# ---- each option, and the files that a run writes

trial='session.strobe trace.pftrace truth.pftrace score.json report.html'
swarm='results.jsonl report.html'

# holds NAME FOLDER FILES: the folder contains these files, none of them empty, and no other file.
holds() {
    check "$1" diff <(cd "$2" && find . -type f -size +0 | sed 's|^\./||' | sort) <(tr ' ' '\n' <<<"$3" | sort)
}

works a_trial "$strobe" run "$convoy" --seed 7 -o one
holds a_trial_leaves_what_the_usage_names one "$trial"
works a_trial_in_a_path_with_blanks "$strobe" run "$convoy" --seed 7 --output 'a folder/of mine'
works the_same_again "$strobe" run --seed=7 "$convoy" -o two
check one_seed_twice_is_the_same_byte_for_byte diff -r one two
check wherever_it_is_put diff -r one 'a folder/of mine'
run "$strobe" run "$convoy" --seed 8 -o eight
check another_seed_is_another_run bash -c '! cmp -s one/truth.pftrace eight/truth.pftrace'
check no_block_is_kept_for_nothing test $((512 * $(stat -c %b one/session.strobe))) -lt $(stat -c %s one/session.strobe)
works options_in_full "$strobe" run "$convoy" --seed 7 --policy strobe --mode virtual --schedule fair \
    --costs "$home/fixtures/costs/x86-64.json" -o named
check defaults_are_what_the_usage_says diff -r one named
works without_a_tracer "$strobe" run "$small" --policy none -o untraced
for policy in btrace-android btrace-ios async-1ms async-10ms sync-only matrix rheatrace rheatrace-main btrace2 netease \
    ideal strobe-stops; do
    works "policy_$policy" "$strobe" run "$small" --policy $policy --json
    check_json result_of_a_trial out
done
works adversarial "$strobe" run "$convoy" --schedule adversarial
works real "$strobe" run "$home/tests/real/small.scn" --mode real
works random "$strobe" run --random 5 --size 60 -o random
holds a_random_trial_leaves_its_scenario random "$trial scenario.scn"
works random_printed "$strobe" run --random 5 --size 60 --print
check a_random_scenario_is_the_one_printed cmp out random/scenario.scn
run "$strobe" run random/scenario.scn --seed 5 -o replayed
check a_scenario_left_plays_the_same cmp random/truth.pftrace replayed/truth.pftrace
works printed "$strobe" run "$convoy" --print
cp out printed.scn
run "$strobe" run printed.scn --seed 7 -o printed
check a_scenario_printed_plays_the_same cmp one/truth.pftrace printed/truth.pftrace

run "$strobe" run "$convoy" --seed 7 --json
cp out score.json
check json_is_what_score_json_holds cmp score.json one/score.json
check_json result_of_a_trial score.json

# ---- the other commands read the lab's sessions and traces

works report_of_its_session "$strobe" report one/session.strobe
works report_of_its_trace "$strobe" report one/trace.pftrace
works convert_its_session "$strobe" convert -q one/session.strobe -o one.json

# ---- nothing is overwritten

if wanted nothing_is_overwritten; then
    for file in $trial; do
        mkdir -p kept && rm -f kept/* && echo precious >"kept/$file"
        run "$strobe" run "$convoy" --seed 7 -o kept
        fault=$(refused "kept/$file: exists already")
        [[ $(<"kept/$file") == precious ]] || fault+=' it has changed'
        verdict "nothing_is_overwritten_$file" "$fault"
    done
    run "$strobe" run "$convoy" --seed 7 -o kept -f
    verdict force_overwrites "$(went_well; diff -r one kept)"
    for file in $swarm; do
        rm -f kept/* && echo precious >"kept/$file"
        run "$strobe" run "$small" --seeds 1..3 -o kept
        fault=$( ((status == 2)) && [[ $(<err) == *"kept/$file: exists already"* ]] || echo "status $status, $(<err)")
        [[ $(<"kept/$file") == precious ]] || fault+=' it has changed'
        verdict "nothing_is_overwritten_by_a_swarm_$file" "$fault"
    done
fi

# ---- outputs that cannot be written

: >a_file
for command in run compare; do
    is_refused "folder_is_a_file_$command" 'a_file' "$strobe" $command "$small" -o a_file
    is_refused "folder_below_a_file_$command" 'a_file' "$strobe" $command "$small" -o a_file/below
    is_refused "folder_without_a_name_$command" 'expected the name of a folder' "$strobe" $command "$small" -o ''
    is_refused "folder_nobody_may_make_$command" '/proc/mine' "$strobe" $command "$small" -o /proc/mine
done
for command in 'help run' 'help compare' 'help scenario' "run $small" "run $small --json" "run $small --print" \
    "run $small --seeds 1..2" "run $small --seeds 1..2 --json -j 2" "compare $small --policy strobe" \
    "compare $small --json --policy strobe"; do
    name=${command//$work\//}
    wanted "full_output_of_$name" || continue
    : >out
    # shellcheck disable=SC2086
    "$strobe" $command >/dev/full 2>err </dev/null
    status=$?
    judge_refusal 'standard output: cannot write: '
    verdict "full_output_of_$name" "$fault"
    # shellcheck disable=SC2086
    "$strobe" $command >&- 2>err </dev/null
    status=$?
    judge_refusal ''
    verdict "closed_output_of_$name" "$fault"
done
if wanted disk_full; then
    mkdir -p tiny
    if mount -t tmpfs -o size=600k none tiny 2>/dev/null; then
        for what in "run $convoy" "run $convoy --policy btrace-ios" "run $small --seeds 1..400" \
            "compare $convoy --policy btrace-ios"; do
            # shellcheck disable=SC2086
            run "$strobe" $what -o tiny/out
            fault=$( ((status == 2)) && [[ $(<err) == *'No space left'* && $(wc -l <err) == 1 ]] ||
                echo "status $status: $(<err)")
            [[ -z $(find tiny -name '*.tmp*' -o -name '.*.??????') ]] || fault+=" left: $(ls -A tiny/out)"
            verdict "disk_full_${what//$work\//}" "$fault"
            rm -rf tiny/out
        done
        umount tiny
    else
        skip disk_full 'mounting a file system is not permitted here'
    fi
fi

# ---- swarms

run "$strobe" run "$small" --seeds 1..9 -j 1 --json
cp out lines
check_json results_of_a_swarm lines 1 9
check nothing_is_said_of_a_swarm_that_went_well test ! -s err
run "$strobe" run "$small" --seeds 1..9 -j 3 --json
check more_processes_give_the_same_lines cmp out lines
for shard in 1 2 3; do
    "$strobe" run "$small" --seeds 1..9 --shard $shard/3 --json
done >sharded 2>err
check shards_are_the_whole diff <(sort sharded) <(sort lines)
works a_shard_of_nothing "$strobe" run "$small" --seeds 1..2 --shard 3/3 --json
check a_shard_of_nothing_says_nothing test ! -s out
works a_swarm_left "$strobe" run "$small" --seeds 1..9 -j 2 -o swarm
holds a_swarm_leaves_what_the_usage_names swarm "$swarm"
check results_left_are_the_lines_printed cmp swarm/results.jsonl lines
works a_swarm_of_random_scenarios "$strobe" run --random 1..4 --size 40 -j 2
check a_swarm_says_how_many grep -q '4 seeds, every invariant kept' out
works a_swarm_summary "$strobe" run "$small" --seeds 1..9
cp out summary
run "$strobe" run "$small" --seeds 1..9 -j 3
check a_summary_does_not_depend_on_processes cmp out summary
run "$strobe" run "$small" --seed 4 --json
check a_line_of_a_swarm_is_the_trial_of_its_seed \
    python3 "$home/tests/lab/check_results.py" same_result out <(sed -n 4p lines)

# The large swarm is `make swarm`.
works random_scenarios_keep_every_invariant "$strobe" run --random 1..300 --schedule adversarial -j 2
for scenario in lock_convoy notify_many exceptions tid_reuse; do
    works "${scenario}_keeps_every_promise" "$strobe" run "$fixtures/$scenario.scn" --seeds 1..10 \
        --schedule adversarial -j 2
done

if wanted interrupted; then
    for jobs in 1 3; do
        mkdir -p scratch
        # The command gets a separate process group, and all processes of the group get the signal, as with a
        # terminal's Ctrl-C. Background commands of a shell ignore SIGINT; env undoes this.
        TMPDIR=$work/scratch setsid env --default-signal=INT "$strobe" run "$convoy" --seeds 1..1000000 -j $jobs \
            -o scratch/out >out 2>err </dev/null &
        swarm_pid=$!
        for _ in {1..50}; do
            (($(pgrep -c -g $swarm_pid) > jobs)) && break
            sleep 0.1
        done
        sleep 0.5
        kill -INT -- -$swarm_pid
        wait $swarm_pid
        status=$?
        for _ in {1..50}; do
            pgrep -g $swarm_pid >/dev/null || break
            sleep 0.1
        done
        fault=
        ((status == 130)) || fault="exit status $status, expected that of SIGINT (130)"
        if pgrep -g $swarm_pid >/dev/null; then
            fault+=' processes are left' && kill -KILL -- -$swarm_pid
        fi
        left=$(find scratch /dev/shm -newer lines -type f \( -path 'scratch/*' -o -name 'strobe-*' \))
        verdict "interrupted_with_$jobs" "$fault${left:+ left: $left}"
        rm -rf scratch
    done
fi
if wanted its_listener_is_killed; then
    setsid "$strobe" run "$convoy" --seeds 1..1000000 -j 3 >out 2>err </dev/null &
    swarm_pid=$!
    sleep 1
    kill -KILL $swarm_pid
    wait $swarm_pid 2>/dev/null
    for _ in {1..100}; do
        pgrep -g $swarm_pid >/dev/null || break
        sleep 0.1
    done
    pgrep -g $swarm_pid >/dev/null && verdict workers_of_nobody_go_away 'they play on' ||
        verdict workers_of_nobody_go_away
    pgrep -g $swarm_pid >/dev/null && kill -KILL -- -$swarm_pid
fi

# ---- broken invariants

sed '/^duration/a expect agreement strobe 0.999..1' "$small" >'an invariant.scn'
if wanted broken; then
    run "$strobe" run 'an invariant.scn' --seed 3
    fault=$( ((status == 1)) || echo "exit status $status, ")
    [[ $(<err) == "strobe-lab: seed 3: an invariant.scn:"*"expected agreement of strobe in 0.999..1"* ]] ||
        fault+=$(<err)
    verdict broken_by_a_trial "$fault"
    check broken_and_scored_all_the_same grep -q '^  agreement ' out
    run "$strobe" run 'an invariant.scn' --seed 3 --schedule adversarial
    verdict expectations_are_those_of_the_fair_schedule "$( ((status == 0)) || echo "exit status $status, $(<err)")"

    run "$strobe" run 'an invariant.scn' --seeds 3..9 -j 2 --costs "$home/fixtures/costs/x86-64.json" -o broken
    fault=$( ((status == 1)) || echo "exit status $status, ")
    [[ $(<err) == "strobe-lab: seed 3: "* ]] || fault+=$(<err)
    verdict broken_by_a_swarm "$fault"
    replay=$(sed -n 's/^replay:  strobe-lab //p' err) again=$(sed -n 's/^         strobe-lab //p' err)
    for line in "replay:$replay" "shrunk:$again"; do
        eval "set -- ${line#*:}"
        run "$strobe" "$@"
        fault=$( ((status == 1)) || echo "exit status $status of '${line#*:}', ")
        [[ $(<err) == "strobe-lab: seed 3: "*"expected agreement"* ]] || fault+=$(<err)
        verdict "broken_again_by_the_command_said_${line%%:*}" "$fault"
    done
    check a_scenario_made_small_is_smaller bash -c '(($(wc -l <broken/*.scn) < $(wc -l <"an invariant.scn")))'
    run "$strobe" compare 'an invariant.scn' --policy strobe --policy ideal
    fault=$( ((status == 1)) || echo "exit status $status, ")
    [[ $(<err) == *"policy strobe, seed 1: "*"expected agreement"* ]] || fault+=$(<err)
    verdict broken_in_a_comparison "$fault"
    check a_comparison_goes_on grep -q '^  ideal ' out
fi

# ---- comparisons

works a_comparison "$strobe" compare "$small" "$convoy" -j 2 -o compared
check every_policy_is_compared bash -c 'for p in strobe btrace-android btrace-ios async-1ms async-10ms sync-only \
    matrix rheatrace btrace2 netease ideal
    do (($(grep -c "^  $p " out) == 2)) || echo "$p: not once for each scenario"; done | grep . && exit 1 || true'
check the_folder_of_a_comparison test -s compared/results.jsonl -a -s compared/report.html \
    -a -s compared/lock_convoy/ideal/truth.pftrace -a -s compared/abnormal_stack/strobe/session.strobe
cp out table
run "$strobe" compare "$small" "$convoy"
check a_comparison_does_not_depend_on_processes cmp out table
is_refused a_comparison_overwrites_nothing 'exists already' "$strobe" compare "$small" "$convoy" -o compared
works a_comparison_overwrites_with_force "$strobe" compare "$small" "$convoy" -o compared --force
works a_comparison_in_json "$strobe" compare "$small" --policy strobe --policy ideal --seeds 1..3 --json
check_json summaries out

# ---- pages and traces

for page in one/report.html swarm/report.html compared/report.html; do
    check_json "page_stands_alone" $page
done
check page_is_the_same_on_any_run cmp one/report.html two/report.html
if ! command -v node >/dev/null; then
    skip truth_trace 'node is not installed'
elif ! why=$("$home/tests/genuine/fetch-trace-processor.sh" "$B/trace-processor"); then
    skip truth_trace "$why"
else
    . "$home/tests/support/node.sh"
    check truth_trace_holds_the_calls_scored "${node[@]}" "$home/tests/lab/check_truth.mjs" "$B/trace-processor" one
fi

# ---- other load on the processors

if wanted other_programs_take_processor_time; then
    for busy in 0 4; do
        "$strobe" run "$home/fixtures/scenarios/event_loop.scn" --busy $busy --json >"busy-$busy.json" || break
    done
    verdict other_programs_take_processor_time "$(python3 -c '
import json
alone, beside = (json.load(open(f"busy-{n}.json"))["app_cpu_ns"] for n in (0, 4))
if not beside < 0.8 * alone:
    print(f"{beside} ns of processor time beside four threads, {alone} alone")')"
fi

# ---- one policy against another

if wanted worst_seeds_come_first_with_their_causes; then
    run "$strobe" run --random 71001..71012 --against ideal -j 2
    fault=$(went_well)
    "$strobe" run --random 71001..71012 --json >judged.jsonl && "$strobe" run --random 71001..71012 --json \
        --policy ideal >ideal.jsonl
    verdict worst_seeds_come_first_with_their_causes "$fault$(python3 - <<'PYTHON'
import json, re
judged, ideal = ([json.loads(line) for line in open(name)] for name in ("judged.jsonl", "ideal.jsonl"))
below = {a["seed"]: 100 * (b["agreement"] - a["agreement"]) for a, b in zip(judged, ideal)}
text = open("out").read()
head = re.search(r"by more than 1 point in (\d+) of 12 seeds .* by more than 5 in (\d+)", text)
rows = [line.split() for line in text.splitlines() if re.match(r"  71\d{3} ", line)]
if not head or [int(n) for n in head.groups()] != [sum(b > bound for b in below.values()) for bound in (1, 5)]:
    print("counts are not those of the results")
if [int(r[0]) for r in rows] != sorted(below, key=lambda s: (-below[s], s))[:10]:
    print("not the ten worst, or not in order")
if any(abs(float(r[3]) - below[int(r[0])]) > 0.011 for r in rows):
    print("a difference is not that of the results")
PYTHON
)"
fi

# In at most five of these 200 seeds the engine scores more than one point below the ideal sampler. In at most two it
# scores more than five points below. In seed 165 a niced thread gets no processor after its last sample. In seed 112
# threads wait for collections in functions without a frame, whose caller a walk by frame pointers does not find.
if wanted the_engine_scores_near_the_ideal_sampler_on_200_seeds; then
    run "$strobe" run --random 1..200 --against ideal -j 2
    fault=$(went_well)
    [[ $(<out) =~ by\ more\ than\ 1\ point\ in\ ([0-9]+)\ of\ 200\ seeds\ .*by\ more\ than\ 5\ in\ ([0-9]+) ]] &&
        ((BASH_REMATCH[1] <= 5 && BASH_REMATCH[2] <= 2)) ||
        fault+=$'it does not:\n'$(sed -n '2,8p' out)
    verdict the_engine_scores_near_the_ideal_sampler_on_200_seeds "$fault"
fi

# ---- texts

works help_scenario "$strobe" help scenario
check help_scenario_fits_a_terminal awk 'length > 100 { print; bad = 1 } END { exit bad }' out
sed -n '/^    # Two threads/,/^    thread worker/s/^    //p' out >example.scn
works the_example_of_the_help_plays "$strobe" run example.scn
for command in run compare; do
    works "help_$command" "$strobe" help $command
done

echo "$passed passed, $failed failed, $skipped skipped"
((failed == 0))
