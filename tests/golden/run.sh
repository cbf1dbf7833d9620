#!/bin/bash
# Stored sessions and traces give the stored outputs: older formats stay readable, and no output changes by accident.
# See fixtures/sessions/README.md.
#
#   B=DIR tests/golden/run.sh [--update | --by COMMAND...]      prints `N passed, N failed` at the end
#
# --by COMMAND...: `strobe` of another processor's build, with its emulator.
set -u
cd "$(dirname "$0")/../.." || exit 2
strobe=("$(realpath "${B:-build}")/strobe")
store=$PWD/fixtures/sessions
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export LC_ALL=C.UTF-8
passed=0 failed=0

compare() {
    if cmp -s "$1" "$2"; then
        ((passed++))
    else
        ((failed++))
        echo "FAIL $(basename "$1") differs from the stored output; to accept the change: tests/golden/run.sh --update"
        diff "$1" "$2" | head -n 10 | cut -c1-150
    fi
}

# keep FILE: compares the file with the stored one, or with --update stores it.
keep() {
    if [[ $update ]]; then
        cmp -s "$1" "$store/$1" || { cp "$1" "$store/$1" && echo "updated $1"; }
    else
        compare "$store/$1" "$1"
    fi
}

update=
[[ ${1:-} == --update ]] && update=yes
[[ ${1:-} != --by ]] || strobe=("${@:2}")
cd "$work" || exit 2
for packed in "$store"/*.strobe.xz; do
    name=$(basename "$packed" .strobe.xz)
    xz -dc "$packed" >"$name.strobe" || exit 2
    for ending in folded perfetto-trace json speedscope.json pb.gz firefox.json; do
        "${strobe[@]}" convert -q -f "$name.strobe" -o "$name.$ending" || exit 2
    done
    "${strobe[@]}" report --verbose "$name.strobe" >"$name.report" 2>/dev/null || exit 2
    "${strobe[@]}" report --json "$name.strobe" >"$name.report.json" 2>/dev/null || exit 2
    gzip -dc "$name.pb.gz" >"$name.pprof" || exit 2 # versions of zlib compress differently
    sha256sum "$name.perfetto-trace" "$name.json" "$name.speedscope.json" "$name.report.json" "$name.pprof" \
        "$name.firefox.json" >"$name.sums"
    for kept in "$name.folded" "$name.report" "$name.sums"; do
        keep "$kept"
    done
done
for packed in "$store"/*.perfetto-trace.xz; do
    name=$(basename "$packed" .perfetto-trace.xz)
    xz -dc "$packed" >"$name.stored.perfetto-trace" || exit 2
    "${strobe[@]}" report "$name.stored.perfetto-trace" >"$name.trace.report" 2>/dev/null || exit 2
    keep "$name.trace.report"
done
[[ $update ]] && exit 0

printf '%d passed, %d failed\n' $passed $failed
exit $((failed > 0))
