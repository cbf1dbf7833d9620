#!/bin/bash
# tests/run adds up the counts of suites, judges skips and temporary files, and reports each kind of failure. .ci/run
# adds up the counts of stages.
#
# takes: 20 s
set -u
cd "$(dirname "$0")/../.." || exit 2
passed=0 failed=0
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export LIMIT=2 LOGS=$dir/log SKIPS=$dir/list
unset WRAP JOBS CI
mkdir "$dir/tmp"
export TMPDIR=$dir/tmp
cat >"$SKIPS" <<'LIST'
# a comment
*good: no perf* | true | perf is a package
*good: no gdb* | ! command -v bash | a machine without bash has no gdb
*skips: a_test_* | [[ $B == */tmp.* ]] | depends on the build
LIST

# script NAME TEXT: makes a suite that is a script.
script() {
    mkdir -p "$dir/$1"
    printf '#!/bin/bash\n%s\n' "$2" >"$dir/$1/run.sh"
    chmod +x "$dir/$1/run.sh"
}

# program NAME TEXT: makes a suite that prints as a CMocka program does.
program() {
    mkdir -p "$(dirname "$dir/$1")"
    printf '#!/bin/bash\n%s\n' "$2" >"$dir/$1"
    chmod +x "$dir/$1"
}

# expect NAME STATUS LAST-LINE SUITE...: tests/run exits with STATUS for these suites, and prints LAST-LINE last.
expect() {
    local name=$1 want_status=$2 want=$3 got status
    shift 3
    got=$(B=$dir tests/run "${@/#/$dir/}" 2>&1)
    status=$?
    if [[ $status == "$want_status" && $(tail -n 1 <<<"$got") == "$want" ]]; then
        ((passed++))
    else
        ((failed++))
        printf 'FAIL %s: status %s, output:\n%s\n' "$name" "$status" "$got"
    fi
    last=$got
}

# says NAME TEXT: the last output contains TEXT.
says() {
    if [[ $last == *"$2"* ]]; then
        ((passed++))
    else
        ((failed++))
        printf 'FAIL %s: not in:\n%s\n' "$1" "$last"
    fi
}

script good 'echo "3 passed, 0 failed, 2 skipped"; echo "skipped: no perf"; echo "SKIP no perf, again"'
script old 'echo "9 passed, 9 failed"; echo "4 passed, 0 failed"'
script bad 'echo "FAIL x"; echo "2 passed, 1 failed"; exit 1'
script mute 'exit 0'
script liar 'echo "5 passed, 0 failed"; exit 7'
script dies 'echo "5 passed, 0 failed"; kill -SEGV $$'
script hangs 'echo "5 passed, 0 failed"; sleep 60'
program groups 'echo "[  PASSED  ] 4 test(s)."; echo "[  PASSED  ] 6 test(s)."'
program broken 'echo "[  PASSED  ] 4 test(s)."; echo "[  FAILED  ] 2 test(s), listed below:"; exit 2'
program skips 'echo "[  PASSED  ] 1 test(s)."; echo "[  SKIPPED ] 2 test(s), listed below:"
    for i in 1 2; do echo "[  SKIPPED ] a_test_of_one"; echo "[  SKIPPED ] a_test_of_another"; done'

expect 'adds up the counts of suites' 0 '17 passed, 0 failed, 2 skipped' good/run.sh old/run.sh groups
says 'prints the reason of a skipped test' 'SKIP no perf, again'
script counted 'echo "$2 passed, 0 failed"'
expect 'a script may have arguments' 0 '7 passed, 0 failed, 0 skipped' 'counted/run.sh these 7'
expect 'counts failures of a script' 1 '5 passed, 1 failed, 2 skipped' good/run.sh bad/run.sh
says 'prints the command that repeats a failed script' "repeat with: B=$dir $dir/bad/run.sh"
expect 'counts failures of a program' 1 '4 passed, 2 failed, 0 skipped' broken
says 'prints the command that repeats a failed program' "repeat with: $dir/broken"
expect 'counts skipped tests of a program' 0 '1 passed, 0 failed, 2 skipped' skips
expect 'a suite that counts nothing has failed' 1 '0 passed, 1 failed, 0 skipped' mute/run.sh
expect 'a bad exit status is a failure' 1 '5 passed, 1 failed, 0 skipped' liar/run.sh
expect 'a crash is a failure' 1 '5 passed, 1 failed, 0 skipped' dies/run.sh
expect 'a hang is a failure' 1 '5 passed, 1 failed, 0 skipped' hangs/run.sh
expect 'a missing suite is a failure' 1 '0 passed, 1 failed, 0 skipped' nowhere
expect 'a failure does not hide later suites' 1 '10 passed, 1 failed, 0 skipped' mute/run.sh groups

