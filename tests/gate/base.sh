#!/bin/bash
# The gate against another commit (bench/gate/base.py): a driver that is slower by about 3 % fails, and the table names
# the function. Equal trees pass. Accepted growths, wrong use, and the end by a signal.
#
# To make the drivers slower, the suite plants loops in a copy of the tree and builds what depends on them.
#
#   FULL=1   all rows; otherwise one or two for each backend, for the engine and for convert
#
# takes: 110 s
set -u
cd "$(dirname "$0")/../.." || exit 2
home=$PWD
export B=${B:-build}
unset MAKEFLAGS MFLAGS MAKELEVEL BASE
for tool in valgrind git; do
    command -v $tool >/dev/null && continue
    echo "skipped: all checks, because $tool is not installed"
    echo '0 passed, 0 failed, 1 skipped'
    exit 0
done
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export TMPDIR=$scratch/tmp
mkdir "$TMPDIR"
passed=0 failed=0

# check NAME CONDITION...: counts the check; prints $said when the command CONDITION fails.
check() {
    local name=$1
    shift
    if "$@"; then
        ((passed++))
    else
        ((failed++))
        printf 'FAIL %s; exit status %s; the output:\n%s\n' "$name" "${status:-}" "${said:-}"
    fi
}

exited() {
    [[ $status == "$1" ]]
}

says() {
    local word
    for word in "$@"; do [[ $said == *"$word"* ]] || return 1; done
}

# one_line STATUS TEXT: the gate exited with STATUS and printed one line with TEXT.
one_line() {
    exited "$1" && [[ $(wc -l <<<"$said") == 1 && $said == "gate: "*"$2"* ]]
}

# ---- slower drivers

# ROW FILE FUNCTION LOOPS: this many turns at the begin of each call make the row slower by about 3 %.
plants='
intern          engine/store/stack_table.c                   strobe_stack_intern_onto      3
ring            engine/store/ring.c                          strobe_ring_look              7
diff            engine/trace/build/path.c                    strobe_path_move_known        2
encode          engine/trace/export/sink_perfetto.c          stamp                         3
parse           sim/app/lexer.c                              sim_lexer_next                3
switch          sim/kernel/schedule.c                        sim_yield                     2
play            sim/score/sweep.c                            meter_at                      4
explore         sim/explore/machine.c                        begin_operation               5
matrix          engine/method/matrix/matrix_log.c            strobe_matrix_message_begin  30
rhea            engine/method/rhea/rhea_log.c                strobe_rhea_line              6
atrace          engine/method/rhea/art/rhea_hooks.c          on_write                     13
netease         engine/method/netease/netease_ring.c         strobe_netease_ring_put       3
embed           engine/capture/annotate.c                    strobe_section_end            5
record          engine/capture/sample.c                      publish_scope                12
calls           engine/backend/linux/preload/hooks_method.c  __cyg_profile_func_enter      2
art             engine/backend/art/hooks/events_threads.c    strobe_art_thread            11
art-netease     engine/method/netease/art/netease.c          strobe_netease_capture      105
mach            engine/backend/mach/events_threads.c         strobe_mach_thread            9
simulated       engine/watch/blame.c                         strobe_blame_before          22
convert         engine/trace/export/sink_perfetto.c          stamp                         3
convert-managed engine/trace/export/sink_perfetto.c          stamp                         3
'
few=intern,record,art,mach,convert

# copy_tree: copies sources and build, with their times, so that make builds only what the plants change.
copy_tree() {
    mkdir "$scratch/slow"
    git ls-files -co --exclude-standard -z | tar -c --null -T - --ignore-failed-read 2>/dev/null |
        tar -x -C "$scratch/slow"
    cp -a --reflink=auto "$B" "$scratch/slow/build"
}

