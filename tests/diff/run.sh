#!/bin/bash
# `strobe diff` in the lab: it finds the method that differs between two scenarios, by 3 % of the time, in ten runs of
# each, and nothing in runs of one scenario. Virtual time gives the same captures on every machine.
#
#   B=DIR tests/diff/run.sh      prints `N passed, N failed, N skipped` at the end
#
# One trial; with FULL=1 a hundred (or TRIALS of them), of which 95 must call equal runs equal.
# takes: 5 s
set -u
cd "$(dirname "$0")/../.." || exit 2
. tests/support/suite.sh
strobe=$B/strobe lab=$B/strobe-lab
trials=${TRIALS:-1}
[[ -z ${FULL:-} ]] || trials=${TRIALS:-100}
export TMPDIR=$work

# play SCENARIO FIRST LAST: plays it at these seeds, and names the sessions in the array `sessions`.
play() {
    local seed
    sessions=()
    for ((seed = $2; seed <= $3; seed++)); do
        "$lab" run "tests/diff/$1.scn" --seed $seed -o "$work/$1-$seed" >/dev/null || fail "$1, seed $seed: not played"
        sessions+=("$work/$1-$seed/session.strobe")
    done
}

status_is() {
    local wanted=$1
    shift
    "$@" >"$work/out" 2>"$work/err"
    local status=$?
    ((status == wanted)) && return
    echo "status $status, expected $wanted: $(<"$work/err")"
    return 1
}

# ---- trials

equal=0 apart=0
for ((trial = 0; trial < trials; trial++)); do
    rm -rf "$work"/base-* "$work"/slower-*
    play base $((30 * trial + 1)) $((30 * trial + 10))
    base=("${sessions[@]}")
    play base $((30 * trial + 11)) $((30 * trial + 20))
    same=("${sessions[@]}")
    play slower $((30 * trial + 21)) $((30 * trial + 30))
    slower=("${sessions[@]}")
    "$strobe" diff --fail-over 0% --base "${base[@]}" --new "${same[@]}" >"$work/equal" 2>&1 && ((++equal))
    "$strobe" diff --base "${base[@]}" --new "${slower[@]}" >"$work/apart" 2>&1
    grep -q ' real  Text.measure' "$work/apart" && ((++apart))
done
echo "equal runs called equal: $equal of $trials; different ones called different: $apart of $trials"
if ((trials == 1)); then
    ((equal == 1)) && pass || fail "equal runs are called different: $(tail -n 1 "$work/equal")"
else
    ((100 * equal >= 95 * trials)) && pass || fail 'equal runs are called different in more than 5 of 100 trials'
fi
((apart == trials)) && pass || fail 'runs that differ by 3 % are called equal'

# ---- the last trial, in detail: check.py reads the JSON

"$strobe" diff --json --base "${base[@]}" --new "${slower[@]}" >"$work/apart.json"
check a_gate_fails status_is 1 "$strobe" diff --fail-over 5% --base "${base[@]}" --new "${slower[@]}"
check the_gate_names_the_method grep -q 'diff: .* changed by +1[0-9].[0-9] %: more than 5 %' "$work/err"
check a_gate_above_the_change_passes status_is 0 \
    "$strobe" diff --fail-over 90% --base "${base[@]}" --new "${slower[@]}"
check a_gate_upwards_passes_what_became_faster status_is 0 \
    "$strobe" diff --fail-over +10% --base "${slower[@]}" --new "${base[@]}"
check a_gate_in_both_directions_does_not status_is 1 \
    "$strobe" diff --fail-over 10% --base "${slower[@]}" --new "${base[@]}"

# ---- one capture a side

"$strobe" diff --json "${base[0]}" "${base[0]}" >"$work/self.json"
"$strobe" report --json "${base[0]}" >"$work/report.json"

# ---- traces, folders, stacks

