#!/bin/bash
# Profiles for pprof and for the Firefox Profiler, read by readers of their own (check.py), and the first also by
# `go tool pprof`, where Go is installed. Their times are those of `strobe report`.
#
#   B=DIR tests/export/run.sh      prints `N passed, N failed, N skipped` at the end
#
# takes: 4 s
set -u
cd "$(dirname "$0")/../.." || exit 2
. tests/support/suite.sh
strobe=$B/strobe
export TMPDIR=$work
exported=()

# export_session NAME SESSION
export_session() {
    "$strobe" convert -q "$2" -o "$work/$1.pb.gz" && "$strobe" convert -q "$2" -o "$work/$1.firefox.json" &&
        "$strobe" export --jsonl "$2" -o "$work/$1.jsonl" &&
        "$strobe" report --json --top 0 "$2" >"$work/$1.report.json" || fail "$1: not exported"
    exported+=("$1")
}

for packed in fixtures/sessions/*.strobe.xz; do
    name=$(basename "$packed" .strobe.xz)
    xz -dc "$packed" >"$work/$name.strobe" || fail "$name: not unpacked"
    export_session "$name" "$work/$name.strobe"
done
"$B/strobe-lab" run fixtures/scenarios/ios_launch.scn --seed 1 -o "$work/lab" >/dev/null || fail 'not played'
export_session lab "$work/lab/session.strobe"
while read -r verdict name; do
    [[ $verdict == pass ]] && pass || fail "$name"
done < <(tests/export/check.py "$work" "${exported[@]}" 2>&1)
((passed > 100)) || fail "only $passed checks of ${exported[*]}"
while read -r verdict name; do
    [[ $verdict == pass ]] && pass || fail "$name"
done < <(tests/export/jsonl.py "$work" "${exported[@]}" 2>&1)

# ---- JSON lines of several captures

lab=$work/lab/session.strobe ordinary=$work/ordinary.strobe
check labels_are_of_the_captures_that_follow bash -c "'$strobe' export --jsonl --only capture --set app_version=1 \
    --set device='a \"b\"' '$lab' --set app_version=2 --set os=14 '$ordinary' >'$work/two.jsonl'"
check labels_are_fields python3 - "$work" <<'PYTHON'
import json, sys
lab, ordinary = map(json.loads, open(sys.argv[1] + "/two.jsonl"))
assert (lab["app_version"], lab["device"], lab["os"]) == ("1", 'a "b"', None), lab
assert (ordinary["app_version"], ordinary["device"], ordinary["os"]) == ("2", 'a "b"', "14"), ordinary
assert list(lab) == list(ordinary) and lab["capture"].endswith("lab/session.strobe")
PYTHON
"$strobe" export --jsonl --only slice,finding "$lab" -o "$work/some.jsonl"
check some_kinds_are_those_lines cmp "$work/some.jsonl" <(grep -E '^.{9}(slice|finding)"' "$work/lab.jsonl")
cat "$work/lab.jsonl" "$work/ordinary.jsonl" >"$work/joined.jsonl"
"$strobe" export --jsonl "$lab" "$ordinary" >"$work/both.jsonl"
check captures_follow_each_other cmp "$work/both.jsonl" "$work/joined.jsonl"
check a_label_is_no_field bash -c "for field in \$(python3 -c '
import json, sys
print(*{key for text in open(sys.argv[1]) for key in json.loads(text) if key not in (\"app_version\", \"device\")})
    ' '$work/both.jsonl'); do
        ! '$strobe' export --jsonl --set \$field=1 '$lab' 2>/dev/null || { echo \$field; exit 1; }
    done"
for label in =1 a 1a=1 A=1 a= "a=$(printf '%256s' x)" $'a=\n'; do
    check "a_label_is_refused" refused 2 'expected ' "$strobe" export --jsonl --set "$label" "$lab"
done
check a_label_needs_a_capture refused 2 'expected a capture after' "$strobe" export --jsonl "$lab" --set a=1
check an_export_needs_a_format refused 2 'which format' "$strobe" export "$lab"
check an_export_needs_captures refused 2 'which captures' "$strobe" export --jsonl
check an_export_of_other_kinds refused 2 'expected some of' "$strobe" export --jsonl --only slice,stack "$lab"
check a_capture_is_exported_once refused 2 'is given twice' "$strobe" export --jsonl "$lab" "$ordinary" "$lab"
check a_capture_is_not_overwritten refused 2 'is also a capture' "$strobe" export --jsonl -f "$lab" -o "$lab"
check lines_are_not_overwritten refused 2 'exists already' "$strobe" export --jsonl "$lab" -o "$work/both.jsonl"
check a_broken_capture_ends_it refused 2 "tests/export/run.sh: " \
    "$strobe" export --jsonl "$lab" tests/export/run.sh -o "$work/none.jsonl"
check nothing_of_it_is_left bash -c "! compgen -G '$work/none.jsonl*'"

# ---- several processes, parts, other inputs

mkdir "$work/folder.strobe"
cp "$work/ordinary.strobe" "$work/folder.strobe/main.strobe"
cp "$work/lab/session.strobe" "$work/folder.strobe/other.strobe"
"$strobe" convert -q "$work/folder.strobe" -o "$work/folder.firefox.json"
"$strobe" convert -q "$work/folder.strobe" -o "$work/folder.pb.gz"
check sessions_of_a_folder_are_captures bash -c "[[ \$('$strobe' export --jsonl --only capture '$work/folder.strobe' |
    grep -c '\"capture\":\"[^\"]*folder.strobe/\(main\|other\).strobe\"') == 2 ]]"
check processes_are_apart python3 - "$work" <<'PYTHON'
import gzip, json, sys
profile = json.load(open(sys.argv[1] + "/folder.firefox.json"))
assert len({thread["pid"] for thread in profile["threads"]}) == 2, "one process"
content = gzip.open(sys.argv[1] + "/folder.pb.gz").read()
assert b"process" in content and b"pid" in content, "no label"
PYTHON
"$strobe" convert -q "$work/lab/session.strobe" --from 100ms --to 200ms -o "$work/part.firefox.json"
check a_part_has_the_times_of_the_part python3 - "$work" <<'PYTHON'
import json, sys
threads = json.load(open(sys.argv[1] + "/part.firefox.json"))["threads"]
assert threads and all(99.99 < t < 200.01 for thread in threads for t in thread["samples"]["time"])
PYTHON
check formats_have_names cmp <("$strobe" convert -q "$work/lab/session.strobe" --format firefox -o -) \
    "$work/lab.firefox.json"
for ending in pb.gz firefox.json; do
    check "an_import_is_written_$ending" "$strobe" import ftrace fixtures/imports/rheatrace.ftrace -q \
        -o "$work/import.$ending"
done
check an_import_is_json python3 -m json.tool "$work/import.firefox.json"
check an_import_is_gzip gzip -t "$work/import.pb.gz"

# ---- go tool pprof

if command -v go >/dev/null; then
    export HOME=$work PPROF_TMPDIR=$work
    # The share of flat time of the hottest method, and the total, of a sample type.
    for type in cpu wall; do
        go tool pprof -top -nodecount=1 -unit=us -sample_index=$type "$work/ordinary.pb.gz" \
            >"$work/top" 2>"$work/err" || fail "go tool pprof -sample_index=$type: $(head -n 1 "$work/err")"
        check "pprof_has_the_total_of_$type" python3 - "$work" $type <<'PYTHON'
import json, re, sys
text = open(sys.argv[1] + "/top").read()
report = json.load(open(sys.argv[1] + "/ordinary.report.json"))
total = float(re.search(r"of ([0-9.]+)us total", text)[1])
wanted = {"wall": sum(t["wall_ns"] for t in report["threads"]), "cpu": sum(m["self_cpu_ns"] for m in report["methods"])}
ratio = total * 1000 / wanted[sys.argv[2]]
print(total, wanted)
assert 0.999 < ratio < (1.001 if sys.argv[2] == "wall" else 1.5)
PYTHON
    done
    check pprof_finds_nothing_wrong go tool pprof -raw "$work/lab.pb.gz"
else
    skip pprof 'go is not installed'
fi
end_suite
