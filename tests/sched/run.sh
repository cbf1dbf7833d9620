#!/bin/bash
# `strobe record --sched` and `strobe attach --sched`: the scheduling that a session holds is what the program says of
# itself.
#
#   B=DIR tests/sched/run.sh      prints `N passed, N failed, N skipped` at the end
#
# takes: 9 s
# alone: recordings of other suites would remove the instance that a killed recorder leaves.
set -u
cd "$(dirname "$0")/../.." || exit 2
. tests/support/suite.sh
strobe=$B/strobe
own=$B/sched
mkdir -p "$own"
for program in sched/turns life/refuse; do
    "${CC:-gcc}" -O1 -w -D_GNU_SOURCE -o "$own/${program#*/}" "tests/$program.c" -pthread || exit 1
done
cd "$work" || exit 2
check=$OLDPWD/tests/sched/check.py

# in_mounts SCRIPT COMMAND...: runs the command where the script has mounted something, for it alone.
in_mounts() {
    local script=$1
    shift
    unshare --mount bash -c "$script"' && exec "$@"' - "$@"
}
with_tracefs='{ mountpoint -q /sys/kernel/tracing || mount -t tracefs none /sys/kernel/tracing; }'
without_tracefs='for at in /sys/kernel/tracing /sys/kernel/debug; do [[ ! -d $at ]] || mount -t tmpfs none $at; done'

hide=()
[[ $(id -u) == 0 ]] && unshare --mount true 2>/dev/null && hide=(in_mounts "$without_tracefs")
options=()

# records NAME MODE SOURCE COMMAND...: a recording of the mode, made by the command before `strobe`, has the scheduling.
records() {
    local name=$1 mode=$2 source=$3
    shift 3
    "$@" "$strobe" record --sched "${options[@]}" -f --no-convert -o s.strobe -- "$own/turns" "$mode" \
        >said 2>err
    local status=$? lines=1
    [[ $source == tracepoints ]] && lines=0
    if ((status != 0)) || (($(wc -l <err) != lines)); then
        fail "$name: status $status: $(<err)"
        return
    fi
    "$strobe" report --json s.strobe >report.json
    check "$name" python3 "$check" "$mode" report.json said "$source"
}

# Where perf events and tracefs are refused, one line says so, and the rest is recorded.
refused_is_said() {
    "${hide[@]}" "$own/refuse" perf_event_open=1 "$strobe" record --sched -q -f --no-convert -o s.strobe -- \
        "$own/turns" killed >said 2>err || fail "refused: status $?: $(<err)"
    "$strobe" report --json s.strobe >report.json
    local line='strobe: --sched: scheduling is not recorded: perf_event_open: Operation not permitted; '
    if [[ $(<err) == "$line"*'; tracefs'* ]] &&
        (($(wc -l <err) == 1)) && ! grep -q '"scheduling"' report.json && grep -q '"balanced": true' report.json; then
        pass
    else
        fail "refused: $(<err)"
    fi
}
refused_is_said

# Starts a program in the background. It is executed when the function returns: attach ends at an exec.
start_turns() {
    "$own/turns" turns 1000 &
    program=$!
    until [[ $(</proc/$program/comm) == turns ]]; do sleep 0.01; done
}

# ---- checks of report.json, family and err

