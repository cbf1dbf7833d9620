#!/bin/bash
# The control server in whole programs, with the genuine curl: a program that records itself, one under `strobe record`,
# access by TCP, the same on the fake Mach, and either side killed at random instants.
#
#   tests/control/run.sh [SEED]
#
# takes: 30 s
set -u
cd "$(dirname "$0")/../.." || exit 2
. tests/support/suite.sh
make -s "HASTE=$(cat "$B/haste" 2>/dev/null)" "B=$B" "$B/lib/libstrobe-capture.so.0" mach >/dev/null ||
    fail 'the libraries do not build'
${CC:-cc} -O1 -g -I. tests/control/app.c -o "$work/app" -pthread -Wl,--no-as-needed "$B/lib/libstrobe-capture.so.0" \
    -Wl,-rpath,"$B/lib" || fail 'app.c does not build'
${CC:-cc} -O1 -g -I. tests/control/app.c -o "$work/plain" -pthread || fail 'app.c does not build'
${CC:-cc} -O1 -g -D_GNU_SOURCE -I. -isystem engine/backend/sdk/mach/include tests/control/mach_app.c -pthread \
    -fno-omit-frame-pointer -o "$work/mach_app" "$B/libstrobe-mach.so" "$B/libfakemach.so" -Wl,-rpath,"$B" ||
    fail 'mach_app.c does not build'
seed=${1:-$RANDOM}
RANDOM=$seed
kills=$([[ -n ${FULL:-} ]] && echo 200 || echo 20)
server=strobe-suite-$$
cd "$work" || exit 2

# begin_program PROGRAM ARGUMENT...: starts the program; returns when it works. `app` is its process id.
begin_program() {
    rm -f out
    mkfifo out
    "$@" >out &
    app=$!
    read -r said <out
}

# begin SECONDS ARGUMENT...: the same for the program on Linux.
begin() {
    begin_program ./app "$@"
}

# stop: ends the program.
stop() {
    kill "$app" 2>/dev/null
    wait "$app" 2>/dev/null
}

# ask PATH OPTION...: prints the answer's status, and keeps its content in `content`.
ask() {
    curl -s -m 10 --abstract-unix-socket "$server" "http://strobe$1" -o content -w '%{http_code}' "${@:2}"
}

# answers STATUS TEXT PATH OPTION...: the answer has the status and contains the text.
answers() {
    local status
    status=$(ask "${@:3}")
    [[ $status == "$1" ]] && grep -qF -- "$2" content && return
    echo "status $status: $(head -c 200 content)"
    return 1
}

# readable FILE: a report of the session is made, and its accounting is consistent.
readable() {
    "$B/strobe" report "$1" >report.out 2>&1 && grep -q 'the accounting is consistent' report.out && return
    tail -n 3 report.out
    return 1
}

json_has() {
    python3 -c 'import json, sys; s = json.load(open("content")); sys.exit(not eval(sys.argv[1], {}, s))' "$1"
}

status_is_json() {
    answers 200 '"state":"running"' /status &&
        json_has "session == 1 and pid == $app and threads >= 1 and path == 'app.strobe' and len(features) == 2"
}

session_is_readable() {
    answers 200 '' "$1" && cp content "$2" && readable "$2"
}

samples_of() {
    "$B/strobe" report --json "$1" |
        python3 -c 'import json, sys; print(json.load(sys.stdin)["events"]["present"])'
}

# The last 300 ms of a capture that has run for longer: fewer samples, and none of them lost.
last_is_shorter() {
    sleep 0.7
    session_is_readable /session whole.strobe && answers 200 '' '/snapshot?last=300ms' -X POST &&
        cp content last.strobe && readable last.strobe || return 1
    local whole last
    whole=$(samples_of whole.strobe)
    last=$(samples_of last.strobe)
    ((0 < last && last < whole)) || { echo "$last samples of $whole"; return 1; }
    grep -q 'none lost' report.out
}

program_has_no_descriptor_more() {
    ! ls -l "/proc/$app/fd" | grep socket:
}

server_thread_is_idle() {
    local task before after
    task=$(grep -l '^strobe-control' "/proc/$app/task/"*/comm) || return 1
    before=$(cut -d' ' -f1 "${task%comm}schedstat")
    sleep 0.3
    after=$(cut -d' ' -f1 "${task%comm}schedstat")
    [[ $before == "$after" ]] || { echo "$((after - before)) ns in 300 ms"; return 1; }
}

# has_threads COUNT SESSION: so many threads have more than ten samples each.
has_threads() {
    "$B/strobe" report --json "$2" | python3 -c '
import json, sys
threads = [t["samples"] for t in json.load(sys.stdin)["threads"]]
print(threads)
sys.exit(sum(n > 10 for n in threads) != int(sys.argv[1]))' "$1"
}

no_thread_of_the_server_is_in() {
    ! "$B/strobe" report --json "$1" | grep strobe-control
}

