#!/bin/bash
# Runs the contract of Android's runtime (support/contract.h) on the available genuine runtimes and on the fake of every
# API level.
#
#   tests/contract_art/run.sh [-l] [RUNTIME[/MODE]...]      -l: without the heavy cases
#   tests/contract_art/run.sh --sanitized                   for a sanitized B: few runtimes, see `sanitized` below
#
# For a named runtime, all cases run, in the named mode or in all its modes. Without names:
#
#   art11                       quick: all cases; interpreted: those of few.txt, because fake24 plays all interpreted
#   art14                       if STROBE_ART14 names it: all modes, all except the heavy cases
#   the fakes of 24 and 30      all except the heavy cases, in one mode each
#
# With FULL=1, as in the nightly run, all cases run on all runtimes in all modes. When a file about Android's runtime or
# the contract itself differs from main, these run, too:
#
#   the fakes of 31 and 35      all except the heavy cases, in one mode each
#   the other fakes             the cases of few.txt, in which levels and modes differ, in one mode each; not when only
#                               cases differ, because the nightly run plays these
#
# A case that takes more than about 100 ms of processor time is marked CONTRACT_HEAVY. `make test` should use less than
# 25 s of it here.
#
# takes: 25 s
set -u
cd "$(dirname "$0")/../.." || exit 2
export B=${B:-build}
unset MAKEFLAGS MFLAGS MAKELEVEL
passed=0 failed=0 skipped=0 light=()
fake_modes=(interpreted quick inlined)

# Adds up the counts in the last line of a run's output. A run without such a line has failed.
count() {
    local p f s
    read -r p f s < <(sed -nE 's/^([0-9]+) passed, ([0-9]+) failed, ([0-9]+) skipped$/\1 \2 \3/p' <<<"$2" | tail -n 1)
    if [[ -z ${s:-} ]]; then
        echo "FAIL $1: ended with status $3"
        p=0 f=1 s=0
    fi
    ((passed += p, failed += f, skipped += s))
    printf '%-8s %-12s %4d passed %3d failed %3d skipped\n' "${1% *}" "${1#* }" "$p" "$f" "$s"
}

# contract RUNTIME MODE [-l] [-- CASE...]
contract() {
    local out status options=() cases=()
    [[ ${3:-} == -l ]] && options=(-l)
    [[ ${3:-} == -- ]] && cases=("${@:4}")
    out=$(timeout 200 "$B/contract_art" "${options[@]}" "$1" "$2" "${cases[@]}" 2>&1)
    status=$?
    grep -v ' passed, ' <<<"$out"
    count "$1 $2" "$out" "$status"
}

# all_modes RUNTIME [-l]
all_modes() {
    local mode modes=(interpreted quick)
    [[ $1 == fake* ]] && modes=("${fake_modes[@]}")
    for mode in "${modes[@]}"; do contract "$1" "$mode" "${@:2}"; done
}

# What the fakes of all levels are tested for: the backend, the fakes, and the list of cases in which they differ.
about_art=('engine/backend/art/*' 'engine/method/*/art/*' 'sim/fake/art/*' 'sim/genuine/*' 'tests/contract_art/few.txt')
about_cases=('tests/contract_art/*')

middle_levels() {
    local level
    for level in 31 35; do contract "fake$level" "${fake_modes[level % 3]}" -l; done
}

other_levels() {
    local level few=("$@")
    for level in 25 26 27 28 29 32 33 34 36; do contract "fake$level" "${fake_modes[level % 3]}" -- "${few[@]}"; done
}

usual() {
    local few
    mapfile -t few <tests/contract_art/few.txt
    contract art11 interpreted -- "${few[@]}"
    contract art11 quick "${light[@]}"
    [[ -n ${STROBE_ART14:-} ]] && all_modes art14 -l
    contract fake24 interpreted -l
    contract fake30 inlined -l
    if tests/mutants/changed.py "${about_art[@]}"; then
        middle_levels
        other_levels "${few[@]}"
    elif tests/mutants/changed.py "${about_cases[@]}"; then
        middle_levels
        echo "only cases differ from main: the fakes of 25 to 29, 32 to 34 and 36 are left to the nightly run"
    else
        echo "unchanged since main: the fakes of other levels are left to the nightly run"
    fi
}

# The cases that measure no time, and those of many threads.
untimed=(the_end_leaves_the_runtime_as_it_was_found_and_another_can_begin allocations_are_counted_to_the_last
    methods_are_named_at_the_end the_host_stops_a_thread_walks_it_and_lets_it_go a_suspended_thread_is_walked_exactly
    stacks_that_overflow_are_survived_with_every_event_a_sample threads_that_come_and_go_are_each_seen_once
    exceptions_pass_hooks_unharmed)
crowded=(a_monitor_lets_one_in_at_a_time collections_by_one_stop_no_other_for_good
    monitors_hold_while_threads_are_suspended_and_garbage_is_collected
    twelve_threads_at_all_hooks_leave_no_wrong_stack)

# Runtimes install signal handlers and start threads that outlive a case. Under the thread sanitizer, threads start
# slowly, so only the cases that measure no time run.
sanitized() {
    export ASAN_OPTIONS=detect_leaks=0:handle_segv=0:allow_user_segv_handler=1
    local tsan=handle_segv=0:ignore_noninstrumented_modules=1:report_thread_leaks=0:atexit_sleep_ms=0
    if grep -q -- -fsanitize=thread "$B/flags"; then
        TSAN_OPTIONS=$tsan contract fake30 quick -- "${untimed[@]}" "${crowded[@]}"
        TSAN_OPTIONS=$tsan:suppressions=ci/tsan-genuine.supp contract art11 quick -- "${untimed[@]}"
    else
        contract fake30 quick -l
        contract art11 quick -l
    fi
}

if [[ ${1:-} == --sanitized ]]; then
    sanitized
    echo "$passed passed, $failed failed, $skipped skipped"
    ((failed == 0))
    exit
fi
if ! make -s "$B/contract_art" "$B"/art/{24..36}/libart.so >/dev/null; then
    echo 'FAIL contract_art or a fake does not build'
    echo '0 passed, 1 failed'
    exit 1
fi
[[ ${1:-} == -l ]] && light=(-l) && shift
for runtime; do
    if [[ $runtime == */* ]]; then
        contract "${runtime%/*}" "${runtime#*/}" "${light[@]}"
    else
        all_modes "$runtime" "${light[@]}"
    fi
done
if (($# == 0)); then
    if [[ -n ${FULL:-} ]]; then
        all_modes art11 "${light[@]}"
        [[ -n ${STROBE_ART14:-} ]] && all_modes art14 "${light[@]}"
        for level in {24..36}; do all_modes "fake$level" "${light[@]}"; done
    else
        usual
    fi
fi
echo "$passed passed, $failed failed, $skipped skipped"
((failed == 0))
