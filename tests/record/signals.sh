# Signals that end a recording, sourced by run.sh. Whichever process gets them, a trace is written, and the status is
# the program's.

# when_it_says TEXT FILE: waits until the file contains the text, at most ten seconds.
when_it_says() {
    local t
    for ((t = 0; t < 1000; t++)); do
        grep -q "$1" "$2" 2>/dev/null && return
        sleep 0.01
    done
    return 1
}

# taken PID: waits until no signal is pending for the process, at most ten seconds. strobe blocks the signals that it
# takes.
taken() {
    local t
    for ((t = 0; t < 1000; t++)); do
        grep -qE '^ShdPnd:\s0+$' "/proc/$1/status" 2>/dev/null && return
        sleep 0.01
    done
    return 1
}

# signalled NAME STATUS OUTPUT SIGNALS PROGRAM: sends the signals to strobe only, after the program (a bash script) has
# printed "on". Sends a second signal at least half a second after strobe has taken the first one, so that it counts.
signalled() {
    local name=$1 expected=$2 output=$3 signals=$4 program=$5 recorder status signal sent=
    rm -f "$work"/sig.*
    setsid env --default-signal=INT,TERM,HUP "$strobe" record -q -f -o "$work/sig.perfetto-trace" -- \
        bash -c "$program" >"$work/sig.out" 2>"$work/sig.err" &
    recorder=$!
    when_it_says on "$work/sig.out"
    for signal in $signals; do
        [[ ! $sent ]] || { taken $recorder && sleep 0.7; }
        kill -$signal $recorder
        sent=$signal
    done
    wait $recorder 2>/dev/null
    status=$?
    if ((status == expected)) && [[ $(<"$work/sig.out") == "$output" && -s $work/sig.perfetto-trace ]]; then
        pass
    else
        fail "$name: status $status, expected $expected: $(<"$work/sig.out") $(<"$work/sig.err")" \
            "$(ls "$work"/sig.* | tr '\n' ' ')"
    fi
}

# During `wait` the script's own traps run immediately. The sleeper that is left is not recorded.
nap='sleep 20 >/dev/null 2>&1 & wait'
signalled an_interrupt_sent_to_strobe_ends_the_program 130 on INT "echo on; exec sleep 20"
signalled a_termination_sent_to_strobe_ends_the_program 143 on TERM "echo on; exec sleep 20"
signalled a_hangup_sent_to_strobe_ends_the_program 129 on HUP "echo on; exec sleep 20"
signalled a_program_may_end_in_its_own_way 3 $'on\ncaught' INT \
    "trap 'echo caught; kill %1; exit 3' INT; echo on; $nap"
signalled a_second_signal_ends_a_program_that_stays 137 $'on\ncaught' 'INT INT' \
    "trap 'echo caught' INT; echo on; $nap; while :; do sleep 0.1; done"
signalled a_second_signal_ends_a_program_that_ignores_the_first 137 on 'TERM TERM' \
    "trap '' TERM; echo on; while :; do sleep 0.1; done"

# As `timeout` does, sends a signal to strobe and then to its group. The program gets one of these, strobe gets both.
# The program counts its signals for a second.
rm -f "$work"/t.*
setsid env --default-signal=INT "$strobe" record -q -f -o "$work/t.perfetto-trace" -- \
    bash -c 'n=0; trap "((n++))" INT; echo on; for ((i = 0; i < 10; i++)); do sleep 0.1; done; echo "$n"' \
    >"$work/t.out" 2>&1 &
recorder=$!
when_it_says on "$work/t.out"
kill -INT $recorder
kill -INT -- -$recorder
wait $recorder 2>/dev/null
status=$?
if ((status == 0)) && [[ $(<"$work/t.out") == $'on\n'[12] && -s $work/t.perfetto-trace ]]; then
    pass
else
    fail "a signal to strobe and its group does not kill the program: status $status: $(<"$work/t.out")"
fi

# A signal from a terminal reaches the program once.
if command -v python3 >/dev/null; then
    rm -f "$work/tty.perfetto-trace"
    said=$(timeout 60 python3 - "$strobe" "$work/tty.perfetto-trace" <<'PY'
import os, pty, sys, time
pid, fd = pty.fork()
if pid == 0:
    script = 'trap "echo caught" INT; echo on; for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.1; done; echo end; exit 4'
    os.execv(sys.argv[1], [sys.argv[1], "record", "-q", "-f", "-o", sys.argv[2], "--", "bash", "-c", script])
seen = b""
sent = False
while True:
    try:
        part = os.read(fd, 1000)
    except OSError:
        break
    if not part:
        break
    seen += part
    if b"on" in seen and not sent:
        sent = True
        os.write(fd, b"\x03")
status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
print(seen.count(b"caught"), b"end" in seen, status)
PY
    )
    if [[ $said == '1 True 4' && -s $work/tty.perfetto-trace ]]; then
        pass
    else
        fail "an interrupt from the terminal reaches the program once: $said"
    fi
else
    skip "an interrupt from the terminal: no python3 here"
fi

# An interrupted conversion leaves no trace file, and the session stays.
"$strobe" record -q -f --no-convert --interval 0 -o "$work/long.strobe" -- "$own/blocking_calls" >/dev/null 2>&1
for signal in INT TERM; do
    env --default-signal=INT,TERM "$strobe" convert -q "$work/long.strobe" -o "$work/cut.json" 2>"$work/cut.err" &
    converter=$!
    for ((t = 0; t < 2000; t++)); do
        compgen -G "$work/cut.json.part-*" >/dev/null && break
    done
    kill -STOP $converter
    parts=$(compgen -G "$work/cut.json.part-*")
    kill -$signal $converter
    kill -CONT $converter
    wait $converter 2>/dev/null
    status=$?
    if ((status == 128 + $(kill -l $signal))) && [[ $parts ]] && ! compgen -G "$work/cut.json*" >/dev/null; then
        pass
    else
        fail "a conversion ended by SIG$signal leaves nothing: status $status, was: $parts, left:" \
            "$(compgen -G "$work/cut.json*")"
    fi
    rm -f "$work"/cut.json*
done

# SIGUSR2 to strobe takes a snapshot of the running recording. The program gets no signal, and runs on until the end.
snapshots_are_taken() {
    local recorder n
    rm -f "$work"/snap*
    "$strobe" record -f -o "$work/snap.perfetto-trace" -- bash -c 'trap "echo signalled" USR2; echo on
        while [[ ! -e $0 ]]; do sleep 0.05; done; exit 5' "$work/snap.end" >"$work/snap.out" 2>"$work/snap.err" &
    recorder=$!
    when_it_says on "$work/snap.out"
    for n in 1 2; do
        kill -USR2 $recorder
        when_it_says "snap-snapshot-$n.strobe" "$work/snap.err" || return 1
        "$strobe" report "$work/snap-snapshot-$n.strobe" >"$work/snap.report" &&
            grep -q 'the accounting is consistent' "$work/snap.report" || return 1
    done
    touch "$work/snap.end"
    wait $recorder
    [[ $? == 5 && $(<"$work/snap.out") == on && -s $work/snap.perfetto-trace && ! -e $work/snap-snapshot-3.strobe ]]
}
if snapshots_are_taken; then
    pass
else
    fail "SIGUSR2 takes a snapshot each time: $(cat "$work"/snap.out "$work"/snap.err)"
fi
