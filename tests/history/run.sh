#!/bin/bash
# `make history`: a page with a plot for each figure, which refers to no other file. Bad input is one line with file and
# place, and leaves the page as it was.
#
# takes: 3 s
set -u
cd "$(dirname "$0")/../.." || exit 2
home=$PWD
B=${B:-build}
[[ $B == /* ]] || B=$home/$B
passed=0 failed=0
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 2

# check NAME CONDITION...: counts the check; prints $said when the command CONDITION fails.
check() {
    local name=$1
    shift
    if "$@"; then
        ((passed++))
    else
        ((failed++))
        printf 'FAIL %s; exit status %s; the output:\n%s\n' "$name" "$status" "$said"
    fi
}

history() {
    said=$("$home/bench/history.py" "$@" 2>&1)
    status=$?
}

# refused TEXT...: the command printed one line with the texts, and exited with 2.
refused() {
    local text
    [[ $status == 2 && $(wc -l <<<"$said") == 1 && $said == "history: "* ]] || return 1
    for text in "$@"; do [[ $said == *"$text"* ]] || return 1; done
}

# bench NAME VALUE: writes a file as benchmark programs do (bench/table.c).
bench() {
    cat >"$1.json" <<END
{ "machine": "a machine", "rows": [
  {"what": "ring: write </script>", "unit": "ns", "reference_is": "", "measured": $2, "reference": null,
   "ratio": null, "target": 50, "verdict": "ok"},
  {"what": "not measured", "unit": "ns", "reference_is": "", "measured": null, "reference": null,
   "ratio": null, "target": null, "verdict": "skipped"}
] }
END
}

printf '/* style */' >uPlot.min.css
printf '/* script */' >uPlot.iife.min.js

bench one 20.5
bench two 7
history append all.jsonl abc1234 one.json two.json
check 'a run is a line of JSON' test "$(wc -l <all.jsonl)" = 1
bench one 21.5
history append all.jsonl def5678 one.json
history page all.jsonl page.html .
check 'a page is made of all runs' test "$status$said" = '02 plots of 2 runs in page.html'

# Prints WHAT VALUES of each plot in the page.
data_of() {
    sed -nE 's|.*id="data">(.*)</script>|\1|p' "$1" | python3 -c '
import json, sys
for f in json.load(sys.stdin)["figures"]:
    print(f["what"], f["unit"], *f["values"], *f["targets"])'
}
said=$(data_of page.html)
check 'each figure is a plot of its values and target' test "$said" = 'one: ring: write </script> ns 20.5 21.5 50 50
two: ring: write </script> ns 7 50'
check 'the text of a figure does not end the script' test "$(grep -c '</script>' page.html)" = 3
check 'the page refers to no other file' test "$(grep -ciE '(src|href) *=|@import|url\(' page.html)" = 0

cp page.html before.html
printf '{"time": 1, "commit": "a", "machine": "m", "figures": [{"what": "x", "unit": "ns", "value": "1"}]}\n' >bad.jsonl
history page bad.jsonl page.html .
check 'a value that is no number is one line' refused 'bad.jsonl:1: expected a number as value of `x`'
{ head -n 1 all.jsonl; echo '{"time": 1'; } >cut.jsonl
history page cut.jsonl page.html .
check 'a line that is cut off is one line' refused 'cut.jsonl:2: expected JSON'
: >empty.jsonl
history page empty.jsonl page.html .
check 'an empty history is one line' refused 'empty.jsonl:1: expected a line of JSON'
history page nowhere.jsonl page.html .
check 'a missing history is one line' refused 'nowhere.jsonl'
check 'a page stays as it was after bad input' cmp -s before.html page.html
echo '[]' >other.json
cp all.jsonl before.jsonl
history append all.jsonl abc other.json
check 'a file of another program is one line' refused 'other.json: expected the table of a benchmark program'
check 'and nothing is appended' cmp -s before.jsonl all.jsonl
history page
check 'wrong use is one line' refused 'expected `append'

if why=$(cd "$home" && make -s B="$B" HISTORY="$scratch/all.jsonl" OUT="$scratch/real.html" history 2>&1); then
    said=$why
    check '`make history` makes a page that holds uPlot' grep -q 'uPlot=function\|var uPlot' real.html
else
    echo "skipped: the page with uPlot, because $why"
    echo "$passed passed, $failed failed, 1 skipped"
    exit $((failed > 0))
fi
echo "$passed passed, $failed failed"
((failed == 0))