# captures_again COUNT FIRST: begins and ends so many captures, whose ids follow each other. One curl sends all
# requests.
captures_again() {
    local action
    for ((i = 0; i < $1; i++)); do
        for action in start stop; do
            printf '%s\n' "url = http://strobe/$action" "abstract-unix-socket = $server" 'request = POST' \
                'max-time = 10' 'write-out = "%{http_code}\n"' next
        done
    done | sed '$d' | curl -s -K - | paste -d ' ' - - >answers
    awk -v id="$2" -v count="$1" '
        { state = NR % 2 ? "running" : "stopped" }
        !/ 200$/ || !index($0, "\"state\":\"" state "\",\"session\":" id + int((NR - 1) / 2) ",") ||
            !index($0, "\"path\":\"second.strobe\"") { print NR ": " $0; wrong = 1; exit }
        END { if (!wrong && NR != 2 * count) print NR " answers"; exit wrong || NR != 2 * count }' answers
}

no_signal_pends() {
    ! grep -E '^S(ig|hd)Pnd:.*[1-9a-f]' "/proc/$app/task/"*/status
}

begin 60 app.strobe "$server"
check 'the status is JSON' status_is_json
check 'a session is readable while it is written' session_is_readable /session live.strobe
check 'a session has its id in its path' session_is_readable /session/1 live.strobe
check 'the last seconds are a part of the session' last_is_shorter
check 'the server has no descriptor in the program' program_has_no_descriptor_more
check 'the idle server uses no processor time' server_thread_is_idle
check 'another session is not there' answers 404 'only the newest' /session/2
check 'a path that is not known' answers 404 'expected one of' /nowhere
check 'another method' answers 405 'expected POST' /stop
check 'a body that is too long' answers 413 'at most 8192 bytes' /start --data-binary @"$B/strobe"
check 'options that are wrong' answers 400 'interval=1: expected a number with a unit' /start -d interval=1
check 'a second capture' answers 409 'a capture is under way' /start -d 'path=second.strobe'
check 'a pause' answers 200 '"state":"paused"' /pause -X POST
check 'the end of a pause' answers 200 '"state":"running"' /resume -X POST
check 'the end' answers 200 '"state":"stopped"' /stop -X POST
check 'the session of the end' session_is_readable /session end.strobe
check 'its file' readable app.strobe
cp app.strobe first.strobe
check 'the end of what has ended' answers 409 'no capture is running' /stop -X POST
check 'a capture after the end' answers 200 '"state":"running","session":2' /start -d 'path=second.strobe'
sleep 0.3
check 'its session is another one' session_is_readable /session/2 second-live.strobe
check 'its session has the threads that run since before' has_threads 3 second-live.strobe
check 'the server is none of them' no_thread_of_the_server_is_in second-live.strobe
check 'the first session is not there any more' answers 404 'only the newest' /session/1
check 'the end of the second capture' answers 200 '"state":"stopped","session":2' /stop -X POST
check 'its file' readable second.strobe
check 'the first file is as it was' cmp app.strobe first.strobe
check 'each of 100 captures more is another session' captures_again 100 3
check 'a program that runs on has no pending signals of the engine' no_signal_pends
stop

begin 60 app.strobe "$server"
./app 1 other.strobe "$server" >other.out
check 'a name that is taken' grep -q "control: $server: is taken already" other.out
check 'leaves no session' test ! -e other.strobe
stop

# ---- TCP

tcp() {
    curl -s -m 10 -K app.strobe.control "http://strobe$1" -o content -w '%{http_code}' "${@:2}"
}

token_gives_access() {
    [[ $(tcp /status) == 200 ]] && json_has "state == 'running'" && [[ $(stat -c %a app.strobe.control) == 600 ]]
}

no_token_gives_none() {
    local at
    at=$(sed -n 's/connect-to = "::\(.*\)"/\1/p' app.strobe.control)
    [[ $(curl -s -m 10 "http://$at/status" -o content -w '%{http_code}') == 401 ]] &&
        [[ $(curl -s -m 10 "http://$at/session" -H 'Authorization: Bearer 0' -o content -w '%{http_code}') == 401 ]]
}

tcp_answers() {
    local status
    status=$(tcp "${@:3}")
    [[ $status == "$1" ]] && grep -qF -- "$2" content && return
    echo "status $status: $(head -c 200 content)"
    return 1
}

session_by_tcp_is_readable() {
    tcp_answers 200 '' /session && cp content tcp.strobe && readable tcp.strobe
}

begin 60 app.strobe :any
check 'the token gives access' token_gives_access
check 'without the token there is no access' no_token_gives_none
check 'a session by TCP' session_by_tcp_is_readable
stop

# ---- TCP on the fake Mach, as on iOS

