#!/bin/bash
# Threads that allocate, lock, end and start are suspended, walked and resumed many times over, on the fake Mach: by the
# engine's host and unwinder alone, and by the whole library, with the guard that ends who calls what he may not in the
# window. For a moment, or with FULL=1 a million times over 64 threads.
#
#   B=DIR [FULL=1] [STROBE_STRESS_SECONDS=S] tests/mach_stress/run.sh
#
# alone: it counts on threads to run within a time.
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

# play COMMAND...: adds what it counted.
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

# A sanitizer comes before any library that is preloaded.
guarded=(env "LD_PRELOAD=$B/libfakemach-guard.so")
! grep -q -- -fsanitize "$B/flags" || guarded=()
seconds=${STROBE_STRESS_SECONDS:-0.7}
if [[ -n ${FULL:-} ]]; then
    play "$B/mach_stress" --rounds 1000000
    seconds=20
else
    play "$B/mach_stress" --seconds "$seconds" --rounds 20000
fi
# The race detector delays signals, which the fake's stops are made of, and hands their registers over with a stack that
# has gone on since; and it takes a program's read of a pointer that is rebound for a race. The whole library goes
# without it.
seeds=(1 2)
! grep -q -- -fsanitize=thread "$B/flags" || seeds=()
for seed in "${seeds[@]}"; do
    play "${guarded[@]}" "$B/mach_capture" --seconds "$seconds" --seed $seed
done
echo "$passed passed, $failed failed"
((failed == 0))