script makes 'echo "HASTE=$HASTE"; [[ $HASTE == "$(<"$B/haste")" ]] && echo "1 passed, 0 failed"'
echo yes >"$dir/haste"
expect 'a suite gets the HASTE of the build, so that its make builds nothing again' 0 '1 passed, 0 failed, 0 skipped' \
    makes/run.sh
echo >"$dir/haste"
HASTE=yes expect 'also when the environment has another one' 0 '1 passed, 0 failed, 0 skipped' makes/run.sh
rm "$dir/haste"

# ---- skips

script absent 'echo "SKIP no gdb: it is not here"; echo "3 passed, 0 failed, 1 skipped"'
cp -r "$dir/absent" "$dir/good2" && mkdir "$dir/a" && mv "$dir/good2" "$dir/a/good"
script silent 'echo "skip one"; echo "3 passed, 0 failed, 2 skipped"'
CI=true expect 'skips that the list allows pass' 0 '4 passed, 0 failed, 4 skipped' good/run.sh skips
CI=true expect 'a skip that is not on the list fails' 1 '3 passed, 1 failed, 0 skipped' absent/run.sh
says 'such a skip is printed' 'SKIP no gdb: it is not here (not allowed by'
CI=true expect 'a skip whose condition does not hold fails' 1 '3 passed, 1 failed, 0 skipped' a/good/run.sh
CI=true expect 'a skip that no line names fails' 1 '3 passed, 2 failed, 0 skipped' silent/run.sh
expect 'elsewhere a skip that is not on the list is reported only' 0 '3 passed, 0 failed, 1 skipped' absent/run.sh
says 'and is marked' 'SKIP no gdb: it is not here (not allowed by'

