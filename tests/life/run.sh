#!/bin/bash
# Records programs that end in unusual ways, or that restrict the system calls and signals that the engine needs, or on
# kernels that refuse such calls. Each program behaves and ends as in a bare run, that is, without Strobe.
#
#   B=DIR tests/life/run.sh [NAME...]   prints `N passed, N failed, N skipped` at the end; NAMEs select tables
#   ROUNDS=N                            recordings of each row (default 1; nightly 50), with options in turn, so that
#                                       each set of options meets some rows, and all rows only in the nightly run
#   HANG_SECONDS=N                      a recording that takes longer counts as hung (default 60)
#
# takes: 22 s
set -u
cd "$(dirname "$0")/../.." || exit 2
. tests/support/suite.sh
strobe=$B/strobe
here=$PWD/tests/life
own=$B/tests/life
rounds=${ROUNDS:-1}

mkdir -p "$own"
# build NAME: compiles NAME.c.
build() {
    [[ $own/$1 -nt $here/$1.c ]] ||
        ${CC:-gcc} -std=c11 -D_GNU_SOURCE -O1 -g -fno-omit-frame-pointer -Wall -Wextra -Werror -pthread \
            -o "$own/$1" "$here/$1.c" ||
        fail "$1 does not build"
}

# Time limit of a run in seconds. A bare run of each program takes milliseconds.
limit=${HANG_SECONDS:-60}

# run_bare COMMAND...: runs the command without Strobe; leaves bare.out, bare.err and bare_status.
run_bare() {
    { timeout -s KILL "$limit" "$@" >"$work/bare.out" 2>"$work/bare.err" </dev/null; } 2>/dev/null
    bare_status=$?
}

# reports_how_it_ended STATUS: `report`, the report of a session that is not closed states how the process ended.
reports_how_it_ended() {
    local how=exited
    (($1 > 128)) && how=killed
    [[ $report == *'"closed": true'* || $report == *"\"$how\": true"* ]]
}

# judge_report CLOSED STATUS: sets `fault` when the report does not say what record_alike expects.
judge_report() {
    local closed=$1 status=$2
    if [[ $report != *'"balanced": true'* ]]; then
        fault="the accounting is inconsistent: $(grep verdict "$work/report.json")"
    elif ((closed)) && [[ $report != *'"closed": true'* ]]; then
        fault="the session is not closed"
    elif ! ((closed)) && ! reports_how_it_ended "$status"; then
        fault="the session is not closed, and the report does not state how the process ended: ${report:0:400}"
    fi
}

# The command that the recording runs under: none, or one that lets the kernel refuse system calls.
kernel=()

# Each recording has a session of its own, so that none is taken for another. The oldest are removed 32 at a time.
recordings=0 session=

# errors_alike: the recording printed what the bare run did, apart from lines that a recording by calls adds.
errors_alike() {
    local line other=
    same_text "$work/bare.err" "$work/rec.err" && return
    while IFS= read -r line || [[ $line ]]; do
        [[ $line == *': no calls: was it built with'* ]] || other+=$line$'\n'
    done <"$work/rec.err"
    read_file line "$work/bare.err"
    [[ $line == "$other" ]]
}

# record_alike NAME CLOSED OPTIONS -- COMMAND...: records the command. Its output and status equal those of the bare run
# before, and the accounting of its session is consistent. With CLOSED 1 the session is closed; otherwise its report
# states that the process exited or was killed. Sets `fault`, `session`, and `report` to the report in JSON.
record_alike() {
    local closed=$2 options=() status
    shift 2
    while [[ $1 != -- ]]; do
        options+=("$1")
        shift
    done
    shift
    fault= report=
    ((++recordings % 32)) || rm -rf "$work"/s.*
    session=$work/s.$recordings.strobe
    {
        timeout -s KILL "$limit" "${kernel[@]}" \
            "$strobe" record -q -f --no-convert -o "$session" "${options[@]}" -- "$@" \
            >"$work/rec.out" 2>"$work/rec.err" </dev/null
    } 2>/dev/null
    status=$?
    if ((status != bare_status)); then
        fault="status $status, bare $bare_status; $(tail -n 1 "$work/rec.err")"
    elif ! same_text "$work/bare.out" "$work/rec.out"; then
        fault="other output: $(diff "$work/bare.out" "$work/rec.out" | head -n 3 | tr '\n' ' ')"
    elif ! errors_alike; then
        fault="other errors: $(diff "$work/bare.err" "$work/rec.err" | head -n 3 | tr '\n' ' ')"
    elif ! "$strobe" report --json "$session" >"$work/report.json" 2>"$work/report.err"; then
        fault="no report: $(<"$work/report.err")"
    else
        read_file report "$work/report.json"
        judge_report "$closed" "$status"
    fi
}

