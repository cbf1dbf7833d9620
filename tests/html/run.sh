#!/bin/bash
# Pages of `strobe report --html`, `strobe diff --html`, and `--html` of `strobe-lab run` and `strobe-lab compare`, in
# Debian's chromium, driven by playwright (check.mjs).
#
#   B=DIR tests/html/run.sh [SHOTS]     SHOTS: a directory for screenshots of the pages
#
# takes: 20 s
# alone: a page must open within a bound of real time
set -u
cd "$(dirname "$0")/../.." || exit 2
. tests/support/suite.sh
export TMPDIR=$work
strobe=$B/strobe pages=$work/pages
mkdir "$pages"
[[ -x $B/html/make_sessions ]] || make -s B="$B" "$B/html/make_sessions" || exit 2

# ---- pages

"$B/html/make_sessions" "$pages" || fail 'sessions were not made'
"$B/strobe-lab" run --runtime mach fixtures/scenarios/hang.scn -o "$work/hang" >/dev/null || fail 'not played'
for side in base slower; do
    for seed in 1 2 3; do
        "$B/strobe-lab" run tests/diff/$side.scn --seed $seed$seed -o "$work/$side-$seed" >/dev/null ||
            fail 'not played'
    done
done
check a_page_of_a_session "$strobe" report --html "$pages/hang.html" --evil-ms 200 "$work/hang/session.strobe"
check a_page_of_hostile_names "$strobe" report --html "$pages/hostile.html" "$pages/hostile.strobe"
check a_page_of_a_big_session "$strobe" report --html "$pages/big.html" "$pages/big.strobe"
check a_page_of_a_comparison "$strobe" diff --html "$pages/diff.html" \
    --base "$work"/base-?/session.strobe --new "$work"/slower-?/session.strobe
"$B/strobe-lab" run fixtures/scenarios/priority_inversion.scn --html "$pages/run.html" >"$pages/run.txt" ||
    fail "no page of a run"
refused() {
    local said
    said=$("$B/strobe-lab" run fixtures/scenarios/priority_inversion.scn "${@:2}" 2>&1)
    [[ $? == 2 && $said == *"$1"* && $(wc -l <<<"$said") == 1 ]] || { echo "$said"; return 1; }
}
check a_page_of_a_run_is_not_overwritten refused 'run.html: exists already' --html "$pages/run.html"
check a_page_of_a_run_needs_a_name refused 'expected a file name' --html ''
check a_page_of_a_run_is_of_one_seed refused 'is for one seed' --html "$pages/x.html" --seeds 1..2
check a_page_of_a_run_cannot_be_written refused 'cannot write' --html "$work/nowhere/x.html"

# The same comparison as a page with its table, and as JSON. A row of the table has its policy and 11 scores.
compared=(fixtures/scenarios/{hang,priority_inversion}.scn --policy strobe --policy sync-only --policy ideal)
"$B/strobe-lab" compare "${compared[@]}" --seeds 1..2 --html "$pages/compare.html" >"$pages/compare.txt" ||
    fail 'no page of a comparison'
"$B/strobe-lab" compare "${compared[@]}" --seeds 1..2 --json >"$pages/compare.json" || fail 'no comparison'
for seed in {1..14}; do
    "$B/strobe-lab" run --random "$seed" --size 10 --print |
        sed "s/^scenario random/&_$seed/" >"$work/random-$seed.scn"
done
"$B/strobe-lab" compare --runtime host --runtime fake30 "$work"/random-*.scn --html "$pages/wide.html" >/dev/null ||
    fail 'no page of backends'
# A player that crashes on fake ART, and a scenario whose method has a name that fake ART cannot have.
mkdir "$work/bin" && cp "$B/strobe-lab" "$work/bin"
player=$(realpath "$B/strobe-player-virtual")
printf '#!/bin/bash\ngrep -aqs java.lang "$@" && exec "%s" "$@"\nkill -SEGV $$\n' "$player" \
    >"$work/bin/${player##*/}"
chmod +x "$work/bin/${player##*/}"
scenario='duration 100ms\nimage a managed { method A.run { forever { compute 1ms; sleep 1ms } } }\n'
scenario+='thread main main run A.run\n'
printf "scenario fine \"\"\n$scenario" >"$work/fine.scn"
printf "scenario odd \"\"\n${scenario//A.run/java.lang.A.run}" >"$work/odd.scn"
"$work/bin/strobe-lab" compare --runtime host --runtime fake30 "$work"/{fine,odd}.scn --policy strobe \
    --html "$pages/cells.html" >/dev/null 2>&1
refused_compare() {
    local said
    said=$("$B/strobe-lab" compare "${compared[0]}" "${@:2}" 2>&1)
    [[ $? == 2 && $said == *"$1"* && $(wc -l <<<"$said") == 1 ]] || { echo "$said"; return 1; }
}
check a_page_of_a_comparison_is_not_overwritten refused_compare 'compare.html: exists already' \
    --html "$pages/compare.html"
check a_page_of_a_comparison_needs_a_name refused_compare 'expected a file name' --html ''
check a_page_of_a_comparison_cannot_be_written refused_compare 'cannot write' --html "$work/nowhere/x.html"
check a_page_of_a_comparison_is_overwritten_on_demand "$B/strobe-lab" compare "${compared[@]}" --seeds 1..2 \
    --html "$pages/compare.html" -f
"$strobe" report --json --top 300 "$work/hang/session.strobe" >"$pages/hang.json"

# at_most BYTES FILE
at_most() {
    (($(stat -c %s "$2") <= $1)) || { stat -c '%n: %s bytes' "$2"; return 1; }
}
check the_big_session_is_big test "$(stat -c %s "$pages/big.strobe")" -gt 100000000
check its_page_is_small at_most 5000000 "$pages/big.html"
check a_page_names_no_host bash -c '! grep -aoiE "(src|href) *= *[\"\x27]?(https?:)?//" "$1"' - "$pages/hang.html"
check a_script_is_ended_only_by_the_page test "$(grep -aoi '</script' "$pages/hostile.html" | wc -l)" == 5
check the_same_session_gives_the_same_page cmp "$pages/hang.html" \
    <("$strobe" report --html - --evil-ms 200 "$work/hang/session.strobe")

# ---- the browser

if ! command -v chromium >/dev/null; then
    skip browser 'chromium is not installed'
elif ! why=$(tests/html/fetch-playwright.sh "$B/playwright"); then
    skip browser "$why"
else
    timeout 120 node tests/html/check.mjs "$B/playwright" "$pages" ${1:+"$1"} >"$work/seen" 2>"$work/err"
    while read -r verdict name; do
        case $verdict in
        ok) pass ;;
        FAIL) fail "$name" ;;
        a) echo "a $name" ;;
        esac
    done <"$work/seen"
    grep -qE '^[0-9]+ passed' "$work/seen" || fail "the browser's checks: $(head -n 3 "$work/err" | tr '\n' ' ')"
fi
end_suite
