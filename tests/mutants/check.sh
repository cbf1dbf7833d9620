#!/bin/bash
# Tests the mutant harness: each kind of mutant gets the right verdict, in a small generated tree. The tree's only test
# is a script that make builds from engine/answer.
set -u
cd "$(dirname "$0")/../.." || exit 2
home=$PWD
passed=0 failed=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Each line of tests/mutants/equivalent still names an existing mutation.
if said=$(tests/mutants/generate --check 2>&1); then ((passed++)); else ((failed++)); echo "FAIL equivalent: $said"; fi

tree=$work/tree
mkdir -p "$tree/engine" "$tree/build" "$tree/rows"
cd "$tree" || exit 2

cat >Makefile <<'END'
B ?= build
$B/tests/%: engine/answer Makefile
	@mkdir -p $(@D) && sh -n engine/answer
	@{ echo '#!/bin/sh'; cat engine/answer; \
	    echo '[ -z "$$STROBE_TEST_ONLY" ] || { echo "[  PASSED  ] 0 test(s)."; exit 0; }'; \
	    echo 'case $$0 in *bad) exit 1;; esac'; \
	    echo '[ "$$answer" = 42 ] && echo "[  PASSED  ] 1 test(s)."'; } >$@ && chmod +x $@
$B/strobe-lab: engine/answer
	@{ echo '#!/bin/sh'; cat engine/answer; echo '[ "$$1 $$answer $$2" = "explore 42 x" ]'; } >$@ && chmod +x $@
END
printf '# The answer.\nanswer=42\n# No more.\n' >engine/answer

# mutant NAME OLD NEW KILLED-BY: writes a row that replaces one line.
mutant() {
    printf 'Mutant: %s\nBreaks: a rule\nKilled by: %s\nIn: engine/answer\n- %s\n+ %s\n' "$1" "$4" "$2" "$3" \
        >"rows/$1.txt"
}

# expect NAME STATUS TEXT ARGUMENT...: a run of the harness exits with STATUS and prints TEXT (extended regex).
expect() {
    local name=$1 want=$2 text=$3 got status
    shift 3
    got=$(B=build python3 "$home/tests/mutants/harness.py" --from rows -j 1 --patience 1 "$@" 2>&1)
    status=$?
    if [[ $status == "$want" ]] && grep -qE "$text" <<<"$got"; then
        ((passed++))
    else
        ((failed++))
        printf 'FAIL %s: exit status %s, not %s with /%s/:\n%s\n' "$name" "$status" "$want" "$text" "$got"
    fi
}

expect 'a run without mutants fails' 2 'expected at least one mutant'
mutant a_killed answer=42 answer=43 unit/made/test_answer
expect 'a mutant whose test fails is killed' 0 '^1 passed, 0 failed$'
mutant b_survives '# No more.' '# More.' 'unit/made/test_answer | explore x'
expect 'a mutant that no test notices survives' 1 '^b_survives .* SURVIVED ' b_survives
mutant c_second answer=42 answer=44 unit/made/test_answer
expect 'a mutant is removed before the next is applied' 1 '^2 passed, 1 failed$'
expect 'all are counted' 1 '^2 passed, 1 failed$' --all
expect 'a sample has as many as asked for' 0 '^(1|2) mutants' --sample 1 --seed 1
rm rows/b_survives.txt
mutant d_late answer=42 '[ "$1" ] && answer=44 || answer=42' 'unit/made/test_answer | explore x'
expect 'the second command kills too' 0 'd_late .* explore x .* killed' d_late
mutant e_hangs answer=42 'answer=42; sleep 100 & wait' unit/made/test_answer
expect 'a mutant that hangs is killed' 0 '\(time\) +killed' e_hangs
mutant f_broken answer=42 'answer=(' unit/made/test_answer
expect 'a mutant that does not build is a failure' 1 'DOES NOT BUILD' f_broken
mutant g_bad answer=42 answer=43 unit/made/test_bad
expect 'a test that fails without the mutant kills nothing' 1 'NO BASELINE' g_bad
mutant h_none answer=42 answer=43 unit/made/test_answer:no_such
expect 'a test that does not exist kills nothing' 1 'NO BASELINE' h_none
mutant i_stale answer=41 answer=43 unit/made/test_answer
expect 'a row whose original text is not there is a failure' 1 'DOES NOT APPLY' i_stale
mutant j_twice . , unit/made/test_answer
expect 'a row whose original text is there twice is a failure, with file and row' 1 \
    'rows/j_twice.txt:1: j_twice: expected its original text once in engine/answer, found it 2 times' j_twice
