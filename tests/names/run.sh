#!/bin/bash
# Function names in reports of recorded programs: generated code, libraries with relative paths, threads
# that run a function of the system's libraries, and system calls.
#
#   B=DIR tests/names/run.sh      prints `N passed, N failed, N skipped` at the end
#
# takes: 14 s
set -u
cd "$(dirname "$0")/../.." || exit 2
. tests/support/suite.sh
strobe=$B/strobe
here=$PWD/tests/names
own=$B/tests/names

mkdir -p "$own"
build() {
    local name=$1
    shift
    [[ $own/$name -nt $here/${name%.so}.c ]] ||
        ${CC:-gcc} -std=c11 -D_GNU_SOURCE -O1 -g -fno-omit-frame-pointer -Wall -Wextra -Werror \
            -o "$own/$name" "$here/${name%.so}.c" "$@" || fail "$name does not build"
}
build jit
build relative
build library.so -shared -fPIC
build syscalls

# record NAME COMMAND...: records in $work; leaves NAME.strobe, NAME.txt (the report) and NAME.said (standard error).
record() {
    local name=$1
    shift
    (cd "$work" && exec "$strobe" record -f -o "$name.perfetto-trace" -- "$@") >"$work/$name.out" 2>"$work/$name.said" \
        </dev/null || fail "$name: status $?: $(cat "$work/$name.said")"
    "$strobe" report --by cpu --top 0 "$work/$name.strobe" >"$work/$name.txt" 2>&1
}

# share NAME TEXT: prints the share of CPU time, in whole percent, of all methods whose name contains the text. It
# counts self time.
share() {
    awk -v wanted="$2" '/^Methods by self/ { on = 1; next } /^Methods by incl/ { on = 0 }
        on && index($0, wanted) { found += $1 } END { print int(found) }' "$work/$1.txt"
}

# at_least PERCENT NAME TEXT: the share of the methods is PERCENT or more.
at_least() {
    local found
    found=$(share "$2" "$3")
    if ((found >= $1)); then pass; else fail "$2: $3 has $found % of the CPU time, expected at least $1"; fi
}

# as_it_says NAME TEXT: the share of the methods is the one the program printed. The program counts the time of the
# engine's handlers as its own loop's.
as_it_says() {
    local found truth
    found=$(share "$1" "$2") truth=$(<"$work/$1.out")
    if ((found >= truth - 10 && found <= truth + 4)); then pass
    else fail "$1: $2 has $found % of the CPU time, and the program says $truth %"; fi
}

said() {
    if grep -Eq "$2" "$work/$1"; then pass; else fail "$1: no line matches: $2"; fi
}

unsaid() {
    if grep -Eq "$2" "$work/$1"; then fail "$1: $(grep -E -m 1 "$2" "$work/$1")"; else pass; fi
}

# ---- generated code

record map "$own/jit" map
at_least 35 map 'loop one  [jit]'
at_least 35 map 'loop two  [jit]'
unsaid map.txt 'what stood here before|generated code without names'
said map.said 'perf-[0-9]+\.map:2: expected a name of generated code \(1 such places'
rm -f "/tmp/perf-$(sed -n 's/^process \([0-9]*\),.*/\1/p' "$work/map.txt").map"

# `strobe symbolize --jit` adds names after the recording.
echo '1000 7ffffffff000 whatever is there' >"$work/late.map"
if "$strobe" symbolize --jit "$work/late.map" "$work/map.strobe" -o "$work/late.strobe" 2>"$work/late.said"; then
    "$strobe" report --by cpu "$work/late.strobe" >"$work/late.txt" 2>&1
    at_least 80 late 'whatever is there  [jit]'
    unsaid late.txt 'loop one'
else
    fail "symbolize --jit: $(cat "$work/late.said")"
fi
echo '1 2 nothing' >"$work/none.map"
"$strobe" symbolize --jit "$work/none.map" "$work/map.strobe" -o "$work/not.strobe" 2>"$work/not.said"
if [[ $? == 2 && ! -e $work/not.strobe ]]; then pass
else fail "a list without a name for the session is not refused"; fi

record dump "$own/jit" dump
at_least 35 dump 'first tenant  [jit]'
at_least 35 dump 'second tenant  [jit]'

# The jitdump file is in another directory. Strobe finds it by the program's mapping of it.
mkdir "$work/elsewhere"
record mapped sh -c "cd elsewhere && exec $own/jit dump"
at_least 35 mapped 'second tenant  [jit]'