"$strobe" convert -q "${base[0]}" -o "$work/base.perfetto-trace"
"$strobe" diff --json "${base[0]}" "$work/base.perfetto-trace" >"$work/trace.json"
mkdir -p "$work/folder.strobe" && cp "${base[0]}" "$work/folder.strobe/main.strobe"
"$strobe" diff --json "${base[0]}" "$work/folder.strobe" >"$work/folder.json"
"$strobe" diff --per total -o "$work/two.folded" "${base[0]}" "${slower[0]}" >/dev/null
"$strobe" convert -q "${base[0]}" -o "$work/one.folded"
while read -r verdict name; do
    [[ $verdict == pass ]] && pass || fail "$name"
done < <(tests/diff/check.py "$work" 2>&1)
"$strobe" diff -o "$work/two.svg" --by cpu "${base[0]}" "${slower[0]}" >/dev/null
check a_picture_is_whole python3 - "$work" <<'PYTHON'
import sys, xml.etree.ElementTree
svg = xml.etree.ElementTree.parse(sys.argv[1] + "/two.svg").getroot()
frames = {}
for group in svg.iter("{http://www.w3.org/2000/svg}g"):
    title, rect = group[0].text.split(":")[0], group[1].attrib
    frames.setdefault(title, (float(rect["x"]), float(rect["y"]), float(rect["width"]), rect["fill"]))
run, frame, layout, measure = (frames[n] for n in ("Ui.run", "Ui.frame", "View.layout", "Text.measure"))
assert abs(run[2] - 1180) < 0.1, "the outermost function is as wide as the picture"
for outer, inner in (run, frame), (frame, layout), (layout, measure):
    assert inner[1] == outer[1] + 17 and outer[0] <= inner[0] + 0.01
    assert inner[0] + inner[2] <= outer[0] + outer[2] + 0.01
red, green, blue = map(int, measure[3][4:-1].split(","))
assert red > green == blue, "what became slower is red"
PYTHON
check stacks_are_not_overwritten refused 2 'exists already' \
    "$strobe" diff -o "$work/two.folded" "${base[0]}" "${base[1]}"
check stacks_go_to_a_pipe status_is 0 "$strobe" diff -o - "${base[0]}" "${slower[0]}"
check a_pipe_gets_stacks_only bash -c "! grep -vE '^[^ ].* [0-9]+ [0-9]+$' '$work/out'"

# ---- bad use

check one_capture_is_too_few refused 2 'which new capture' "$strobe" diff "${base[0]}"
check no_capture_is_too_few refused 2 'which captures' "$strobe" diff
check three_captures_need_sides refused 2 'two captures, not' "$strobe" diff "${base[@]:0:3}"
check a_side_needs_captures refused 2 'which base' "$strobe" diff --new "${base[@]}"
check a_gate_needs_a_percentage refused 2 'expected a percentage' "$strobe" diff --fail-over 5 "${base[@]:0:2}"
check a_unit_must_exist refused 2 'expected second or total' "$strobe" diff --per hour "${base[@]:0:2}"
check a_weight_must_exist refused 2 'expected wall, cpu or alloc' "$strobe" diff --by colour "${base[@]:0:2}"
check a_weight_needs_stacks refused 2 'is for the stacks' "$strobe" diff --by cpu "${base[@]:0:2}"
check stacks_have_an_ending refused 2 'expected the ending' "$strobe" diff -o "$work/x.png" "${base[@]:0:2}"
check a_missing_capture_is_named refused 2 'nowhere: No such file' "$strobe" diff "${base[0]}" nowhere
check a_text_is_no_capture refused 2 'not a Strobe session or a Perfetto trace' "$strobe" diff "${base[0]}" "$0"
check a_thread_must_exist refused 2 'no thread has the name' "$strobe" diff --thread nobody "${base[@]:0:2}"
check a_thread_of_a_trace refused 2 'is a trace' "$strobe" diff --thread main "$work/base.perfetto-trace" "${base[0]}"
end_suite
