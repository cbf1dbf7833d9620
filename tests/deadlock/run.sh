#!/bin/bash
# The ban on calls that could deadlock is enforced (S-40). Each forbidden call that is planted in the window of a
# capture is caught: on real threads by the guard, in virtual time by the kernel. Without these checks, the wait-for
# graph reports the deadlock in virtual time, and the watchdog ends it on real threads. tests/emulate runs the same
# plants.
set -u
cd "$(dirname "$0")/../.." || exit 2
export B=${B:-build}
unset MAKEFLAGS MFLAGS MAKELEVEL
passed=0 failed=0 skipped=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
ulimit -c 0
if ! make -s "$B/deadlock" "$B/deadlock_virtual" >/dev/null; then
    echo 'FAIL its programs do not build'
    echo '0 passed, 1 failed'
    exit 1
fi

# verdict NAME COMMAND...: the test passes when the command succeeds.
verdict() {
    local name=$1
    shift
    if "$@"; then
        ((passed++))
    else
        ((failed++))
        echo "FAIL $name: status $status"
        tail -n 25 "$work/log"
    fi
}

# play PROGRAM MS SETTING...: runs the program for MS; leaves its output in the log and its exit status in `status`.
play() {
    local program=$1 ms=$2
    shift 2
    { env "$@" timeout 60 "$B/$program" "$work/session" "$ms" >"$work/log" 2>&1; } 2>/dev/null
    status=$?
    rm -f "$work/session"
}

clean() { ((status == 0)) && grep -qE '^[1-9][0-9]* stops, ' "$work/log"; }
caught() {
    ((status != 0)) && grep -qE "^window: $1 called .* stands\$" "$work/log" &&
        grep -q '(planted_get_state+.*strobe_sampler_pass+' <<<"$(tr -d '\n' <"$work/log")"
}
waits_for_ever() {
    ((status == 1)) && grep -qE "^deadlock: .* waits for malloc zone held by worker, worker is stopped by " "$work/log"
}
# The watchdog resumes a thread that was suspended for too long (200 ms), not earlier, and within 2 s.
watchdog_resumes() {
    clean && awk '$6 >= 200000 && $6 < 2000000 { fine = 1 } END { exit !fine }' "$work/log"
}

plants=$(sed -nE 's/^ *\{"([A-Za-z_]+)", plant_.*/\1/p' tests/deadlock/plants.c)
(($(wc -l <<<"$plants") >= 11)) || plants=too_few

# A sanitizer's functions take precedence over the guard's, and its heap has other locks.
real=(deadlock)
if nm -D "$B/deadlock" | grep -qE ' (__asan_init|__tsan_init)$'; then
    echo 'SKIPPED planted calls on real threads: a sanitizer takes the place of the guard'
    ((skipped++))
    real=()
fi

for program in deadlock deadlock_virtual; do
    play "$program" 20
    verdict "$program: without a planted call nothing is reported" clean
done
for program in "${real[@]}" deadlock_virtual; do
    for plant in $plants; do
        play "$program" 1000 STROBE_PLANT="$plant"
        verdict "$program: $plant in the window is reported by name, with its stack" caught "$plant"
    done
done
play deadlock_virtual 100 STROBE_PLANT=malloc DEADLOCK_UNGUARDED=1
verdict 'an allocation while a stopped thread allocates is reported as an endless wait' waits_for_ever
for program in "${real[@]}"; do
    # A stop finds a thread that holds the mutex with a probability of at least 0.9, and six stops fit into the run on
    # any machine: at most one false alarm in 10^6 runs.
    play "$program" 1000 STROBE_PLANT=pthread_mutex_lock DEADLOCK_HOLD=1 FAKE_MACH_GUARD=off
    verdict 'the watchdog resumes the thread that the sampler waits for' watchdog_resumes
done
echo "$passed passed, $failed failed, $skipped skipped"
((failed == 0))