# Each entry of the tree's list has three columns, and names suites, stages or tests that exist.
last=
while IFS='|' read -r test condition reason; do
    [[ -n $test && $test != '#'* ]] || continue
    [[ $condition == *[!\ ]* && $reason == *[!\ ]* && $reason != *'|'* ]] || last+="not three columns: $test; "
    bash -n -c "$condition" 2>/dev/null || last+="no command: $condition; "
    test=${test%"${test##*[! ]}"} suite=${test%%:*}
    [[ $suite == '*' || -e tests/$suite.c || -e tests/$suite/run.sh || -e tests/$suite.sh ]] ||
        grep -qE "^$suite +\|" .ci/run || last+="no $suite; "
    name=${test#*: } name=${name%% \*} name=${name%%_\**} name=${name%\*} name=${name#\*} name=${name##*\* }
    [[ $suite != */test_* ]] || grep -qF -- "$name" "tests/$suite.c" || last+="no $name in $suite; "
done <tests/skips
last="faults: ${last:-none}"
says 'the entries of tests/skips are whole and name what exists' 'faults: none'

# So has each entry of tests/nightly. Its lanes are nightly stages. A lane without stage in a pull request is listed.
last= nightly=$(.ci/run --nightly --list | sed -nE 's/^([a-z-]+) .*/\1/p') usual=$(.ci/run --list)
while IFS='|' read -r test reason; do
    [[ -n $test && $test != '#'* ]] || continue
    lane=${test%%:*} test=${test#*: } test=${test%"${test##*[! ]}"}
    [[ $reason == *[!\ ]* && $reason != *'|'* ]] || last+="not two columns: $lane: $test; "
    grep -qx "$lane" <<<"$nightly" || last+="no nightly stage: $lane; "
    if [[ $test == '*' ]]; then
        ! grep -qE "^$lane +\|" <<<"$usual" || last+="a stage of a pull request: $lane; "
    else
        [[ $test == *% ]] && files=${test//%/*} || files=$test.c
        compgen -G "tests/$files" >/dev/null || last+="no program: $test; "
    fi
done <tests/nightly
for lane in asan-clang tsan-clang helgrind; do grep -q "^$lane: \* |" tests/nightly || last+="not listed: $lane; "; done
last="faults: ${last:-none}"
says 'the entries of tests/nightly are whole and name what exists' 'faults: none'

# ---- temporary files

# The temporary directory of this suite has no file left.
nothing_is_left() {
    last="left: $(ls -A "$TMPDIR")."
    says "$1" 'left: .'
}
script clean 'mkdir "$TMPDIR/a" && rmdir "$TMPDIR/a" && echo "1 passed, 0 failed"'
script litters 'touch "$TMPDIR/a.so" && echo "1 passed, 0 failed"'
script shuts 'mkdir -p "$TMPDIR/a/b"; touch "$TMPDIR/a/b/c"; chmod 0 "$TMPDIR/a"; sleep 60'
script reads 'setpriv --reuid=65534 --clear-groups touch "$TMPDIR/a" && rm "$TMPDIR/a" && echo "1 passed, 0 failed"'
expect 'a suite may use its temporary directory' 0 '1 passed, 0 failed, 0 skipped' clean/run.sh
expect 'a suite that leaves temporary files fails' 1 '1 passed, 1 failed, 0 skipped' litters/run.sh
says 'the files are named' '(left in TMPDIR: a.so)'
nothing_is_left 'the runner removes what a suite leaves'
expect 'a suite is killed at its limit' 1 '0 passed, 1 failed, 0 skipped' shuts/run.sh
nothing_is_left 'the runner removes what a killed suite leaves'
if (($(id -u) == 0)); then
    chmod 755 "$dir" "$TMPDIR"
    expect 'other users reach the temporary directory' 0 '1 passed, 0 failed, 0 skipped' reads/run.sh
fi

# ---- side by side

# Each of two suites waits until the other has started.
for pair in 'here there' 'there here'; do
    read -r one other <<<"$pair"
    script "$one" "touch $dir/$one.begun; until [[ -e $dir/$other.begun ]]; do sleep 0.01; done
        echo '1 passed, 0 failed'"
done
JOBS=2 expect 'two at a time with JOBS=2' 0 '2 passed, 0 failed, 0 skipped' here/run.sh there/run.sh
rm "$dir"/*.begun
JOBS=1 expect 'one at a time with JOBS=1' 1 '1 passed, 1 failed, 0 skipped' here/run.sh there/run.sh

# Each suite marks its run with a file. A suite with `alone:` fails when another suite runs at the same time.
company="touch $dir/\$\$.runs; sleep 0.1; alone=\$(ls $dir/*.runs | wc -l); sleep 0.1; rm $dir/\$\$.runs"
script crowd1 "$company; echo '1 passed, 0 failed'"
script crowd2 "$company; echo '1 passed, 0 failed'"
script hermit1 "# alone: it says so
$company; ((alone == 1)) && echo '1 passed, 0 failed'"
script hermit2 "# alone: it says so, too
$company; ((alone == 1)) && echo '1 passed, 0 failed'"
program tests/unit/linux/test_suspend "$company; ((alone == 1)) && echo '[  PASSED  ] 1 test(s).'"
JOBS=4 expect 'a suite with alone: runs by itself' 0 '5 passed, 0 failed, 0 skipped' \
    hermit1/run.sh crowd1/run.sh tests/unit/linux/test_suspend hermit2/run.sh crowd2/run.sh

# Suites with `takes:` start before others, and scripts before programs.
for name in soon:0 long:30 longer:120; do
    text=
    [[ $name == soon:* ]] || text="# takes: ${name#*:} s, so it says"
    script "${name%:*}" "$text
echo ${name%:*} >>$dir/order; echo '1 passed, 0 failed'"
done
program tests/unit/base/test_base "echo program >>$dir/order; echo '[  PASSED  ] 1 test(s).'"
JOBS=1 expect 'the longest suites start first' 0 '4 passed, 0 failed, 0 skipped' \
    tests/unit/base/test_base soon/run.sh long/run.sh longer/run.sh
last=$(tr '\n' ' ' <"$dir/order")
says 'suites start in the order of takes:' 'longer long soon program '

chatty=()
for i in {1..8}; do
    script "chatty$i" "for line in {1..20}; do echo chatty$i; done; echo '0 passed, 1 failed'; exit 1"
    chatty+=("chatty$i/run.sh")
done
JOBS=8 expect 'each failure is counted once' 1 '0 passed, 8 failed, 0 skipped' "${chatty[@]}"
last=$(grep -o '| chatty[0-9]' <<<"$last" | uniq -c | awk '{ print $1 }' | tr '\n' ' ')
says 'the output of a suite is not mixed with that of others' '20 20 20 20 20 20 20 20'

many=()
for i in {1..200}; do
    program "quick$i" 'echo "[  PASSED  ] 10 test(s)."'
    many+=("quick$i")
done
JOBS=16 expect 'each suite is counted, however fast suites end' 0 '2000 passed, 0 failed, 0 skipped' "${many[@]}"

deaths=()
for i in {1..20}; do
    script "dies$i" 'kill -SEGV $$'
    deaths+=("dies$i/run.sh")
done
JOBS=3 expect 'each suite that dies of a signal is counted' 1 '0 passed, 20 failed, 0 skipped' "${deaths[@]}"

script interrupted 'echo "5 passed, 0 failed"; kill -INT $$; echo "6 passed, 0 failed"'
expect 'an interrupted suite ends as without tests/run' 1 '5 passed, 1 failed, 0 skipped' interrupted/run.sh
JOBS=none expect 'an invalid number of jobs is refused' 2 \
    'tests/run: JOBS=none: expected a number of suites, 1 or more' groups

script stays "touch \"\$TMPDIR/a\"; trap 'touch \"\$TMPDIR/b\"; sleep 0.3; exit' TERM
echo \$\$ >$dir/stays.pid; sleep 60 & wait"
B=$dir LIMIT=60 tests/run "$dir/stays/run.sh" >/dev/null 2>&1 &
until [[ -s $dir/stays.pid ]]; do sleep 0.01; done
kill $!
wait $!
last="status $?, left: $(sleep 0.2; ps -o args= -p "$(<"$dir/stays.pid")")"
says 'a signal to tests/run ends its suites' 'status 130, left: '
[[ $last != *run.sh* ]] || says 'a signal to tests/run ends its suites' 'nothing left'
nothing_is_left 'a signal to tests/run removes what its suites leave'

# ---- stages

# ci SECONDS STAGES: runs .ci/run with these stages and this total time limit, in a separate tree.
ci() {
    mkdir -p "$dir/tree/.ci" "$dir/tree/ci" "$dir/tree/tests/support"
    cp ci/junit "$dir/tree/ci/"
    cp tests/support/skips.sh "$dir/tree/tests/support/"
    grep -qs slow "$dir/tree/Makefile" || printf 'slow:\n\t@echo begun; sleep 60\n' >"$dir/tree/Makefile"
    awk -v most="$1" -v stages="$2" '
        /^most=/ && !done { $0 = "most=" most }
        /^stages=/ && !done { print $0 stages; done = inside = 1 }
        inside && $0 == "\047" { inside = 0 }
        !inside' .ci/run >"$dir/tree/.ci/run"
    last=$(env -u CI bash "$dir/tree/.ci/run" 2>&1)
}

ci 60 '
good | 9 | echo 3 passed, 0 failed
slow | 1 | make slow
next | 9 | echo 4 passed, 0 failed
'
says 'counts of stages are added up, and a stage over its limit is a failure' '7 passed, 1 failed, 0 skipped'
says 'a stage that was ended is reported with its time' "ci: 'make slow' was ended after 1 s"
says 'the output of a stage that was ended is printed' $'begun\nci: '
ci 1 '
slow | 9 | make slow
next | 9 | echo 4 passed, 0 failed
'
says 'all stages share one time limit' "ci: 'make slow' was ended after 1 s"
says 'a stage without time left is a failure' 'ci: not begun, for the 1 s'
says 'a stage without time left is counted' '0 passed, 2 failed, 0 skipped'
ci 60 '
mute | 9 | echo nothing to count
next | 9 | echo 4 passed, 0 failed
'
says 'a stage that counts nothing has failed' '4 passed, 1 failed, 0 skipped'
says 'and says so' 'FAILED (counted nothing)'
ci 60 '
deps | 9 | true
deb | 9 | false
'
says 'a stage without tests is judged by its exit status' '1 passed, 1 failed, 0 skipped'
printf 'skips:\n\t@echo "SKIP $(WHAT)"; echo "4 passed, 0 failed, 1 skipped"\n' >>"$dir/tree/Makefile"
ci 60 '
good | 9 | make skips WHAT=no-perf
'
says 'a stage with a skip that is not on the list has failed' '4 passed, 1 failed, 1 skipped'
sed -i 's/no perf/no-perf/' "$SKIPS"
ci 60 '
good | 9 | make skips WHAT=no-perf
'
says 'a stage may skip what the list allows' '4 passed, 0 failed, 1 skipped'
ci 60 '
good | 9 | echo 4 passed, 0 failed, 2 skipped
'
says 'a stage with skips that no line names has failed' '4 passed, 2 failed, 2 skipped'

# ---- flakes

script steady 'echo "2 passed, 0 failed"'
script shaky "n=\$(cat $dir/n 2>/dev/null || echo 0); echo \$((n + 1)) >$dir/n
    ((n % 2)) && { echo 'FAIL of two: it was odd'; echo '1 passed, 1 failed'; exit 1; }; echo '2 passed, 0 failed'"
script crashes "[[ -e $dir/once ]] && echo '2 passed, 0 failed' && exit; touch $dir/once; kill -SEGV \$\$"
program tests/unit/flaky 'echo "[  PASSED  ] 1 test(s)."; echo "[  FAILED  ] 1 test(s), listed below:"
    echo "[  FAILED  ] a_test_that_never_passes"; exit 1'
# flakes N SUITE...: runs ci/flakes without load; sets last to its status and its output.
flakes() {
    local said
    said=$(B=$dir OUT=$dir/flakes LOAD=0 ci/flakes "$1" "${@:2}" 2>&1)
    last="status $?: $said"
}
flakes 4 "$dir"/{steady,shaky,crashes}/run.sh "$dir/tests/unit/flaky"
says 'flakes are listed with their frequency' "flaky: $dir/shaky: of two (2 of 4)"
says 'a test of a program is named' 'flaky: unit/flaky: a_test_that_never_passes (4 of 4)'
says 'a suite that died is named' "flaky: $dir/crashes: died of signal 11 (1 of 4)"
[[ $last != *flaky:*steady* ]] || says 'a suite that always passes is not listed' 'no flaky steady'
says 'suites are counted' '1 passed, 3 failed'
says 'flakes have status 1' 'status 1: run 1 of 4: '
[[ -s $dir/flakes/4-unit-flaky.log ]] || says 'the log of a failed run is kept' 'a log of run 4'
flakes 2 "$dir/steady/run.sh"
says 'a suite that always passes is no flake' '2 passed, 0 failed, 0 skipped
1 passed, 0 failed'
flakes none "$dir/steady/run.sh"
says 'a number of runs is demanded' 'status 2: usage: ci/flakes N'

# ---- results as JUnit XML

mkdir -p "$dir/tree"
suite_line='%-4s %-36s %4d passed %3d failed %3d skipped %6.1f s\n'
printf "$suite_line" ok base/test_a 12 0 0 3.4 FAIL real 2 1 0 0.1 >"$dir/tree/said"
ci 60 '
plain | 9 | echo 3 passed, 0 failed
suites | 9 | cat said
fails | 9 | false
'
last=$(python3 - "$dir/tree/out/ci/junit.xml" <<'END'
import sys
import xml.etree.ElementTree as xml
for case in xml.parse(sys.argv[1]).getroot().iter("testcase"):
    print(case.get("classname"), case.get("name"), *(child.tag for child in case), end=";")
END
)
says 'junit.xml has a case for each suite, and for each other stage' \
    'plain plain;suites base/test_a;suites real failure;fails fails failure;'

# ---- shards

# shards COUNT: prints the units of all shards of the nightly stages, without `deps`.
shards() {
    local i
    for ((i = 1; i <= $1; i++)); do .ci/run --nightly --shard "$i/$1" --list; done | grep -v '^deps ' | sort
}

whole=$(shards 1)
for count in 2 3 12 40; do
    last=$(diff <(echo "$whole") <(shards $count) && echo equal)
    says "the union of $count shards is the whole" equal
done
last=$(.ci/run --nightly --list | sed -nE 's/^([a-z-]+) .*/\1/p' | grep -vx deps | sort)
last=$(diff <(echo "$last") <(sed -E 's/[. ].*//' <<<"$whole" | sort -u) && echo equal)
says 'each nightly stage is in a shard' equal
last=$(grep -E '^fuzz' <<<"$whole" | sed -E 's/.*PART=([0-9/]+) .*/\1/' | sort | tr '\n' ' ')
says 'a stage is divided into its parts' '1/6 2/6 3/6 4/6 5/6 6/6'
last=$(.ci/run --nightly --shard 1/3 --list | head -n 1)
says 'each shard installs packages' 'deps '
for bad in 0/3 4/3 x 1/; do
    last=$(.ci/run --nightly --shard $bad --list 2>&1; echo "status $?")
    says "the shard $bad is refused" \
        $'ci/shards: expected a shard I/N with 1 <= I <= N, or --refresh TIMES...\nstatus 2'
done

# The longest unit first, to the shard with the least time.
cp ci/shards "$dir/shards"
printf '# seconds\nlong 100\nsome 60\nmore 50\n' >"$dir/nightly.times"
stages=$'more | 9 | m\nsome | 9 | s\nnew | 90 | n\nlong | 9 | l'
last=$(for i in 1 2; do "$dir/shards" $i/2 <<<"$stages" | cut -d' ' -f1 | tr '\n' ' '; echo; done)
says 'shards take about as long as each other' $'new long \nmore some '
printf 'some 70\nfresh 5\n' >"$dir/times"
last=$("$dir/shards" --refresh "$dir/times" >/dev/null; tr '\n' ';' <"$dir/nightly.times")
says 'measured times replace stored ones' '# seconds;fresh 5;long 100;more 50;some 70;'
echo 'some fast' >"$dir/times"
last=$("$dir/shards" --refresh "$dir/times" 2>&1; echo "status $?")
says 'a bad time is one line' $'times:1: expected `UNIT SECONDS`\nstatus 2'

# parts COMMAND...: prints what the command prints in each of 3 parts, sorted; each line in how many parts.
parts() {
    for i in 1 2 3; do PART=$i/3 "$@" 2>&1; done | grep -oE '(part|fuzz_)[a-z0-9]+|fixtures/scenarios/[a-z]+' | sort |
        uniq -c | awk '{ print $1 }' | sort -u
}
some=()
for i in {1..7}; do
    program "part$i" 'echo "[  PASSED  ] 1 test(s)."'
    program "fuzz_p$i" 'echo "stat::number_of_executed_units: 1"'
    some+=("$dir/part$i") fuzzers+=("$dir/fuzz_p$i")
done
last=$(B=$dir parts tests/run "${some[@]}")
says 'each suite is in one of the parts' 1
[[ $last == 1 ]] || says 'no suite is in two parts' 'one'
last=$(B=$dir parts ci/fuzz 1 "${fuzzers[@]}")
[[ $last == 1 ]] || says 'each fuzz program is in one of the parts' "one, not $last"
last=$(B=$dir PART=4/3 tests/run "$dir/part1" 2>&1)
says 'a bad part is refused' 'run: PART=4/3: expected I/N with 1 <= I <= N'

echo "$passed passed, $failed failed"
((failed == 0))
