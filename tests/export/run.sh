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

# ---- several processes, parts, other inputs

mkdir "$work/folder.strobe"
cp "$work/ordinary.strobe" "$work/folder.strobe/main.strobe"
cp "$work/lab/session.strobe" "$work/folder.strobe/other.strobe"
"$strobe" convert -q "$work/folder.strobe" -o "$work/folder.firefox.json"
"$strobe" convert -q "$work/folder.strobe" -o "$work/folder.pb.gz"
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
