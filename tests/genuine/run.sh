#!/bin/bash
# Programs of other projects read the traces: Perfetto's trace processor, a validator of speedscope's schema, and protoc
# as an independent reader of the wire format. Their results are compared with the counts of the writer.
#
# takes: 40 s
set -u
cd "$(dirname "$0")/../.." || exit 2
export B=${B:-build}
unset MAKEFLAGS MFLAGS MAKELEVEL
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
passed=0 failed=0 skipped=0

fail() {
    echo "FAIL $1"
    ((failed++))
}

skip() {
    echo "SKIPPED $1: $2"
    ((skipped++))
}

# check COMMAND...: runs a program that prints one line `ok ...` or `FAIL ...` per check, and adds them up. A program
# that checks nothing, or fails without a line FAIL, counts as a failure.
check() {
    local out status ok bad
    out=$("$@" 2>&1)
    status=$?
    echo "$out"
    ok=$(grep -c '^ok ' <<<"$out") bad=$(grep -c '^FAIL ' <<<"$out")
    ((passed += ok, failed += bad))
    ((ok == 0 || (status != 0 && bad == 0))) && fail "$* ended with status $status"
}

make -s "$B/genuine/make_traces" >/dev/null || exit 1
mkdir "$scratch/art11"
# Real programs, besides the generated sessions: with threads, and with all metrics of each event.
recorded=()
record() {
    local name=$1
    shift
    if "$B/strobe" record -q --no-convert -o "$scratch/$name.strobe" "$@" >/dev/null 2>&1; then
        recorded+=("$name")
    else
        fail "record $name"
    fi
}
seq 1 100000 >"$scratch/numbers"
seq 1 20000 >"$scratch/lines"   # to be sorted, which takes 0.1 s
record xz -- xz -T2 -2 --block-size=128KiB -c "$scratch/numbers"
record sort --interval 0 --metrics all -- sort -R --parallel=2 "$scratch/lines"
# A program that is built with -finstrument-functions and counts its calls.
instrumented=(-O1 -g -w -finstrument-functions)
"${CC:-gcc}" "${instrumented[@]}" -o "$scratch/calls-program" tests/record/calls.c -pthread -ldl &&
    "${CC:-gcc}" "${instrumented[@]}" -shared -fPIC -o "$scratch/libcalls.so" tests/record/calls_library.c &&
    "$B/strobe" record -q --method -o "$scratch/counted.perfetto-trace" -- \
        "$scratch/calls-program" "$scratch/libcalls.so" 0 >"$scratch/counted.out" || fail 'record --method'
# Two processes in separate traces, and a process with its children in one trace. One child runs another program after
# an exec, so two processes have its pid.
"$B/strobe" record -q -o "$scratch/one.pftrace" -- sort -R "$scratch/lines" >/dev/null 2>&1 &&
    "$B/strobe" record -q -o "$scratch/other.pftrace" -- sort -n "$scratch/numbers" >/dev/null 2>&1 &&
    "$B/strobe" record -q --follow -o "$scratch/family.pftrace" -- \
        bash -c 'for i in 1 2 3 4; do sort -R "$0" | head -n 1; done
            (for ((i = 0; i < 200000; i++)); do :; done; exec sort -R "$0"); :' "$scratch/lines" >/dev/null 2>&1 ||
    fail 'record of traces to be joined'
# Two recordings with one pid: each simulated process has the pid 1.
for seed in 7 8; do
    "$B/strobe-lab" run fixtures/scenarios/hang.scn --seed $seed -o "$scratch/lab$seed" >/dev/null 2>&1 ||
        fail "strobe-lab run --seed $seed"
done
# Scheduling: by tracepoints where these are allowed, else by switch records.
"${CC:-gcc}" -O1 -w -D_GNU_SOURCE -o "$scratch/turns" tests/sched/turns.c -pthread
mounted=(unshare --mount bash -c 'mount -t tracefs none /sys/kernel/tracing && exec "$@"' -)
"${mounted[@]}" true 2>/dev/null || mounted=()
sched=()
if ! "${mounted[@]}" "$B/strobe" record --sched -q --no-convert -o "$scratch/sched.strobe" -- "$scratch/turns" turns \
    >"$scratch/sched.out" 2>"$scratch/sched.err"; then
    fail "record --sched: $(<"$scratch/sched.err")"
elif [[ -s $scratch/sched.err ]]; then
    skip 'scheduling of a session' 'the kernel refuses perf events'
else
    bash -c 'for ((i = 0; i < 20; i++)); do echo && sleep 0.01; done' |
        "${mounted[@]}" "$B/strobe" record --sched -q --no-convert -o "$scratch/fed.strobe" -- head -n 20 >/dev/null
    sched=(-- check_sched.mjs "$B/trace-processor" "$B/strobe" "$scratch" "$scratch/sched.strobe" "$scratch/sched.out"
        "$scratch/fed.strobe")
