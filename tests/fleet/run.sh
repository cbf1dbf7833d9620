#!/bin/bash
# A data base compares many captures of the lab: DuckDB reads the JSON lines of `strobe export`, writes Parquet,
# and finds the 95th percentile of the cold start of two versions, and the method whose time grew most. The results are
# those of a reader of the same lines in Python, and the method is the one that `strobe diff` finds.
#
#   B=DIR tests/fleet/run.sh      prints `N passed, N failed, N skipped` at the end
#
# CAPTURES is the number of captures (200; with FULL=1 1000).
# takes: 10 s
set -u
cd "$(dirname "$0")/../.." || exit 2
. tests/support/suite.sh
captures=${CAPTURES:-$([[ ${FULL:-} ]] && echo 1000 || echo 200)}
duckdb=$B/duckdb
lines=$work/captures.jsonl

# play VERSION SCENARIO FIRST LAST: plays it at these seeds; the sessions are $work/VERSION/SEED/session.strobe.
play() {
    seq "$3" "$4" | xargs -P "$(nproc)" -I SEED "$B/strobe-lab" run "tests/fleet/$2.scn" --seed SEED \
        -o "$work/$1/SEED" >"$work/played" 2>&1 || fail "$2: not played: $(tail -n 1 "$work/played")"
}

play 1.0 old 1 $((captures / 2))
play 1.1 new $((captures / 2 + 1)) "$captures"
export_all() {
    "$B/strobe" export --jsonl --only capture,slice,finding "$@" \
        --set app_version=1.0 "$work"/1.0/*/session.strobe --set app_version=1.1 "$work"/1.1/*/session.strobe
}
check all_are_exported export_all -o "$lines"
check the_lines_are_the_same_again cmp "$lines" <(export_all)
check memory_does_not_grow_with_the_captures python3 - "$B/strobe" "$work" <<'PYTHON'
import glob, os, subprocess, sys
strobe, work = sys.argv[1:]
paths = sorted(glob.glob(work + "/1.0/*/session.strobe"))
def peak(some):
    process = subprocess.Popen([strobe, "export", "--jsonl", *some], stdout=subprocess.DEVNULL)
    return os.wait4(process.pid, 0)[2].ru_maxrss
few, many = peak(paths[:5]), peak(paths)
print(f"{few} KB for 5 captures, {many} KB for {len(paths)}")
assert many < 1.2 * few
PYTHON

if reason=$(tests/fleet/fetch-duckdb.sh "$duckdb"); then
    cp tests/fleet/cold_start.sql "$work"
    check duckdb_answers bash -c "cd '$work' && node '$PWD/tests/fleet/query.mjs' '$duckdb' cold_start.sql"
    cat "$work/cold_start.csv" "$work/grown.csv"
    check parquet_is_written bash -c "[[ \$(head -c 4 '$work/captures.parquet') == PAR1 ]]"
    "$B/strobe" diff --json --per total --base "$work"/1.0/*/session.strobe --new "$work"/1.1/*/session.strobe \
        >"$work/diff.json"
    while read -r verdict name; do
        [[ $verdict == pass ]] && pass || fail "$name"
    done < <(tests/fleet/check.py "$work" "$captures" 2>&1)
    check the_documents_have_the_query python3 - <<'PYTHON'
query = open("tests/fleet/cold_start.sql").read().split("\n")
assert "\n".join("    " + line if line else "" for line in query) in open("engine/trace/README.md").read()
PYTHON
else
    skip duckdb "$reason"
fi
end_suite
