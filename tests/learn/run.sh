#!/bin/bash
# `strobe-lab learn` from a user's point of view: the round trip from a scenario over its capture to a learnt scenario,
# right use and wrong use.
#
#   B=DIR [FULL=1] tests/learn/run.sh [PATTERN]     PATTERN: runs only tests whose name matches it
#
# With FULL=1, as in the nightly run, the round trip of all fixtures at their full length.
#
# takes: 10 s
set -u
cd "$(dirname "$0")/../.." || exit 2
home=$PWD
export LC_ALL=C.UTF-8 B=${B:-build}
[[ $B == /* ]] || B=$home/$B
lab=$B/strobe-lab
only=${1:-}
suite=tests/learn/run.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
source "$home/tests/cli/verdict.sh"

# round_trip NAME BOUNDS ARGUMENT...: the learnt scenarios are as near as the file of bounds states.
round_trip() {
    local name=$1 bounds=$2 said
    wanted "$name" || return 0
    said=$("$home/bench/learn.py" "$B" --bounds "$home/tests/learn/$bounds" "${@:3}" 2>&1) && said=
    verdict "$name" "$(grep -v '^|' <<<"$said")"
}

round_trip learnt_scenarios_of_short_runs_are_near short.txt -j "$(nproc)" --duration 100ms --replays 1
[[ -z ${FULL:-} ]] || round_trip learnt_scenarios_of_all_fixtures_are_near full.txt -j "$(nproc)"

cd "$work" || exit 2
sed '/^expect/d; s/^duration.*/duration 200ms/' "$home/fixtures/scenarios/lock_convoy.scn" >convoy.scn
"$lab" run convoy.scn -o capture >/dev/null || exit 2
"$lab" run convoy.scn --seed 2 -o other >/dev/null || exit 2

# learns NAME FILE CAPTURE...: the command succeeds, and the lab plays what it wrote.
learns() {
    local name=$1 file=$2 fault=
    wanted "$name" || return 0
    run "$lab" learn "${@:3}" -o "$file" --replays 1
    ((status == 0)) || fault="exit status $status: $(head -c 300 err)"
    [[ -s err ]] && fault+=" it said: $(head -c 300 err)"
    [[ -n $fault ]] || "$lab" run "$file" --policy none >/dev/null 2>err || fault="not played: $(head -c 300 err)"
    verdict "$name" "$fault"
}
learns a_session_is_learnt session.scn capture/session.strobe
learns the_true_trace_is_learnt truth.scn capture/truth.pftrace
learns a_trace_of_convert_is_learnt trace.scn capture/trace.pftrace
learns captures_of_two_runs_are_learnt two.scn {capture,other}/session.strobe
if wanted equal_captures_give_equal_scenarios; then
    fault=
    for file in one two; do "$lab" learn capture/session.strobe -o "$file-equal.scn" --name equal >/dev/null; done
    cmp -s one-equal.scn two-equal.scn || fault='the scenarios differ'
    verdict equal_captures_give_equal_scenarios "$fault"
fi
if wanted the_table_has_each_statistic; then
    run "$lab" learn capture/truth.pftrace -o table.scn
    fault=
    for part in 'threads ' 'shares of time' 'total variation' 'largest error' '[mutex wait]' 'durations of calls'; do
        grep -qF "$part" out || fault+=" no '$part'"
    done
    verdict the_table_has_each_statistic "$fault"
fi
if wanted a_brief_scenario_is_short_and_plays; then
    sed 's/^duration.*/duration 300ms/; /^expect/d' "$home/fixtures/scenarios/album.scn" >album.scn
    "$lab" run album.scn -o album >/dev/null
    run "$lab" learn album/session.strobe -o brief.scn --lines 120 --replays 1
    fault=$(head -c 300 err)
    (($(wc -l <brief.scn) <= 120)) || fault+=" it has $(wc -l <brief.scn) lines"
    grep -q ' contexts of methods' out || fault+=' it does not say what was folded'
    "$lab" run brief.scn --policy none >/dev/null 2>err || fault+=" not played: $(head -c 300 err)"
    verdict a_brief_scenario_is_short_and_plays "$fault"
fi
# The replay has the captured run's seed. It differs by what the engine's own work cost in the captured run.
if wanted a_check_separates_the_captured_scenario_from_another; then
    run "$lab" learn capture/truth.pftrace --check convoy.scn --replays 1
    fault=$(head -c 300 err)
    grep -q 'total variation 0\.' out || fault+=" of the captured one it said: $(head -c 300 out)"
    run "$lab" learn capture/truth.pftrace --check "$home/fixtures/scenarios/event_loop.scn" --replays 1
    grep -qE 'total variation [0-9]{2,3}\.' out || fault+=" of another one it said: $(head -c 300 out)"
    verdict a_check_separates_the_captured_scenario_from_another "$fault"
fi
if wanted no_replay_prints_no_distance; then
    run "$lab" learn capture/session.strobe -o quiet.scn --replays 0
    verdict no_replay_prints_no_distance "$(grep variation out)"
fi

# ---- wrong use and damaged input

# refuses NAME TEXT ARGUMENT...: one line with the text, status 2, and no scenario.
refuses() {
    local name=$1 text=$2 fault
    wanted "$name" || return 0
    rm -f none.scn
    run "$lab" learn "${@:3}"
    fault=$(refused "$text")
    compgen -G 'none.scn*' >/dev/null && fault+=' it left a scenario'
    verdict "$name" "$fault"
}
: >empty
head -c 5000 /dev/urandom >noise
head -c 20000 capture/truth.pftrace >cut.pftrace
refuses no_capture 'expected a capture' -o none.scn
refuses no_output 'expected -o' capture/session.strobe
refuses a_missing_file 'nowhere' nowhere -o none.scn
refuses an_empty_file 'empty' empty -o none.scn
refuses noise 'noise: expected a session' noise -o none.scn
refuses a_cut_trace 'cut.pftrace: byte' cut.pftrace -o none.scn
refuses a_second_file_that_is_none 'noise: expected a session' capture/session.strobe noise -o none.scn
refuses a_name_that_is_no_word '--name' capture/session.strobe -o none.scn --name 'a b'
refuses too_few_lines '--lines 39' capture/session.strobe -o none.scn --lines 39
refuses a_check_with_output '--check' capture/session.strobe -o none.scn --check convoy.scn
refuses a_check_of_a_missing_scenario 'nowhere.scn' capture/session.strobe --check nowhere.scn
refuses too_many_cores '--cores 65' capture/session.strobe -o none.scn --cores 65
echo mine >there.scn
refuses a_scenario_that_is_there 'there.scn' capture/session.strobe -o there.scn --replays 0
if wanted a_refused_scenario_stays; then
    verdict a_refused_scenario_stays "$([[ $(<there.scn) == mine ]] || echo 'it was overwritten')"
fi
echo "$passed passed, $failed failed, $skipped skipped"
((failed == 0))