# Options of `strobe record`. Each recording uses the next entry, across rows, so that few rounds of many rows use all.
turn=0
variants=('' '--follow' '--method --with-samples' '--method' '--unwind fp' '--async-interval 100us'
    '--async-interval 1s'
    '--interval 0 --metrics all' '--async-interval 0')

# alike NAME CLOSED COMMAND...
alike() {
    local name=$1 closed=$2 bad=0 i options
    shift 2
    run_bare "$@"
    for ((i = 0; i < rounds; i++)); do
        options=${variants[turn++ % ${#variants[@]}]}
        # shellcheck disable=SC2086  # options are words
        record_alike "$name" "$closed" $options -- "$@"
        [[ $fault ]] || continue
        ((++bad <= 3)) && printf '%s, round %d [%s]: %s\n' "$name" $i "$options" "$fault"
    done
    if ((bad)); then fail "$name: $bad of $rounds rounds"; else pass; fi
}

# ---- how a process ends

ends() {
    local way
    build ends
    # The last two columns: 1 = the session is closed; 1 = the status does not depend on which thread ends last.
    while read -r way closed any_order; do
        alike "ends_as_bare_$way" "$closed" "$own/ends" "$way"
        ((any_order)) && alike "ends_as_bare_at_once_$way" "$closed" "$own/ends" "$way" 0
    done <<'END'
main_exits_worker_returns       1 1
main_exits_workers_return       1 1
main_exits_worker_exits_thread  1 1
main_exits_alone                1 1
main_raw_exit_worker_returns    0 0
main_raw_exit_alone             0 1
main_exit_instruction_alone     0 1
main_exits_worker_raw_exit      0 0
main_exits_worker_calls_exit    1 1
process_exits_by_raw_exit_group 1 1
process_exits_by_instruction    0 1
two_workers_call_exit_at_once   1 1
main_is_cancelled               1 1
main_returns_workers_live       1 1
main_exits_quickly              1 1
forked_from_worker              1 1
END
}

# The report of a trace warns only when the program was killed, or may still run.
ends_in_traces() {
    local way warned command printed found
    while read -r way warned command; do
        { "$strobe" record -q -f -o "$work/t.perfetto-trace" -- bash -c "$command" >/dev/null 2>&1; } 2>/dev/null
        "$strobe" report "$work/t.perfetto-trace" >"$work/t.report"
        read_file printed "$work/t.report"
        found=$printed
        found=${found//did not end normally/$'\1'}
        found=${found//[!$'\1']/}
        if [[ $printed && ${#found} == "$warned" ]]; then pass
        else fail "trace_of_a_program_that_$way"; fi
    done <<END
returned 0 true
has_exited_without_the_c_library 0 exec "$own/ends" process_exits_by_instruction
was_killed 1 kill -9 \$\$
END
}

# ---- programs that restrict their system calls

restricted() {
    local way closed name
    build restricted
    # The column: 1 = the session is closed.
    while read -r way closed; do
        alike "restricted_as_bare_$way" "$closed" "$own/restricted" "$way"
    done <<'END'
strict_ends_by_exit_call            0
strict_by_seccomp_call              0
strict_killed_at_exit               0
strict_beside_worker                0
strict_refused                      0
filter_kills_process_at_other_calls 0
filter_kills_thread_at_other_calls  0
filter_traps_other_calls            0
filter_and_new_threads              0
filter_and_fork                     0
filter_for_all_threads              1
filter_for_all_threads_traps        1
killed_by_filter_process            0
killed_by_filter_thread             0
killed_by_filter_for_all            1
END
    # With a sampler the engine closes a session that its restricted threads cannot close.
    for way in strict_ends_by_exit_call strict_killed_at_exit filter_traps_other_calls killed_by_filter_thread; do
        name=restricted_session_is_closed_and_says_so_$way
        run_bare "$own/restricted" "$way"
        record_alike "$name" 1 -- "$own/restricted" "$way"
        if [[ $fault ]]; then
            fail "$name: $fault"
        elif ! [[ $report =~ \"restricted_ns\":\ [1-9] ]]; then
            fail "$name: the report does not state that recording ended"
        else
            pass
        fi
    done
    "$strobe" report "$session" >"$work/report.txt" 2>&1
    if grep -Eq '\(main\) \(not recorded after [0-9.]+ ms: seccomp\)' "$work/report.txt"; then
        pass
    else
        fail "restricted_thread_is_named_in_the_report"
    fi
}

# ---- kernels without some system calls

# The table: system calls that the kernel refuses, with the error of a kernel that lacks them or of a container that
# forbids them; the object that the report lacks then, or -; and what it says all the same. Each program starts another
# one, and goes on as a third.
refused() {
    local calls lacked pattern name refuse=$own/refuse rounds=$((rounds > 5 ? rounds / 5 : 1))
    local programs=(sh -c '"$0" work; exec "$0" work' "$refuse")
    local variants=('--follow' '' '--follow --async-interval 100us')
    build refuse
    run_bare "${programs[@]}"
    while read -r calls lacked pattern; do
        name=recorded_without_${calls//[=,]/_}
        kernel=("$refuse" "$calls")
        alike "$name" 1 "${programs[@]}"
        record_alike "$name" 1 --async-interval 200us -- "${programs[@]}"
        if [[ $fault ]]; then fail "$name: $fault"
        elif ! [[ $report =~ $pattern ]]; then fail "$name: no $pattern in the report"
        elif [[ $report == *"\"$lacked\": {"* ]]; then fail "$name: the report has $lacked"
        else pass; fi
        kernel=()
    done <<'END'
perf_event_open=38        -     "name": "compute_10_ms".*"async": \{
owner_of_signal=22        -     "name": "compute_10_ms".*"async": \{
refresh_of_clock=22       -     "name": "compute_10_ms".*"async": \{
clock_of_thread=1         cpu   "name": "compute_10_ms"
rt_tgsigqueueinfo=1       -     "name": "compute_10_ms".*"cpu": \{
process_vm_readv=38       -     "name": "compute_10_ms"
process_vm_readv=1        -     "name": "compute_10_ms"
close_range=38            -     "name": "compute_10_ms"
sched_setscheduler=1      -     "name": "compute_10_ms"
wipe_on_fork=22           -     "name": "compute_10_ms"
huge_pages=22             -     "name": "compute_10_ms"
raise_descriptor=24       -     "name": "compute_10_ms"
fallocate=95              -     "name": "compute_10_ms"
renameat2=38              -     "command": "sh
readlinkat=2              -     "exe": ""
thread_name=22            -     "name": "compute_10_ms"
END
    # The program refuses calls to itself, in the middle of the recording.
    for calls in clock_of_thread=1 perf_event_open=38,process_vm_readv=38,close_range=38; do
        alike "recorded_until_it_refuses_${calls//[=,]/_}" 0 "$refuse" "$calls" "${programs[@]}"
    done
}

# ---- programs built with a sanitizer

# Stacks are walked by frame pointers. Another test covers the choice of the unwinder.
sanitized() {
    local name compiler options bin libraries printed
    ulimit -S -d "$(ulimit -H -d)" # a sanitizer reserves terabytes of addresses
    libraries=$(dirname "$(clang -print-file-name=libclang_rt.asan-x86_64.so 2>/dev/null)")
    while read -r name compiler options; do
        bin=$own/sanitized_$name
        # shellcheck disable=SC2086  # options are words
        if ! command -v "$compiler" >/dev/null || ! [[ $bin -nt $here/sanitized.c && $bin -nt $here/run.sh ]] &&
            ! "$compiler" -std=c11 -D_GNU_SOURCE -O1 -g -fno-omit-frame-pointer -pthread -o "$bin" \
                "$here/sanitized.c" $options 2>"$work/cc.err"; then
            skip "sanitized_as_bare_$name" "$compiler cannot build it here"
            continue
        fi
        export LD_LIBRARY_PATH=$libraries
        if [[ $name == tsan_*static ]]; then
            refuses "sanitized_refused_$name" 'ThreadSanitizer runtime is linked statically' "$bin"
        else
            local variants=('--unwind fp' '--unwind fp --follow' '--unwind fp --method --with-samples' '--method')
            # By default a program with ThreadSanitizer sleeps for a second at exit. Only the next test keeps that.
            TSAN_OPTIONS=atexit_sleep_ms=0 alike "sanitized_as_bare_$name" 1 "$bin"
            fails_alike "sanitized_error_is_found_$name" "$bin" error
            printed=$(TSAN_OPTIONS=atexit_sleep_ms=0 "$strobe" record -q -f --no-convert -o "$work/s.strobe" -- "$bin")
            if [[ $printed =~ ^[0-9]+$ ]]; then
                pass
            else
                fail "sanitized_runtime_postpones_no_signal_$name: $printed"
            fi
        fi
        "$strobe" doctor "$bin" >"$work/doctor.out" 2>&1
        case $name in
        tsan_*static) expected='ThreadSanitizer with a static runtime*not recorded' ;;
        tsan*) expected='ThreadSanitizer with a shared runtime' ;;
        asan_*static) expected='AddressSanitizer with a static runtime' ;;
        asan*) expected='AddressSanitizer with a shared runtime' ;;
        *) expected= ;;
        esac
        read -rd '' -a printed <"$work/doctor.out"
        # shellcheck disable=SC2053  # the right side is a pattern
        if [[ ${printed[*]} == *$expected* ]]; then
            pass
        else
            fail "sanitized_is_known_to_doctor_$name"
        fi
        unset LD_LIBRARY_PATH
    done <<'END'
asan_gcc_shared    gcc   -fsanitize=address
asan_gcc_static    gcc   -fsanitize=address -static-libasan
asan_clang_shared  clang -fsanitize=address -shared-libsan
asan_clang_static  clang -fsanitize=address
tsan_gcc_shared    gcc   -fsanitize=thread
tsan_gcc_static    gcc   -fsanitize=thread -static-libtsan
tsan_clang_static  clang -fsanitize=thread
ubsan_gcc          gcc   -fsanitize=undefined
ubsan_clang        clang -fsanitize=undefined
END
    # A runtime's functions of these names take locks that an interrupted thread may hold.
    if nm -D --undefined-only "$B/libstrobe-preload.so" | grep -wE 'mem(cpy|move|set|cmp)'; then
        fail sanitized_handler_calls_no_runtime
    else
        pass
    fi
    # The program and its children see the user's ASAN_OPTIONS, without Strobe's changes.
    local seen
    for options in '' 'detect_leaks=0:color=never'; do
        ASAN_OPTIONS=$options "$strobe" record -q -f --no-convert -o "$work/s.strobe" -- \
            bash -c 'echo "$ASAN_OPTIONS"; exec env' >"$work/seen"
        read_file seen "$work/seen"
        if [[ ${seen%%$'\n'*} == "$options" && $seen == *$'\n'PATH=* && $seen != *verify_asan* ]]; then
            pass
        else
            fail "sanitized_options_are_the_users [$options]: $(grep ASAN <<<"$seen")"
        fi
    done
}

# refuses NAME TEXT COMMAND...: the recording fails with one line, which contains TEXT, status 2 and no session.
refuses() {
    local name=$1 text=$2 said status
    shift 2
    rm -rf "$work"/s.*
    "$strobe" record -f --no-convert -o "$work/s.strobe" -- "$@" >"$work/refuse.out" 2>"$work/refuse.err" </dev/null
    status=$?
    read_file said "$work/refuse.err"
    if ((status == 2)) && [[ $said == *"$text"*$'\n' && -z ${said#*$'\n'} && ! -e $work/s.strobe ]]; then
        pass
    else
        fail "$name: status $status: $(head -c 300 "$work/refuse.err")"
    fi
}

# summaries NAME: sets the variable NAME to the summary lines of a sanitizer in standard input, without what precedes
# them.
summaries() {
    local line found=
    while IFS= read -r line; do
        [[ $line != *'SUMMARY: '* ]] || found+="SUMMARY: ${line#*SUMMARY: }"$'\n'
    done
    printf -v "$1" %s "$found"
}

# fails_alike NAME COMMAND...: a sanitizer finds an error. The recording has the status and the summary line of a bare
# run.
fails_alike() {
    local name=$1 bare summary recorded status
    shift
    "$@" >/dev/null 2>"$work/bare.err"
    bare=$?
    summaries summary <"$work/bare.err"
    "$strobe" record -q -f --no-convert --unwind fp -o "$work/s.strobe" -- "$@" >/dev/null 2>"$work/rec.err"
    status=$?
    summaries recorded <"$work/rec.err"
    if ((status == bare)) && [[ $recorded == "$summary" ]]; then
        pass
    else
        fail "$name: status $status, bare $bare: $(head -n 1 "$work/rec.err")"
    fi
}

# ---- programs that use every signal

signals() {
    local way printed
    build signals
    for way in handled handled_raw ignored_raw blocked_raw taken_by_descriptor waited_for exchanged; do
        alike "signals_as_bare_$way" 1 "$own/signals" "$way"
    done
    run_bare "$own/signals" handled_raw
    record_alike signals_taken 1 -- "$own/signals" handled_raw
    "$strobe" report "$session" >"$work/report.txt"
    read_file printed "$work/report.txt"
    if [[ $report =~ \"signal_taken\":\ [1-9] && $printed == *'recorded by hooks only'* ]]; then
        pass
    else
        fail "signals_taken_by_the_program_are_reported: $fault"
    fi
}

# ---- cancelled threads

# Stacks are walked by frame pointers, as above.
cancelled() {
    local way variants=('--unwind fp' '--unwind fp --follow' '--unwind fp --interval 0 --metrics all'
        '--unwind fp --async-interval 100us')
    build cancelled
    for way in asleep_asynchronously computing_asynchronously in_cancellation_points outside_of_points; do
        alike "cancelled_as_bare_$way" 1 "$own/cancelled" "$way"
    done
}

tables=(ends ends_in_traces restricted refused sanitized signals cancelled)
for table in "${@:-${tables[@]}}"; do $table; done
end_suite