printf 'Mutant: j_head\nBreaks: a rule\nKilled: x\n' >rows/j_head.txt
expect 'a bad head is reported with its line' 2 'j_head.txt:3: expected' j_head
rm rows/j_head.txt
mutant k_command answer=42 answer=43 unit/answer
expect 'a bad command is reported' 2 'unit/answer.: expected' k_command
printf 'Mutant: l_short\nBreaks: a rule\n' >rows/l_short.txt
expect 'a row without a required line is reported' 2 'l_short.txt:1: l_short: expected a line' l_short
cp rows/a_killed.txt rows/l_short.txt
expect 'two rows of one name are reported' 2 'l_short.txt:1: a_killed: expected another name' a_killed
rm rows/l_short.txt
expect 'a mutant that does not exist is reported' 2 'expected a mutant nobody' nobody
rm rows/[f-l]_*.txt
mutant m_survives '# No more.' '# More.' unit/made/test_answer
some='a_killed c_second m_survives'
expect 'a run that reaches its score passes with survivors' 0 '^random: .*2 of 3 killed \(66.7 %\)' --score 66 $some
expect 'a run below its score fails and lists survivors' 1 '^    \+ # More\.$' --score 67 $some
expect 'the score of each directory is printed' 0 '^engine +2 +3 +66\.7 %$' --score 66 $some
expect 'a shard has its part' 1 '^0 passed, 1 failed$' --shard 3/3 $some
expect 'a shard beyond the last is reported' 2 '^tests/mutants: --shard 4/3: expected' --shard 4/3 $some
expect 'a run without time left says which mutants it left' 0 '^left for later after 0 s, 3: a_killed c_second m_s' \
    --seconds 0 $some

# Rows that a change concerns.
git() { command git -c user.name=strobe -c user.email=strobe@example.org -c init.defaultBranch=main "$@"; }
concerned() { expect "$1" "${4:-0}" "^$2 of $known mutants are concerned .*" --changed "$3" --seconds 0; }
known=$(ls rows | wc -l)
mkdir -p tests/unit/made && echo 'int x;' | tee tests/unit/made/test_answer.c >engine/other.c
echo '*.log' >.gitignore
git init -q . && git add .gitignore Makefile engine rows tests && git commit -qm one && git checkout -qb branch
concerned 'an unchanged tree has no row to run' 0 main
echo 'int y;' >>engine/other.c
concerned 'a file without rows has none to run' 0 main
expect 'no row to run is a skip' 0 '^SKIP all rows: none is concerned$' --changed main
echo '# One more.' >>engine/answer
concerned 'each row of a changed file is run' "$known" main
git checkout -q engine && echo 'int y;' >>tests/unit/made/test_answer.c
concerned 'each row with a changed killer is run' "$known" main
git checkout -q tests && sed -i 's/a rule/another rule/' rows/a_killed.txt
concerned 'a row that was changed is run' 1 main
git commit -qam two
concerned 'what the branch changed is found behind its commits' 1 main
concerned 'without a base the branch is compared with main' 1 ''
git checkout -q main && git merge -q branch
concerned 'without a base, main is compared with its last commit but one' 1 ''
expect 'a base that does not exist is reported' 2 '^tests/mutants: --changed nothing: expected' --changed nothing
printf 'int f(void)\n{\n    return 1;\n}\nint g(void)\n{\n    return 1;\n}\n' >engine/other.c
printf 'Mutant: n_f\nBreaks: a rule\nKilled by: unit/made/test_answer\nIn: engine/other.c f\n- 1;\n+ 2;\n' >rows/n.txt
sed 's/n_f/a_g/; s/other.c f/other.c g/' rows/n.txt >rows/o.txt
git add rows engine && git commit -qm three
sed -i '3s/1/  0 + 1/' engine/other.c
expect 'rows of a changed function come first' 0 '^left for later after 0 s, 2: n_f a_g$' --changed HEAD --seconds 0

# A terminated run ends its children and removes its copies of the tree.
mkdir "$work/tmp"
TMPDIR=$work/tmp B=build python3 "$home/tests/mutants/harness.py" --from rows --patience 100 e_hangs \
    >"$work/said" 2>&1 &
harness=$!
for _ in {1..100}; do
    grep -qs 'sleep 100' "$work"/tmp/*/job0/build/tests/unit/made/test_answer && break
    sleep 0.1
done
kill "$harness"
wait "$harness"
status=$?
if [[ $status == 143 && -z $(ls "$work/tmp") ]]; then
    ((passed++))
else
    ((failed++))
    echo "FAIL a terminated run leaves no file: exit status $status, left: $(ls "$work/tmp")"
    cat "$work/said"
fi

echo "$passed passed, $failed failed"
((failed == 0))