fi
family=$(find "$scratch/family.strobe" -type f -name '*.strobe' | wc -l)
record calls --method -- "$scratch/calls-program" "$scratch/libcalls.so" 1 few

if ! "$B/genuine/make_traces" "$scratch" "${recorded[@]}" >"$scratch/wrote.json"; then
    echo 'FAIL make_traces'
    echo '0 passed, 1 failed'
    exit 1
fi

. tests/support/node.sh

if ! command -v node >/dev/null; then
    skip 'trace processor' 'node is not installed'
elif ! why=$(tests/genuine/fetch-trace-processor.sh "$B/trace-processor"); then
    skip 'trace processor' "$why"
else
    tp=$B/trace-processor
    programs=(check_trace.mjs "$tp" "$scratch/wrote.json"
        -- check_calls.mjs "$tp" "$scratch/counted.perfetto-trace" "$scratch/counted.out"
        -- check_import.mjs "$tp" "$B/strobe" fixtures/imports "$scratch"
        -- check_joined.mjs "$tp" "$scratch/one.pftrace" "$scratch/other.pftrace" "$scratch/family.pftrace" "$family"
        -- check_merge.mjs "$tp" "$B/strobe" "$scratch" "$scratch/one.strobe" "$scratch/other.strobe"
        "$scratch"/lab{7,8}/session.strobe
        "${sched[@]}"
        -- bad_traces.mjs "$tp")
    # A trace of a genuine Android runtime, in which the album scenario runs as Java methods.
    if "$B/strobe" run --runtime art11 fixtures/scenarios/album.scn -o "$scratch/art11" >/dev/null 2>"$scratch/why" &&
        "$B/strobe" convert "$scratch/art11/session.strobe" -o "$scratch/art11/java.pftrace" 2>"$scratch/why"; then
        programs+=(-- check_runtime.mjs "$tp" "$scratch/art11/java.pftrace")
    elif grep -q 'not installed' "$scratch/why"; then
        skip 'a trace of a genuine Android runtime' "$(head -n 1 "$scratch/why")"
    else
        fail "a trace of a genuine Android runtime: $(head -n 1 "$scratch/why")"
    fi
    check "${node[@]}" tests/genuine/together.mjs "${programs[@]}"
fi

if ! command -v node >/dev/null; then
    skip 'speedscope schema' 'node is not installed'
elif ! why=$(tests/genuine/fetch-speedscope.sh "$B/speedscope"); then
    skip 'speedscope schema' "$why"
else
    check "${node[@]}" tests/genuine/check_speedscope.mjs "$B/speedscope" "$scratch/wrote.json"
fi

if ! command -v protoc >/dev/null; then
    skip 'protoc --decode_raw' 'protoc is not installed'
else
    for trace in "$scratch"/*.perfetto-trace; do
        name="protoc reads $(basename "$trace")"
        if protoc --decode_raw <"$trace" >"$scratch/decoded" 2>&1 && grep -q '^1 {' "$scratch/decoded"; then
            echo "ok $name" && ((passed++))
        else
            fail "$name"
        fi
    done
    head -c -1 "$scratch/ordinary.perfetto-trace" >"$scratch/cut"
    if protoc --decode_raw <"$scratch/cut" >/dev/null 2>&1; then
        fail 'protoc sees a cut file'
    else
        echo 'ok protoc sees a cut file' && ((passed++))
    fi
fi

# smali takes nine seconds, so this runs only in the nightly run.
if [[ -z ${FULL:-} ]]; then
    :
elif ! command -v smali >/dev/null; then
    skip 'rebuilding the dex files' 'smali is not installed'
elif ! tests/genuine/boot/make-dex "$scratch/dex" >/dev/null; then
    fail 'make-dex'
else
    for dex in fixtures/art/*.dex; do
        name="$dex is what its sources make"
        cmp -s "$dex" "$scratch/dex/${dex##*/}" && echo "ok $name" && ((++passed)) || fail "$name"
    done
fi

if ! type ld64.lld-14 dsymutil-14 llvm-lipo-14 &>/dev/null; then
    skip 'rebuilding the Mach-O files' 'ld64.lld-14, dsymutil-14 or llvm-lipo-14 is not installed'
else
    name='fixtures/macho/macho.tar.xz is what its source makes'
    fixtures/macho/make.sh "$scratch/macho" >/dev/null 2>&1
    mkdir -p "$scratch/kept" && tar -xJf fixtures/macho/macho.tar.xz -C "$scratch/kept"
    same=$(cd "$scratch/kept" && find . -type f -exec cmp {} ../macho/{} \; 2>&1)
    [[ -z $same ]] && echo "ok $name" && ((++passed)) || fail "$name: $same"
fi

echo "$passed passed, $failed failed, $skipped skipped"
((failed == 0))