# Programs beside it on the processors do not change the share.
busy=()
for ((i = 0; i < 2 * $(nproc); i++)); do
    while :; do :; done &
    busy+=($!)
done
record none "$own/jit" none
kill "${busy[@]}"
said none.txt '[0-9.]+ ms \(([89][0-9]\.[0-9]|100\.0) %\) are in generated code without names; .*--perf-basic-prof'

cat >"$work/hot.js" <<'EOF'
function digest(n) { let h = 7; for (let i = 0; i < n; i++) h = (h * 31 + i) | 0; return h; }
let sum = 0;
const ticks = () => require('fs').readFileSync(`/proc/self/task/${process.pid}/stat`, 'utf8').split(') ')[1].split(' ');
const begin = ticks();
const end = process.cpuUsage().user + 3e6;
while (process.cpuUsage().user < end) for (let i = 0; i < 100; i++) sum += digest(10000);
const [user, system] = ticks().slice(11).map(Number);
console.log(Math.round((user - begin[11]) * 100 / (user + system)));
EOF
if command -v node >/dev/null; then
    # The program prints the loop's share of its CPU time: on a busy machine node's start and the kernel take more.
    # The option keeps digest from being inlined.
    node=(node --max-inlined-bytecode-size=0)
    record node "${node[@]}" --perf-basic-prof hot.js
    as_it_says node 'hot.js'
    at_least 20 node 'JS:*digest'
    unsaid node.txt 'generated code without names'
    rm -f "/tmp/perf-$(sed -n 's/^process \([0-9]*\),.*/\1/p' "$work/node.txt").map"
    record nodedump "${node[@]}" --perf-prof hot.js
    as_it_says nodedump 'hot.js'
    at_least 20 nodedump 'JS:*digest'
    rm -f "/tmp/perf-$(sed -n 's/^process \([0-9]*\),.*/\1/p' "$work/nodedump.txt").map"
else
    skip 'generated code of node' 'node is not installed'
fi

# ---- libraries

cp "$own/library.so" "$work/library.so"
record relative "$own/relative" ./library.so
at_least 80 relative compute_in_library
unsaid relative.said 'missing'
record searched env LD_LIBRARY_PATH=. "$own/relative" library.so
at_least 80 searched compute_in_library

rm "$work/library.so"
"$strobe" convert -f "$work/relative.strobe" -o "$work/relative.folded" 2>"$work/gone"
said gone 'library\.so is missing or has changed since the recording: its functions have no names'

# ---- threads in libraries of the system

# The workers of xz are functions of liblzma, which the engine calls, too. The engine starts them for the program.
seq 1 400000 >"$work/numbers"
record workers xz -T2 -2 --block-size=1MiB -kc "$work/numbers"
at_least 40 workers '  [liblzma.so'
# The engine's library is loaded by a link when its path has a colon, and the link is gone afterwards. Its functions are
# left out, so nothing is said of it.
mkdir "$work/with: colon"
cp "$strobe" "$B/libstrobe-preload.so" "$work/with: colon"
"$work/with: colon/strobe" record -f -o "$work/linked.folded" -- xz -T2 -1kc "$work/numbers" 2>"$work/linked" >/dev/null
unsaid linked 'missing'

# ---- system calls

# no_calls NAME: computing code is not shown as a system call. A few ticks may hit real system calls of the C library at
# the program's start or end.
no_calls() {
    local found=$(($(share "$1" '[syscall]') + $(share "$1" '[syscall ')))
    if ((found <= 2)); then pass; else fail "$1: system calls have $found % of the CPU time, expected at most 2"; fi
}

record direct "$own/syscalls" direct
in_call=$(share direct '[syscall getpid]') outside=$(share direct call_directly)
if ((in_call > 2 * outside && in_call >= 10)); then
    pass
else
    fail "direct: $in_call % in [syscall getpid], $outside % outside"
fi
record library "$own/syscalls" library
at_least 10 library '[syscall]'
if (($(share library '[syscall]') > 2 * $(share library call_by_library))); then
    pass
else
    fail "library: $(grep -E 'call_by_library|\[syscall\]' "$work/library.txt" | head -n 2)"
fi
record random "$own/syscalls" random
no_calls random
record compute "$own/syscalls" compute
at_least 50 compute 'compute  ['
no_calls compute

end_suite
