#!/bin/bash
# Child processes under `strobe record`. With --follow they are recorded into one folder and one trace; without it they
# are counted.
#
#   B=DIR tests/follow/run.sh      prints `N passed, N failed, N skipped` at the end
#   CHILDREN=N                     number of short children of one script (default 60; nightly 2000)
#
# takes: 17 s
set -u
cd "$(dirname "$0")/../.." || exit 2
. tests/support/suite.sh
strobe=$B/strobe
here=$PWD/tests/follow
cd "$work" || exit 2

# check NAME WANTED FOUND: passes when both texts are equal.
check() {
    if [[ $2 == "$3" ]]; then pass; else fail "$1: expected $2, found $3"; fi
}

mkdir -p "$B/tests/follow"
families=$B/tests/follow/families
[[ $families -nt $here/families.c ]] ||
    ${CC:-gcc} -std=c11 -D_GNU_SOURCE -O1 -g -fno-omit-frame-pointer -Wall -Wextra -Werror -pthread -o "$families" \
        "$here/families.c" || fail 'families does not build'

sessions=0 processes=0

# follow NAME OPTIONS -- COMMAND...: records into NAME.perfetto-trace and NAME.strobe; leaves NAME.out, NAME.err,
# status.
follow() {
    local name=$1
    shift
    "$strobe" record "$@" >"$name.out" 2>"$name.err" </dev/null
    status=$?
}

# read_lines NAME FILE: sets the variable NAME to the content of a file, without the newlines at its end.
read_lines() {
    read_file "$1" "$2"
    while [[ ${!1} == *$'\n' ]]; do printf -v "$1" %s "${!1%$'\n'}"; done
}

# check_text NAME WANTED FILE: passes when the file holds the wanted text, apart from newlines at its end.
check_text() {
    local text
    read_lines text "$3"
    check "$1" "$2" "$text"
}

