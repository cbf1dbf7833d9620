#!/bin/bash
# `strobe attach` enters a running program, records it, and leaves it unharmed and without a trace. stop.sh measures for
# how long it stops the program.
#
#   B=DIR tests/attach/run.sh      prints `N passed, N failed, N skipped` at the end
#   ATTACHES=N                     attaches to redis-server under load (default 3; with FULL=1, as nightly, 1000)
#   KILLS=N                        commands that are killed at random times (default 4; nightly 1000)
#
# With FULL=1 each state is also entered with four threads.
#
# takes: 25 s
set -u
cd "$(dirname "$0")/../.." || exit 2
. tests/support/suite.sh
. tests/attach/programs.sh
draw_seed
attaches=${ATTACHES:-${FULL:+1000}}
build static -static

# what_is_there: what a program's process consists of, without the memory that it takes itself.
# Files and threads that the program itself opens and ends all the time do not count. The C library handles two signals
# of its own (32, 33) from the first thread that is started on. It blocks all signals while it starts a thread, so those
# count that are blocked each time.
what_is_there() {
    grep -o '/.*' "/proc/$pid/maps" | grep -v -e ld.so.cache -e libm.so | sort -u
    blocked=-1
    for i in {1..20}; do
        while read -r name value; do
            [[ $name != SigBlk: ]] || blocked=$((blocked & 16#$value))
        done <"/proc/$pid/status"
    done
    echo SigBlk $blocked
    cat "/proc/$pid/task"/*/comm 2>/dev/null | sort -u
    for set in SigIgn SigCgt; do
        echo $set $((16#$(sed -n "s/^$set:\t//p" "/proc/$pid/status") & ~0x180000000))
    done
    readlink "/proc/$pid"/fd/* | grep -v -e ld.so.cache -e libm.so
}

attach() {
    "$strobe" attach -f -o "$work/a.perfetto-trace" "$@" >"$work/attach.out" 2>"$work/attach.err"
}

# recorded NAME: the last session is closed, its accounting is consistent, and its trace exists.
recorded() {
    if ! "$strobe" report --json "$work/a.strobe" >"$work/report.json" 2>"$work/report.err"; then
        fail "$1: no report: $(<"$work/report.err")"
    elif ! grep -q '"balanced": true' "$work/report.json"; then
        fail "$1: the accounting is inconsistent"
    elif ! [[ -s $work/a.perfetto-trace ]]; then
        fail "$1: no trace"
    else
        pass
    fi
}

# entered STATE [THREADS]: a program in this state is recorded, continues, and has nothing of Strobe left.
entered() {
    begin "$own/states" "$@"
    what_is_there >"$work/before"
    if ! attach -t 300ms "$pid"; then
        fail "$*: $(<"$work/attach.err")"
    elif ! diff "$work/before" <(what_is_there) >"$work/diff"; then
        fail "$*: the process has changed: $(head -n 3 "$work/diff" | tr '\n' ' ')"
    else
        pass
    fi
    sleep 0.1
    ends_sound "$*"
    recorded "$*"
}

for state in spin sleep events malloc threads signals; do
    entered $state
    [[ -z ${FULL:-} ]] || entered $state 4
done
entered load 4
entered idle 4
entered idle 2000

begin "$own/states" fork
check 'a program that forks is entered' attach -q -t 300ms "$pid"
ends_sound 'a program that forks'
recorded 'a program that forks'

# The only thread is in dlopen most of the time. It may not be found anywhere else, which the command then reports.
begin "$own/states" load
if attach -t 300ms "$pid"; then
    recorded 'a program that loads libraries'
elif grep -q 'no thread came to a safe point within 5 s: the last one' "$work/attach.err"; then
    pass
else
    fail "a program that loads libraries: the linker is not named: $(<"$work/attach.err")"
fi
ends_sound 'a program that loads libraries'

# ---- the profile

begin "$own/states" spin 2
check 'a computing program is entered' attach -t 1s "$pid"
ends_sound 'a computing program'
check 'its stacks reach from the computation to the start of the thread' python3 - "$strobe" "$work/a.strobe" <<'END'
import json, subprocess, sys
report = json.loads(subprocess.run([sys.argv[1], "report", "--json", sys.argv[2]], capture_output=True).stdout)
by_name = {m["name"]: m for m in report["methods"]}
whole = sum(t["cpu_ns"] for t in report["threads"])
for name in "spin", "run_steps", "start_thread":
    assert by_name[name]["total_cpu_ns"] > 0.9 * whole, (name, by_name[name], whole)
# On a busy machine there are few samples, and perhaps none in compute_sum, which has a twentieth of the time.
own = sum(by_name[name]["self_cpu_ns"] for name in ("spin", "compute_sum") if name in by_name)
assert own > 0.9 * whole, (own, whole)
END
begin "$own/states" sleep 2
check 'a sleeping program is entered' attach -t 500ms "$pid"
ends_sound 'a sleeping program'
check 'its sleeps and waits are known' bash -c \
    '"$0" report --json "$1" | tr -d "\n " >"$2" && grep -q "\"sleep\":{" "$2" && grep -q "\"poll\":{" "$2"' \
    "$strobe" "$work/a.strobe" "$work/kinds"

${CC:-gcc} -std=c11 -D_GNU_SOURCE -O1 -g -fno-omit-frame-pointer -o "$work/raw_waits" tests/record/raw_waits.c
begin "$work/raw_waits" 300
check 'a program that waits where no hook sees it is entered' attach -t 1500ms "$pid"
ends_sound 'a program that waits where no hook sees it'
"$strobe" report --json "$work/a.strobe" >"$work/report.json" 2>/dev/null
for kind in futex epoll_pwait clock_nanosleep; do
    check "a wait in $kind has its name" bash -c 'read -r calls ms < <(python3 tests/record/named_waits.py "$0" "$1") &&
        ((calls >= 1 && ms >= 250))' "$work/report.json" "[$kind]"
done

# ---- hooked calls

mkdir "$work/files"
if ${CC:-gcc} -std=c11 -D_GNU_SOURCE -O1 -g -fno-omit-frame-pointer -Wall -Wextra -Werror -pthread -I. \
    -o "$work/hooks" tests/attach/hooks.c; then
    begin "$work/hooks" "$work/files"
    check 'a program that calls each hooked function is entered' attach -t 500ms "$pid"
    check 'each hook has counted its end, so the library has left' bash -c '! grep libstrobe "/proc/$0/maps"' "$pid"
    ends_sound 'no hooked call has another result'
    recorded 'each hooked function'
    check 'calls of each kind are recorded' python3 - "$work/report.json" <<'END'
import json, sys
events = json.load(open(sys.argv[1]))["events_by_kind"]
kinds = "read write open close sync poll net sleep mutex rwlock cond sem child".split()
missing = [kind for kind in kinds if not events[kind]["requests"]]
assert not missing, missing
END
else
    fail 'tests/attach/hooks.c does not build'
fi

# ---- ends

begin "$own/states" spin 2
python3 -c 'import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); os.execv(sys.argv[1], sys.argv[1:])' \
    "$strobe" attach -f -q -o "$work/a.perfetto-trace" "$pid" &
command=$!
for ((i = 0; i < 1000; i++)); do
    grep -q libstrobe-attach "/proc/$pid/maps" && break
    sleep 0.01
done
sleep 0.2
check 'a second attach is refused' refused 2 'strobe is attached to it' "$strobe" attach -f -o "$work/b.folded" "$pid"
kill -INT $command
check 'an interrupt ends the recording' wait $command
check 'the library has left' bash -c '! grep libstrobe "/proc/$0/maps"' "$pid"
ends_sound 'an interrupted recording'
recorded 'an interrupted recording'

# ends_meanwhile NAME SIGNAL: the program ends by a signal during the recording, or executes another program.
ends_meanwhile() {
    begin "$own/states" spin 2
    attach -t 20s "$pid" &
    command=$!
    for ((i = 0; i < 1000; i++)); do
        grep -q libstrobe-attach "/proc/$pid/maps" && break
        sleep 0.01
    done
    sleep 0.3
    kill -"$2" "$pid"
    check "$1: the recording ends" wait $command
    end_program
    recorded "$1"
}
ends_meanwhile 'a program that is killed' KILL
ends_meanwhile 'a program that calls _exit' TERM
ends_meanwhile 'a program that executes another one' USR1

# A thread that stays in a call keeps the library until the call returns.
begin "$own/states" block 1
attach -t 500ms "$pid" &
command=$!
sleep 0.3
kill -USR2 "$pid"
check 'a thread that stays in a call does not hold up the command' wait $command
check 'the command reports it' grep -q 'a thread is still in a call' "$work/attach.err"
check 'the library is still there' grep -q libstrobe-attach "/proc/$pid/maps"
check 'the program is refused until then' refused 2 'has not left it yet' "$strobe" attach "$pid"
ends_sound 'a thread in a call'
recorded 'a thread in a call'

# A wait for a condition may end at any time, so the library ends it.
begin "$own/states" cond 3
attach -t 500ms "$pid" &
command=$!
sleep 0.3
kill -USR2 "$pid"
check 'threads that wait for a condition without an end do not hold up the command' wait $command
check 'the command reports none' test ! -s "$work/attach.err"
check 'the library has left them' bash -c '! grep libstrobe "/proc/$0/maps"' "$pid"
ends_sound 'threads that wait for a condition'
recorded 'threads that wait for a condition'

# ---- the command is killed

for ((n = 0; n < ${KILLS:-4}; n++)); do
    begin "$own/states" "$( ((n % 2)) && echo spin || echo sleep)" 3
    "$strobe" attach -f -o "$work/a.perfetto-trace" -t 5s "$pid" >"$work/attach.out" 2>"$work/attach.err" &
    command=$!
    sleep "0.$(printf %03d $((RANDOM % 400)))"
    kill -STOP $command
    tracer=$(pgrep -P $command)
    kill -KILL $command
    wait $command 2>/dev/null
    while [[ -n $tracer ]] && kill -0 "$tracer" 2>/dev/null; do sleep 0.01; done
    for ((i = 0; i < 1000; i++)); do
        grep -q libstrobe "/proc/$pid/maps" || break
        sleep 0.01
    done
    check "the library leaves when the command is killed ($n)" bash -c '! grep libstrobe "/proc/$0/maps"' "$pid"
    ends_sound "a command that is killed ($n)"
done

# ---- refusals

check 'no process is named' refused 2 'which process?' "$strobe" attach
check 'two processes are named' refused 2 'one process at a time' "$strobe" attach 1 2
check 'a word is no process' refused 2 'expected the number of a process' "$strobe" attach redis
check 'a time is checked' refused 2 'expected a time above 0' "$strobe" attach -t 0 1
check 'no such process' refused 2 'no such process' "$strobe" attach 4194305
check 'the command itself' refused 2 'is strobe itself' sh -c 'exec "$0" attach $$' "$strobe"
begin "$own/states" idle 1
thread=$(ls "/proc/$pid/task" | grep -v "^$pid$")
check 'a thread' refused 2 "is a thread of process $pid" "$strobe" attach "$thread"
kill -STOP "$pid"
check 'a stopped program' refused 2 'kill -CONT' "$strobe" attach "$pid"
kill -CONT "$pid"
echo kept >"$work/there.folded"
check 'a file that exists is kept' refused 2 'exists already' "$strobe" attach -o "$work/there.folded" "$pid"
python3 - "$pid" "$work" <<'END' &
import ctypes, os, sys, time
libc = ctypes.CDLL(None, use_errno=True)
assert libc.ptrace(0x4206, int(sys.argv[1]), None, None) == 0  # PTRACE_SEIZE
open(sys.argv[2] + "/traced", "w").close()
while not os.path.exists(sys.argv[2] + "/untraced"):
    time.sleep(0.01)
END
tracer=$!
until [[ -e $work/traced ]]; do sleep 0.01; done
check 'a traced program' refused 2 "process $tracer traces it already" "$strobe" attach "$pid"
touch "$work/untraced"
wait $tracer
if ((EUID == 0)); then
    check "another user's program" refused 2 'belongs to another user' \
        setpriv --reuid=65534 --clear-groups "$strobe" attach -o /tmp/strobe-refused.folded "$pid"
else
    check "another user's program" refused 2 'belongs to another user' "$strobe" attach 1
fi
ends_sound 'a program after refusals'

begin "$own/states" handler
what_is_there >"$work/before"
check 'a thread that stays in a signal handler' refused 2 'is in a signal handler' \
    "$strobe" attach -f -o "$work/b.folded" "$pid"
check 'and nothing has changed' diff "$work/before" <(what_is_there)
ends_sound 'a program that stays in a signal handler'

begin "$own/static" idle 1
check 'a static program' refused 2 'statically linked' "$strobe" attach "$pid"
ends_sound 'a static program'

# The loader's name tells the C library. This one is glibc's under the name of musl's.
ln -s "$(readelf -l "$own/states" | sed -n 's/.*interpreter: \(.*\)]/\1/p')" "$work/ld-musl-x86_64.so.1"
${CC:-gcc} -std=c11 -D_GNU_SOURCE -O1 -pthread -o "$work/musl" tests/attach/states.c \
    "-Wl,--dynamic-linker=$work/ld-musl-x86_64.so.1"
begin "$work/musl" idle 1
check 'a program of another C library' refused 2 'expected that of glibc' "$strobe" attach "$pid"
ends_sound 'a program of another C library'

begin "$strobe" record -q -f --no-convert -o "$work/r.strobe" -- "$own/states" idle 1
command=$pid
pid=$(pgrep -P "$command" states)
check 'a recorded program' refused 2 'is recorded already' "$strobe" attach "$pid"
pid=$command
ends_sound 'a recorded program'

# ---- a server under load

redis-server --port 0 --unixsocket "$work/redis" --save '' --appendonly no >"$work/redis.log" 2>&1 &
server=$!
until redis-cli -s "$work/redis" ping >/dev/null 2>&1; do sleep 0.05; done
redis-benchmark -s "$work/redis" -c 20 -n 100000000 -t get,set -q >"$work/load.out" 2>"$work/load.err" &
load=$!
failures=0
for ((n = 0; n < ${attaches:-3}; n++)); do
    attach -q -t 50ms "$server" && ! [[ -s $work/attach.err ]] && continue
    ((++failures))
    cat "$work/attach.err" >>"$work/failed"
done
if ((failures)); then fail "no attach to a busy server fails: $failures: $(<"$work/failed")"; else pass; fi
check 'the load goes on' kill -0 $load
check 'no request is lost' test ! -s "$work/load.err"
check 'the server answers' redis-cli -s "$work/redis" ping
check 'nothing of the library is left' bash -c '! grep libstrobe "/proc/$0/maps"' $server
kill $load
wait $load 2>/dev/null
kill $server
wait $server
end_suite
