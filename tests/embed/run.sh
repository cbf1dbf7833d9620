#!/bin/bash
# The capture library as part of a program, from the build tree: a program that starts, pauses and stops a capture of
# itself, a thousand captures of one program, what a second capture keeps, its children, and starts that are refused.
# tests/install does the same with the installed files.
#
# takes: 12 s
set -u
cd "$(dirname "$0")/../.." || exit 2
. tests/support/suite.sh
lib=$B/lib/libstrobe-capture.so.0
compile=(gcc -std=c11 -D_GNU_SOURCE -O2 -g -Wall -Wextra -Werror -Iengine/include -pthread)
if ! make -s HASTE="$(cat "$B/haste" 2>/dev/null)" "$lib" "$B/embed_interrupted" >"$work/make" 2>&1 ||
    ! "${compile[@]}" -o "$work/recorded" tests/install/recorded.c "$lib" "-Wl,-rpath,$B/lib" >"$work/cc" 2>&1 ||
    ! "${compile[@]}" -I. -o "$work/hooks" tests/embed/hooks.c "$lib" "-Wl,-rpath,$B/lib" >>"$work/cc" 2>&1 ||
    ! "${compile[@]}" -o "$work/again" tests/embed/again.c "$lib" "-Wl,-rpath,$B/lib" >>"$work/cc" 2>&1 ||
    ! "${compile[@]}" -o "$work/options" tests/embed/options.c "$lib" "-Wl,-rpath,$B/lib" >>"$work/cc" 2>&1 ||
    ! "${compile[@]}" -o "$work/twice" tests/embed/twice.c "$lib" "-Wl,-rpath,$B/lib" >>"$work/cc" 2>&1 ||
    ! "${compile[@]}" -o "$work/opened" tests/install/opened.c >>"$work/cc" 2>&1; then
    fail "the programs do not build: $(cat "$work/make" "$work/cc")"
    end_suite
fi

# accounted SESSION: its report has samples, and consistent accounting.
accounted() {
    "$B/strobe" report --json "$1" >"$1.json" &&
        grep -q '"balanced": true' "$1.json" && grep -q '"closed": true' "$1.json"
}

# says TEXT COMMAND...: the command prints one line, which begins with the text.
says() {
    local out
    out=$("${@:2}")
    [[ $out == "$1"* && $(wc -l <<<"$out") == 1 ]] || { echo "$out"; return 1; }
}

# counted SESSION KINDS: the file KINDS has a line `KIND COUNT` for each kind, and the report has the same counts.
counted() {
    "$B/strobe" report --json "$1" | python3 -c '
import json, sys
events = json.load(sys.stdin)["events_by_kind"]
wrong = [text for text in open(sys.argv[1]) if events[text.split()[0]]["requests"] != int(text.split()[1])]
print(*wrong)
sys.exit(wrong != [])' "$2"
}

# stacks_are_whole SESSION: those of the thread that runs `live` reach its start, for nine tenths of its time. The
# engine copies only a part of such a deep stack when it does not know the bounds.
stacks_are_whole() {
    "$B/strobe" convert -q -f --format folded "$1" -o - | python3 -c '
import sys
lines = [line.rsplit(" ", 1) for line in sys.stdin if ";descend" in line]
whole = sum(int(us) for stack, us in lines if ";live;" in stack)
every = sum(int(us) for stack, us in lines)
print(whole, "us of", every)
sys.exit(not 0 < 0.9 * every <= whole)'
}

# annotated SESSION NAME: its only annotation has this name.
annotated() {
    [[ $("$B/strobe" convert -q --format chrome "$1" -o - | grep -o '"of the [a-z]* capture"') == "\"$2\"" ]]
}

s=$work/s
for mode in '' fork child; do
    check "a program records itself $mode" "$work/recorded" "$s$mode.strobe" $mode
    check "its session is closed and accounted for $mode" accounted "$s$mode.strobe"
done
echo kept >"$s.there"
check 'a file that exists is kept' says 'exists already: ' "$work/recorded" "$s.there" exists
check 'and its content as well' grep -qx kept "$s.there"
check 'a file that cannot be made is named' says 'input/output error: ' "$work/recorded" "$work/nowhere/x" fails
check 'each wrong option is refused by name, and makes no file' "$work/options" "$work/refused"
check 'a recorded process is not captured twice' says 'exists already: the process is captured already' \
    "$B/strobe" record -q -f --no-convert -o "$s.outer" -- "$work/recorded" "$s.own" exists
check 'a library that is opened late cannot capture' says 'not supported here: ' "$work/opened" "$lib" "$s.opened"
check 'a thousand captures, one after another, do not make a program grow' "$work/again" "$s.again" 1000
check 'the last one is closed and accounted for' accounted "$s.again"
check 'a second capture asks no thread of the control server to register' \
    "$work/twice" "$s.once" "$s.twice" "strobe-embed-$$"
check 'a thread that a capture has registered has whole stacks in the next one' stacks_are_whole "$s.twice"
check 'an event that continues after the end of its capture harms no other' \
    "$B/embed_interrupted" "$s.before" "$s.after"
check 'it is an event of its own capture' annotated "$s.before" 'of the first capture'
check 'the next capture has only its own' annotated "$s.after" 'of the second capture'
mkdir "$work/files"
check 'a capture changes no result of a hooked call' bash -c '"$0" "$1" "$2" >"$3" || { cat "$3"; exit 1; }' \
    "$work/hooks" "$s.hooks" "$work/files" "$work/kinds"
check 'each hooked call is counted once' counted "$s.hooks" "$work/kinds"
end_suite