# count_sessions NAME: sets `sessions` to the number of sessions. On a busy machine a child may live for so long before
# its exec that its capture begins (forked.h). Such a session does not count.
count_sessions() {
    local second first found text
    shopt -s dotglob nullglob
    found=("$1".strobe/*)
    sessions=${#found[@]}
    for second in "$1".strobe/*.2.strobe; do
        first=${second%.2.strobe}.strobe
        [[ -f $first ]] || continue
        "$strobe" report --json "$first" >wall.json
        read_file text wall.json
        [[ $text =~ \"wall_ns\":\ ([0-9]+) ]] && ((BASH_REMATCH[1] >= 250000000)) && ((sessions--))
    done
    shopt -u dotglob nullglob
}

# count_processes NAME: sets `processes` to the number of different processes in NAME.strobe, converted to Chrome's
# format.
count_processes() {
    local lines line
    local -A known=()
    processes='no trace'
    "$strobe" convert -q -f "$1.strobe" -o "$1.json" || return
    grep -o '"ph":"M","pid":[0-9]*,"tid":[0-9]*,"name":"process_name' "$1.json" >processes
    mapfile -t lines <processes
    for line in "${lines[@]}"; do known[$line]=1; done
    processes=${#known[@]}
}

# check_sessions, check_processes NAME WANTED RECORDING: the recording has that many sessions, or its trace that many
# processes.
check_sessions() {
    local sessions
    count_sessions "$3"
    check "$1" "$2" "$sessions"
}

check_processes() {
    local processes
    count_processes "$3"
    check "$1" "$2" "$processes"
}

# balanced NAME: the accounting of each session in NAME.strobe is consistent. A report of the folder has a line for the
# folder and one for each session.
balanced() {
    local report found sessions
    "$strobe" report --json "$1.strobe" >balanced.json || return 1
    read_file report balanced.json
    found=("$1".strobe/*.strobe)
    sessions=${report//\"balanced\": true/$'\1'}
    sessions=${sessions//[!$'\1']/}
    ((${#sessions} == ${#found[@]} + 1))
}

# ---- one folder, one trace

follow s --follow -o s.perfetto-trace -- /bin/bash -c '/bin/echo a; (echo b); /bin/echo c; :'
check_text 'a script behaves alike' $'a\nb\nc' s.out
check 'a script ends alike' 0 $status
check_text 'nothing is printed' '' s.err
check_sessions 'a session for each process, and no more' 4 s
check 'one trace' 's.perfetto-trace' "$(echo *.perfetto-trace)"
check_processes 'each process is in the trace' 4 s
if balanced s; then pass; else fail 'the accounting of each session is consistent'; fi
"$strobe" convert -q s.strobe -o s.folded
# shellcheck disable=SC2046
if grep -q '^bash;bash;' s.folded; then pass
else fail "the program is the root of folded stacks: $(head -n 1 s.folded)"; fi
if "$strobe" report s.perfetto-trace >s.report && grep -q 'bash (main)' s.report; then pass
else fail 'the report of the trace names bash (main)'; fi
"$strobe" convert -q s.strobe -o again.perfetto-trace
if cmp -s s.perfetto-trace again.perfetto-trace; then pass; else fail 'a second conversion gives the same trace'; fi

follow 'with blanks' --follow -o 'with blanks.perfetto-trace' -- /bin/bash -c '/bin/true; :'
check_sessions 'a path with blanks' 2 'with blanks'

n=${CHILDREN:-60}
follow many --follow -o many.perfetto-trace -- /bin/bash -c "for ((i = 0; i < $n; i++)); do /bin/true; done"
check_sessions 'fork and exec leave one session' $((n + 1)) many
check_processes 'all of them are in the trace' $((n + 1)) many
most=$(find many.strobe -name '[0-9]*' -printf '%k\n' | sort -n | tail -n 1)
if ((most <= 256)); then pass; else fail "a short process takes little of the disk: $most KiB"; fi

# ---- each way to start a child: how many sessions three children of each kind give, the first process included

family() {
    local how=$1 wanted=$2
    follow "$how" --follow -o "$how.perfetto-trace" -- "$families" "$how" 3
    check_text "$how: output" "$how 3: 0 bad" "$how.out"
    check "$how: status" 0 $status
    check_sessions "$how: sessions" "$wanted" "$how"
    check_processes "$how: processes" "$wanted" "$how"
    if balanced "$how"; then pass; else fail "$how: the accounting of each session is consistent"; fi
}
family fork_exec 4
family fork_exec_search 4
family vfork_exec 4
family spawn 4
family system 4
family popen 4
family fork_short 4
family fork_busy 4
family fork_killed 4
family fork_forks 7
family threads_fork 31
# cpu_ms FUNCTION SESSION: sets `time` to the CPU time in a function, in milliseconds.
cpu_ms() {
    local report sum=0
    "$strobe" report --json --top 0 "$2" >cpu.json
    read_file report cpu.json
    report=${report#*'"methods": ['}
    report=${report%%'"method_count_in_all"'*}
    while [[ $report == *"\"name\": \"$1\""* ]]; do
        report=${report#*"\"name\": \"$1\""}
        [[ ${report%%\}*} =~ \"self_cpu_ns\":\ ([0-9]+) ]] && ((sum += BASH_REMATCH[1]))
    done
    time=$((sum / 1000000))
}
# A child computes for 100 ms of CPU time, and until its loop looks at the clock again: up to 130 ms. With a load of 25,
# 68 to 81 ms were seen in each, because a child is sampled from its first tick on. The bound doubles the distance.
for how in fork_busy fork_killed; do
    for session in $how.strobe/[0-9]*.strobe; do
        cpu_ms busy_child "$session"
        if ((time >= 36 && time <= 140)); then
            pass
        else
            fail "$how: a child that calls nothing is sampled: $time ms of 100 or more in busy_child"
        fi
    done
done
"$families" fork_outlives 1 >/dev/null
follow late --follow -o late.perfetto-trace -- "$families" fork_outlives 2
check_text 'strobe record does not wait for children that outlive their parent' 'fork_outlives 2: 0 bad' late.out
for ((t = 0; t < 2000; t++)); do pgrep -f "$families fork_outlives" >/dev/null || break; sleep 0.01; done
check_processes 'and are recorded to their end' 3 late
if balanced late; then pass
else fail 'children that outlive their parent: the accounting of each session is consistent'; fi

# ---- a full disk

full=$B/tests/follow/full_disk
[[ $full -nt $here/full_disk.c ]] ||
    ${CC:-gcc} -std=c11 -D_GNU_SOURCE -O1 -g -fno-omit-frame-pointer -Wall -Wextra -Werror -pthread -o "$full" \
        "$here/full_disk.c" || fail 'full_disk does not build'

# full_disk NAME COMMAND...: records a command into NAME/NAME.strobe, on a separate tmpfs.
full_disk() {
    (cd "$1" && "$strobe" record --follow --no-convert -o "$1.strobe" -- "${@:2}") >"$1.out" 2>"$1.err"
    status=$?
}
if mkdir filled later && mount -t tmpfs -o size=400m tmpfs filled 2>/dev/null; then
    # By then the child's session is two and a half times as old as the age at which its other blocks are reserved.
    full_disk filled /bin/bash -c "'$full' . ; echo \$?"
    check 'a child continues when the disk fills up as it starts' $'full\n3 0' "$(<filled.out) $status"
    if balanced filled/filled; then pass; else fail 'a full disk: the accounting of each session is consistent'; fi
    session=$(grep -l full_disk filled/filled.strobe/[0-9]*.strobe | head -n 1)
    "$strobe" report --verbose "$session" >filled.report 2>&1
    lost=$(awk '$1 == "poll" { print $8 + $9 }' filled.report)
    untracked=$(grep -o 'events of untracked threads [0-9]*' filled.report)
    if ((${lost:-0} > 0 && ${untracked##* } > 0)); then pass
    else fail "a full disk: the report counts the lost samples: $(tail -n 30 filled.report)"; fi
    umount filled
    mount -t tmpfs -o size=400m tmpfs later
    full_disk later "$full" . '/bin/true; /bin/echo on'
    check 'children continue without room for their sessions' 'on 0' "$(<later.out) $status"
    check 'children without sessions are counted' \
        'strobe: 3 child processes were not recorded: no session could be made' "$(<later.err)"
    umount later
else
    echo 'SKIP a full disk: mounting a small file system needs root'
fi

# ---- which programs are followed

follow only --follow=echo -o only.perfetto-trace -- /bin/bash -c '/bin/true; /bin/echo x; /bin/true; :'
check_sessions 'only programs with the name are followed' 2 only
# The second column: how many of true, echo and cat are followed beside the program itself.
while read -r patterns wanted; do
    follow "of $patterns" "--follow=$patterns" -q -f -o pattern.perfetto-trace -- \
        /bin/bash -c '/bin/true; /bin/echo x; /bin/cat </dev/null; :'
    check_sessions "programs that match $patterns" $((wanted + 1)) pattern
    rm -r pattern.*
done <<'END'
*                3
e*               1
*t*              2
?at              1
tr*e,ca?         2
true,echo,cat    3
tru              0
truer            0
*x*              0
END

# ---- the environment of what is followed

# sees NAME WANTED COMMAND: the followed command, a script, prints what it prints without Strobe.
sees() {
    follow "$1" --follow -q -f -o env.perfetto-trace -- /bin/bash -c "$3"
    check_text "$1" "$2" "$1.out"
}
export LD_PRELOAD=libm.so.6 ASAN_OPTIONS=color=never
follow alone --no-convert -q -f -o alone.strobe -- /bin/bash -c 'echo $LD_PRELOAD $ASAN_OPTIONS; exec /usr/bin/env'
check 'without --follow a program sees the LD_PRELOAD of the user' 'libm.so.6 color=never' "$(head -n 1 alone.out)"
check 'and so does what it becomes' 2 "$(grep -cxE 'LD_PRELOAD=libm.so.6|ASAN_OPTIONS=color=never' alone.out)"
sees 'a child with the users LD_PRELOAD' 'a child' '/bin/echo a child; :'
check_sessions 'and its child' 2 env
unset LD_PRELOAD ASAN_OPTIONS
sees 'more variables than are changed' 4200 \
    'for ((i = 0; i < 4200; i++)); do export v$i=; done; exec /usr/bin/env | grep -c ^v[0-9]'
LD_PRELOAD=$(printf 'libm.so.6:%.0s' {1..1000}) sees 'a long LD_PRELOAD' ok '/bin/echo ok; :'
follow method --follow --method -q -o method.perfetto-trace -- /bin/bash -c '(exit 3)'
check 'a forked child ends alike, recorded by calls' 3 $status
check_sessions 'a forked child is recorded by calls' 2 method
follow glob '--follow=nothing,tr?e,e*o' -o glob.perfetto-trace -- \
    /bin/bash -c '/bin/true; /bin/echo x; /bin/cat /dev/null; :'
check_sessions 'names are patterns' 3 glob
follow deep --follow=echo -o deep.perfetto-trace -- /bin/bash -c '/bin/sh -c "/bin/echo x; :"; :'
check_sessions 'children of programs that are not followed are followed' 2 deep
follow bad --follow= -o bad.perfetto-trace -- /bin/true
check 'an empty list is refused' 2 $status
follow bad --follow=/bin/echo -o bad.perfetto-trace -- /bin/true
check 'a path is refused' 2 $status
if ls bad.strobe bad.perfetto-trace >/dev/null 2>&1; then fail 'a refusal leaves no file'; else pass; fi

# ---- existing files

follow s --follow -o s.perfetto-trace -- /bin/true
count_sessions s
check 'nothing is overwritten without -f' "2 4" "$status $sessions"
rm s.perfetto-trace
follow s --follow -o s.perfetto-trace -- /bin/true
count_sessions s
check 'nor are sessions without a trace' "2 4" "$status $sessions"
: >s.strobe/notes.txt
echo mine >s.strobe/mine.strobe
follow s -f --follow -o s.perfetto-trace -- /bin/bash -c '/bin/true; :'
check_processes 'older sessions are not in a newer trace' 2 s
check 'other files in the folder stay' 'mine' "$(cat s.strobe/notes.txt s.strobe/mine.strobe)"
rm s.strobe/notes.txt s.strobe/mine.strobe
follow s -f -o s.perfetto-trace -- /bin/true
check 'a file replaces a folder' 'regular file' "$(stat -c %F s.strobe)"
follow s -f --follow -o s.perfetto-trace -- /bin/true
check 'a folder replaces a file' '0 directory' "$status $(stat -c %F s.strobe)"

follow e -o e.perfetto-trace -- /bin/sh -c 'exec /bin/sh -c "exec /bin/true"'
check 'programs before an exec are in the same trace' '2 e.perfetto-trace' \
    "$(ls e.strobe.exec* | wc -l) $(echo e.*trace)"
follow e -f -o e.perfetto-trace -- /bin/true
check 'the next recording removes their sessions' 'e.strobe' "$(echo e.strobe*)"

# ---- not followed, and counted

counted() {
    follow c -f -o c.perfetto-trace -- "${@:2}"
    check "children not recorded: ${*:2}" "${1:+strobe: $1}" "$(grep 'not recorded' c.err)"
}
counted '' /bin/true
counted '1 child process was not recorded (--follow records it)' /bin/bash -c '/bin/true; :'
counted '3 child processes were not recorded (--follow records them)' /bin/bash -c '/bin/true; (echo); /bin/true; :'
for how in fork_exec fork_exec_search vfork_exec spawn system popen fork_short; do
    counted '3 child processes were not recorded (--follow records them)' "$families" $how 3
done
follow c -q -f -o c.perfetto-trace -- "$families" spawn 3
check_text 'with -q the number of children is not printed' '' c.err

# ---- interrupted

setsid env --default-signal=INT "$strobe" record --follow -o i.perfetto-trace -- \
    bash -c 'trap "echo caught; exit 3" INT; /bin/echo on; sleep 30; :' >i.out 2>&1 &
recorder=$!
# Waits until the third program, sleep, is recorded. The output of echo shows that only for the second one.
for ((t = 0; t < 2000; t++)); do
    count_sessions i
    ((sessions == 3)) && pgrep -g $recorder -x sleep >/dev/null && break
    sleep 0.01
done
kill -INT -- -$recorder
wait $recorder
check 'the program handles an interrupt as without Strobe' $'3 on\ncaught' "$? $(<i.out)"
count_processes i
check 'an interrupted recording has its trace' '3 i.perfetto-trace' "$processes $(echo i.*trace)"

end_suite