# plant FILE FUNCTION LOOPS: makes the function begin with a loop.
plant() {
    awk -v name="$2(" -v loops="$3" '
        index($0, name) && /^[a-z]/ && !/;$/ { inside = 1 }
        { print }
        inside && /^\{/ { print "    for (volatile int i = 0; i < " loops "; i++) continue;"; inside = 0; done = 1 }
        END { exit !done }' "$home/$1" >"$scratch/planted.c" || { echo "no $2 in $1"; exit 2; }
    cp "$scratch/planted.c" "$scratch/slow/$1"
}

gate_targets() {
    PYTHONPATH=bench/gate python3 -c 'import rows; print(*("build/" + t for t in rows.TARGETS))'
}

# has_grown ROW FUNCTION: the row grew by 1.5 to 6 %, and the table names the function.
has_grown() {
    awk -v row="$1" -v name="$2" '
        /^[a-z]/ { here = $1 == row }
        here && $1 == row { grew = $NF == "GREW" && $4 + 0 >= 1.5 && $4 + 0 <= 6 }
        here && $1 == name { named = 1 }
        END { exit !(grew && named) }' <<<"$said"
}

haste=$(cat "$B/haste" 2>/dev/null)
make -s HASTE="$haste" $(gate_targets | sed "s|build/|$B/|g") >/dev/null || exit 2
copy_tree
rows=$few
[[ -z ${FULL:-} ]] || rows=$(awk 'NF { printf "%s%s", sep, $1; sep = "," }' <<<"$plants")
declare -A is_planted=()
while read -r row file function loops; do
    [[ -n $row && ,$rows, == *,$row,* && -z ${is_planted[$file$function]:-} ]] || continue
    is_planted[$file$function]=1
    plant "$file" "$function" "$loops"
done <<<"$plants"
make -s -C "$scratch/slow" B=build HASTE="$haste" $(gate_targets) >"$scratch/log" 2>&1 ||
    { cat "$scratch/log"; exit 2; }
said=$(B=$scratch/slow/build bench/gate/base.py HEAD --built "$B" --rows "$rows" 2>&1)
status=$?
check 'slower drivers fail' exited 1
while read -r row file function loops; do
    [[ -n $row && ,$rows, == *,$row,* ]] || continue
    check "a slower $row fails, and names $function" has_grown "$row" "$function"
    check "the line that accepts the growth of $row is printed" says "    Gate: $row +"
done <<<"$plants"

said=$(bench/gate/base.py HEAD --built "$B" --rows "intern,record,mach" 2>&1)
status=$?
check 'equal trees pass' exited 0
check 'equal trees need the same instructions, and the same bytes' says '+0.00 %' ', 0 failed'

# ---- a repository with two commits, whose builds are stand-ins

make_repository() {
    git init -q "$scratch/repo" && cd "$scratch/repo" || exit 2
    git config user.name tester && git config user.email tester@example.org
    mkdir -p bench engine fixtures/sessions
    cp -a "$home/bench/gate" bench/ && rm -rf bench/gate/__pycache__
    printf '__pycache__/\nbuild/\nout/\n' >.gitignore
    printf 'build/%%:\n\t@mkdir -p $(@D)\n\t@touch $(CURDIR)/build/begun; sleep 100\n' >Makefile
    git add -A && git commit -qm first && git commit -qm second --allow-empty
}

leaves_nothing() {
    [[ $(git worktree list | wc -l) == 1 && -z $(ls -A "$TMPDIR") ]]
}

make_repository
said=$(bench/gate/base.py nosuch 2>&1)
status=$?
check 'an unknown BASE is one line' one_line 2 'BASE=nosuch: expected a commit of this repository'
mkdir "$scratch/few"
ln -s "$(command -v git)" "$(command -v env)" "$scratch/few/"
ln -s "$(python3 -c 'import sys; print(sys.executable)')" "$scratch/few/python3"
said=$(PATH=$scratch/few bench/gate/base.py HEAD 2>&1)
status=$?
check 'a machine without valgrind is one line' one_line 2 'valgrind is not installed'
echo more >>Makefile
said=$(bench/gate/base.py HEAD~1 2>&1)
status=$?
check 'a changed tree is one line' one_line 2 'that are not committed, such as Makefile'
git checkout -q Makefile

for signal in INT TERM; do
    setsid bash -c 'trap - INT; exec bench/gate/base.py HEAD~1' >"$scratch/said" 2>&1 &
    gate=$!
    for ((i = 0; i < 200; i++)); do
        compgen -G "$TMPDIR/strobe-gate-*/base/build/begun" >/dev/null && break
        sleep 0.1
    done
    check "BASE is built in a worktree before SIG$signal" test "$(git worktree list | wc -l)" = 2
    kill -$signal -- -$gate
    wait $gate
    status=$? said=$(<"$scratch/said")
    check "SIG$signal ends the gate with its status" exited $((128 + $(kill -l $signal)))
    check "SIG$signal leaves no worktree and no temporary file" leaves_nothing
done

printf 'build/%%:\n\techo no compiler; false\n' >Makefile
git commit -qam third
said=$(bench/gate/base.py HEAD 2>&1)
status=$?
check 'a commit that does not build is one line' one_line 2 'BASE=HEAD does not build'
check 'and leaves no worktree' leaves_nothing

# ---- accepted growths

# judge LINE...: commits the trailers and judges a row that grew from 1,000,000 to 1,050,000 instructions.
judge() {
    local line words=()
    for line in "$@"; do words+=(--trailer "$line"); done
    git commit -q --allow-empty -m change "${words[@]}"
    said=$(PYTHONPATH=bench/gate python3 - 2>&1 <<'END'
import compare
import measure
try:
    table = compare.Table(1.0, compare.read_acceptances(".", "HEAD~1"))
except compare.BadTrailer as e:
    raise SystemExit(f"gate: {e}")
one = {("engine/store", "put"): 1000000}
two = {("engine/store", "put"): 1050000}
table.row("ring", measure.Measurement(measure.collections.Counter(one), {"trace": 10000}),
          measure.Measurement(measure.collections.Counter(two), {"trace": 10500}))
print("grown:", *table.grown)
END
    )
    status=$?
}

judge 'Other: x'
check 'a growth that no commit accepts fails' says 'grown: ring ring:engine/store ring:trace'
judge 'Gate: ring +5% a lock is taken' 'Gate: ring:trace +5.0% names are longer'
check 'accepted growths pass, with their reasons' says 'a lock is taken' 'names are longer'
check 'a row covers its directories' test "${said##*grown:}" = ''
judge 'Gate: ring +4.9% a lock is taken' 'Gate: ring:trace +5% names'
check 'a growth beyond what was accepted fails' says 'grown: ring ring:engine/store'
judge 'Gate: ring +5%'
check 'a line without a reason is one line' one_line 1 'expected `Gate: NAME +3% REASON`'
judge 'Gate: ring 5% more'
check 'a line of another form is one line' one_line 1 'expected `Gate: NAME +3% REASON`'

# tolerates OLD NEW VERDICT
tolerates() {
    [[ $(PYTHONPATH=bench/gate python3 -c "
import compare
print(compare.Table(1.0, compare.Acceptances()).judge('ring', '', $1, $2))") == "$3" ]]
}
check 'a growth of 1 % is tolerated' tolerates 1000000 1010000 ok
check 'a growth of more than 1 % is not' tolerates 1000000 1010001 GREW

echo "$passed passed, $failed failed"
((failed == 0))