mach_status_is_json() {
    tcp_answers 200 '"state":"running"' /status &&
        json_has "session == 1 and pid == $app and threads >= 4 and samples > 0 and len(features) == 6"
}

begin_program ./mach_app 60 app.strobe
sleep 0.2
check 'Mach: the token gives access' token_gives_access
check 'Mach: without the token there is no access' no_token_gives_none
check 'Mach: the status is JSON' mach_status_is_json
check 'Mach: a session is readable while it is written' session_by_tcp_is_readable
check 'Mach: options that are wrong' tcp_answers 400 'interval=1: expected a number with a unit' /start -d interval=1
check 'Mach: a second capture' tcp_answers 409 'a capture is under way' /start -d 'path=second.strobe'
check 'Mach: a pause' tcp_answers 200 '"state":"paused"' /pause -X POST
check 'Mach: the end of a pause' tcp_answers 200 '"state":"running"' /resume -X POST
check 'Mach: the end' tcp_answers 200 '"state":"stopped"' /stop -X POST
check 'Mach: the file of the end' readable app.strobe
check 'Mach: a capture after the end' \
    tcp_answers 200 '"state":"running","session":2' /start -d 'path=mach-second.strobe'
sleep 0.2
check 'Mach: its session is readable' session_by_tcp_is_readable
check 'Mach: its session has the threads that run since before' has_threads 4 tcp.strobe
check 'Mach: the server is none of them' no_thread_of_the_server_is_in tcp.strobe
check 'Mach: the server outlives both' tcp_answers 200 '"state":"stopped","session":2' /stop -X POST
check 'Mach: the file of the second capture' readable mach-second.strobe
stop

# ---- a forked child

child_has_no_server() {
    [[ $(ask /status) == 200 ]] || return 1
    kill -9 "$app"
    wait "$app" 2>/dev/null
    ask /status >/dev/null && { echo 'the child serves'; return 1; }
    return 0
}

begin 2 app.strobe "$server" fork
check 'a forked child has no server' child_has_no_server

# ---- strobe record

record_has_a_server() {
    local status
    "$B/strobe" record --control="$server-{pid}" --duration 6s -o record.perfetto-trace -- \
        ./plain 60 >record.out 2>record.err &
    local recorder=$! base=$server
    for ((i = 0; i < 100; i++)); do
        server=$(sed -n 's/.*--abstract-unix-socket \([^ ]*\) .*/\1/p' record.err)
        [[ -n $server ]] && [[ $(ask /status) == 200 ]] && break
        sleep 0.05
    done
    answers 200 '"state":"running"' /status && session_is_readable /session record-live.strobe &&
        answers 409 'captured already, by strobe record' /start -d path=x.strobe &&
        answers 200 '"state":"stopped"' /stop -X POST &&
        answers 200 '"state":"running","session":2' /start -d path=recorded-again.strobe &&
        answers 200 '"state":"stopped"' /stop -X POST && readable recorded-again.strobe
    status=$?
    server=$base
    wait "$recorder"
    [[ $? == 143 ]] || { echo 'the program was not ended by TERM'; return 1; }
    ((status == 0)) && readable record.strobe
}

check 'a recorded program has a server, and ends in time' record_has_a_server
check 'a duration of 0 is refused' refused 2 'record: --duration 0: expected a time above 0' \
    "$B/strobe" record --duration 0 -- true
check 'a name that is too long is refused' refused 2 'expected a name of 1 to 99 bytes' \
    "$B/strobe" record --control="$(printf '%0100d' 0)" -- true

# ---- kill -9 of either side

# The program is killed while clients ask for sessions. Each client ends in time, the file is readable.
killed_program_leaves_a_session() {
    begin 30 killed.strobe "$server"
    ask /session >/dev/null &
    local client=$!
    sleep "0.$((RANDOM % 4))$((RANDOM % 10))$((RANDOM % 10))"
    kill -9 "$app"
    wait "$app" 2>/dev/null
    wait "$client"
    readable killed.strobe
}

# A client is killed in the middle of a transfer; the next one is served.
killed_client_leaves_the_server() {
    curl -s -m 10 --abstract-unix-socket "$server" http://strobe/session --limit-rate 100k -o part &
    local client=$!
    sleep "0.0$((RANDOM % 10))$((RANDOM % 10))"
    kill -9 "$client"
    wait "$client" 2>/dev/null
    for ((i = 0; i < 20; i++)); do
        session_is_readable /session next.strobe && return
        sleep 0.05
    done
    return 1
}

for ((round = 1; round <= kills; round++)); do
    check "seed $seed, round $round: the program is killed" killed_program_leaves_a_session
done
begin $((60 + 30 * kills)) app.strobe "$server"
for ((round = 1; round <= kills; round++)); do
    check "seed $seed, round $round: the client is killed" killed_client_leaves_the_server
done
stop
check 'the session after all clients' readable app.strobe

cd / || exit 2
end_suite