own_threads() { python3 -c "
import glob, json
reports = [json.load(open(p)) for p in glob.glob('family/*.json')]
work = json.load(open('said'))
tids = [{t['tid'] for t in r['scheduling']['threads']} for r in reports]
print(tids, work)
assert len(tids) == 2 and not tids[0] & tids[1]
assert {work['first']['tid'], work['second']['tid']} in tids"; }
report_family() { for session in family/*.strobe; do "$strobe" report --json "$session" >"$session.json"; done; }
attached_thread() { python3 -c "
import json
report = json.load(open('report.json'))
t = next(t for t in report['scheduling']['threads'] if t['tid'] == report['pid'])
known = sum(t[k] for k in ('running_ns', 'runnable_ns', 'sleeping_ns', 'uninterruptible_ns'))
print(t)
assert known > 280e6 and report['scheduling']['lost'] == report['scheduling']['damaged'] == 0
# It sleeps and computes 5 ms each in turn. How long it is runnable depends on the other processes.
turns = t['running_ns'] + t['sleeping_ns']
assert turns > 30e6 and turns / 4 < t['running_ns'] < turns * 3 / 4 and t['switches'] >= 6"; }
# feed_lines: each line wakes the reader.
feed_lines() { bash -c 'for ((i = 0; i < 20; i++)); do echo && sleep 0.01; done'; }
named_waker() { python3 -c "
import json
[t] = json.load(open('report.json'))['scheduling']['threads']
print(t)
assert t['waker'] == 'bash' and 2 * t['waker_wakes'] > t['wakes']"; }
# waker_is NAME...: the most frequent waker of the program has one of these names. Each of its children wakes it twice,
# and ends before /proc is read.
waker_is() { python3 -c "
import glob, json, sys
threads = [t for p in glob.glob('family/*.json') for t in json.load(open(p))['scheduling']['threads']]
t = max(threads, key=lambda t: t['wakes'])
print(t)
assert t['waker'] in sys.argv[1:]" "$@"; }
record_renamed() {
    rm -rf family
    mkdir family
    in_mounts "$with_tracefs" "$strobe" record --sched -q -f --no-convert "$@" -- "$own/turns" renamed 2>err
    report_family
}
lost_events() { python3 -c "
import json, re
line = re.search(r'--sched: (\d+) events of scheduling are lost: (\d+) found', open('err').read())
lost = json.load(open('report.json'))['scheduling']['lost']
print(open('err').read(), lost)
assert line and int(line[1]) == int(line[2]) == lost > 1000"; }

# ---- tracefs: the recorder has no perf events, and makes an instance of its own
#
# The engine has none, either, and would stop the threads for samples (--async-interval).

by_tracefs=(in_mounts "$with_tracefs" "$own/refuse" perf_event_open=1)
list_instances() { in_mounts "$with_tracefs" ls /sys/kernel/tracing/instances; }

# Instances of processes that exist are of other tests.
no_instance_is_left() {
    local name
    for name in $(list_instances); do
        [[ $name != strobe-* || -e /proc/${name#strobe-} ]] || return 1
    done
}

# killed_by SIGNAL: sends the signal to a recorder whose instance exists.
killed_by() {
    unshare --mount bash -c "$with_tracefs"' && exec "$@"' - "$own/refuse" perf_event_open=1 \
        "$strobe" record --sched -q -f --no-convert -o killed.strobe -- sleep 1 2>err &
    local recorder=$!
    instance=strobe-$recorder
    for ((i = 0; i < 100; i++)); do
        list_instances | grep -qx "$instance" && break
        sleep 0.01
    done
    kill "-$1" "$recorder"
    wait "$recorder" 2>/dev/null
}

record_by_tracefs() {
    options=(--async-interval 0)
    records 'tracefs: two threads take turns' turns tracepoints "${by_tracefs[@]}"
    records 'tracefs: a sleep that no signal ends' killed tracepoints "${by_tracefs[@]}"
    options=()
    "${by_tracefs[@]}" "$strobe" record --sched --follow -q -f --no-convert -o family -- \
        sh -c "'$own/turns' turns; :" >said 2>err
    report_family
    check 'tracefs: each program of a family has its own threads' own_threads
    feed_lines | "${by_tracefs[@]}" "$strobe" record --sched -q -f --no-convert -o s.strobe -- head -n 20 >said 2>err
    "$strobe" report --json s.strobe >report.json
    check 'tracefs: a waker of another process has its name' named_waker
    "${by_tracefs[@]}" "$strobe" record --sched -f --no-convert -o s.strobe -- "$own/turns" flood >said 2>err
    "$strobe" report --json s.strobe >report.json
    check 'tracefs: lost events are counted' lost_events
    start_turns
    check 'tracefs: attach to a running program' "${by_tracefs[@]}" "$strobe" attach --sched -q -f --no-convert \
        -t 300ms -o s.strobe "$program"
    kill "$program"
    wait "$program" 2>/dev/null
    "$strobe" report --json s.strobe >report.json
    check 'tracefs: a running program has the scheduling of its first thread' attached_thread
    check 'tracefs: recordings remove their instances' no_instance_is_left
    killed_by TERM
    check 'tracefs: a recorder that is ended removes its instance' no_instance_is_left
    killed_by KILL
    "${by_tracefs[@]}" "$strobe" doctor >doctor
    check 'tracefs: doctor names the instance of a killed recorder' grep -q "/$instance" doctor
    check 'tracefs: doctor names the way' grep -q 'by tracefs' <(tr -s ' \n' ' ' <doctor)
    "${by_tracefs[@]}" "$strobe" record --sched -q -f --no-convert -o s.strobe -- true
    check 'tracefs: the next recording removes the instance of a killed one' no_instance_is_left
}

if in_mounts "$with_tracefs" test -w /sys/kernel/tracing/instances 2>/dev/null; then
    record_by_tracefs
else
    skip 'tracefs: all recordings' 'no tracefs can be mounted'
fi

if ! perf stat -e cpu-clock true 2>/dev/null; then
    skip 'perf events: all recordings' 'the kernel refuses perf events'
    end_suite
fi

records 'switches: two threads take turns' turns switches "${hide[@]}"
records 'switches: a sleep that no signal ends' killed switches "${hide[@]}"
records 'switches: two threads compete for a processor' compete switches "${hide[@]}"
records 'switches: the first thread ends before the process' leaves switches "${hide[@]}"

if ! in_mounts "$with_tracefs" test -r /sys/kernel/tracing/events/sched/sched_waking/format 2>/dev/null; then
    skip 'tracepoints: all recordings' 'no tracefs can be mounted'
else
    records 'tracepoints: two threads take turns' turns tracepoints in_mounts "$with_tracefs"
    records 'tracepoints: a sleep that no signal ends' killed tracepoints in_mounts "$with_tracefs"
    feed_lines | in_mounts "$with_tracefs" "$strobe" record --sched -q -f --no-convert -o s.strobe -- \
        head -n 20 >said 2>err
    "$strobe" report --json s.strobe >report.json
    check 'tracepoints: a waker of another process has its name' named_waker
    record_renamed --follow -o family
    check 'tracepoints: a waker that is followed and ends at once has the name that it took' \
        waker_is short-lived '(interrupts)'
    record_renamed -o family/one.strobe
    check 'tracepoints: one that is not followed has no name of its creator' \
        waker_is short-lived '(interrupts)' '(of another process)'
fi

# A program that executes another one has two sessions, each with the scheduling of its time.
"$strobe" record --sched -q -f --no-convert -o s.strobe -- sh -c "exec '$own/turns' turns" >said 2>err
"$strobe" report --json s.strobe >report.json
check 'a program that another one executes' grep -q '"scheduling"' report.json
check 'the program before it' bash -c "'$strobe' report --json s.strobe.exec1 | grep -q '\"scheduling\"'"
half_of_report() { python3 -c "
import json
whole, part = (json.load(open(p)) for p in ('report.json', 'part.json'))
threads = [r['scheduling']['threads'] for r in (whole, part)]
states = 'running_ns', 'runnable_ns', 'sleeping_ns', 'uninterruptible_ns'
sums = [sum(t[k] for t in each for k in states) for each in threads]
lives = [sum(t['wall_ns'] for t in each) for each in threads]
switches = [sum(t['switches'] for t in each) for each in threads]
print(sums, lives, switches, whole['wall_ns'])
assert all(sum(t[k] for k in states) <= t['wall_ns'] for each in threads for t in each)
# Half of the time of two threads, in whole milliseconds.
assert 0 < sums[1] <= lives[1] <= whole['wall_ns'] + 2e6 and sums[1] < sums[0] and 0 < switches[1] < switches[0]"; }
wall_ms=$(python3 -c "import json; print(json.load(open('report.json'))['wall_ns'] // 1000000)")
"$strobe" report --json --from $((wall_ms / 4))ms --to $((wall_ms * 3 / 4))ms s.strobe >part.json
check 'a part of the time has the scheduling of that part' half_of_report

# Each program of a family has the scheduling of its own threads.
rm -rf family
"$strobe" record --sched --follow -q -f --no-convert -o family -- sh -c "'$own/turns' turns; :" >said 2>err
report_family
check 'each program of a family has its own threads' own_threads

# A running program: scheduling is recorded from the attach on.
start_turns
check 'attach to a running program' "$strobe" attach --sched -q -f --no-convert -t 300ms -o s.strobe "$program"
kill "$program"
wait "$program" 2>/dev/null
"$strobe" report --json s.strobe >report.json
check 'a running program has the scheduling of its first thread' attached_thread

# A recorder that is stopped empties no buffer: what the kernel lost is counted, in the line and in the report.
"$strobe" record --sched -f --no-convert -o s.strobe -- "$own/turns" flood >said 2>err
"$strobe" report --json s.strobe >report.json
check 'lost events are counted' lost_events
end_suite
