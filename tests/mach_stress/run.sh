#!/bin/bash
# Stress of the engine on the fake Mach. Threads that allocate, lock, start and end are suspended, walked and resumed
# many times. mach_stress uses the engine's host and unwinder only; mach_capture uses the whole library, with the guard
# that aborts on a forbidden call in the window. With FULL=1 there are a million rounds over 64 threads.
#
#   B=DIR [FULL=1] [STROBE_STRESS_SECONDS=S] tests/mach_stress/run.sh
#
# alone: threads must make progress within a time limit.
set -u
cd "$(dirname "$0")/../.." || exit 2
export B=${B:-build}
unset MAKEFLAGS MFLAGS MAKELEVEL
passed=0 failed=0
programs=(mach_stress mach_capture libfakemach-guard.so)
if ! make -s "${programs[@]/#/$B/}" >/dev/null; then
    echo 'FAIL its programs do not build'
    echo '0 passed, 1 failed'
    exit 1
fi

# play COMMAND...: runs the command and adds its counts.
play() {
    local p= f= out status
    out=$(timeout 3600 "$@" 2>&1)
    status=$?
    echo "$out" | grep -v ' passed, '
    read -r p f < <(sed -nE 's/^([0-9]+) passed, ([0-9]+) failed$/\1 \2/p' <<<"$out" | tail -n 1)
    if [[ -z $f ]] || ((status != (f > 0))); then
        echo "FAIL $*: ended with status $status"
        p=${p:-0} f=$((${f:-0} + 1))
    fi
    ((passed += p, failed += f))
}

# A sanitizer must be loaded first, so the guard cannot be preloaded with it.
guarded=(env "LD_PRELOAD=$B/libfakemach-guard.so")
! grep -q -- -fsanitize "$B/flags" || guarded=()
seconds=${STROBE_STRESS_SECONDS:-0.7}
if [[ -n ${FULL:-} ]]; then
    play "$B/mach_stress" --rounds 1000000
    seconds=20
else
    play "$B/mach_stress" --seconds "$seconds" --rounds 20000
fi
# mach_capture does not run under the race detector, for two reasons. The race detector delays the signals that
# implement the fake's stops, so a handler's registers do not match the stack. It also reports reads of rebound pointers
# as races.
seeds=(1 2)
! grep -q -- -fsanitize=thread "$B/flags" || seeds=()
for seed in "${seeds[@]}"; do
    play "${guarded[@]}" "$B/mach_capture" --seconds "$seconds" --seed $seed
done
echo "$passed passed, $failed failed"
((failed == 0))
