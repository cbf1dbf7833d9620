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

# Each curated mutant still applies.
stale=
for patch in tests/mutants/curated/*.patch; do
    patch -p1 -F0 --dry-run -s -f <"$patch" >/dev/null 2>&1 || stale+=" $(basename "$patch")"
done
if [[ -z $stale ]]; then ((passed++)); else ((failed++)); echo "FAIL these do not apply:$stale"; fi

tree=$work/tree
mkdir -p "$tree/engine" "$tree/build" "$tree/patches"
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

# mutant NAME OLD NEW KILLED-BY: writes a patch that replaces one line.
mutant() {
    mkdir -p "$work/a/engine" "$work/b/engine"
    cp engine/answer "$work/a/engine"
    sed "s/^$2\$/$3/" engine/answer >"$work/b/engine/answer"
    { printf 'Breaks: a rule\nKilled by: %s\n\n' "$4"; (cd "$work" && diff -u a/engine/answer b/engine/answer); } \
        >"patches/$1.patch"
}

# expect NAME STATUS TEXT ARGUMENT...: a run of the harness exits with STATUS and prints TEXT (extended regex).
expect() {
    local name=$1 want=$2 text=$3 got status
    shift 3
    got=$(B=build python3 "$home/tests/mutants/harness.py" --from patches -j 1 --patience 1 "$@" 2>&1)
    status=$?
    if [[ $status == "$want" ]] && grep -qE "$text" <<<"$got"; then
        ((passed++))
    else
        ((failed++))
        printf 'FAIL %s: exit status %s, not %s with /%s/:\n%s\n' "$name" "$status" "$want" "$text" "$got"
    fi
}

expect 'a run without mutants fails' 2 'expected at least one .patch'
mutant a_killed answer=42 answer=43 unit/made/test_answer
expect 'a mutant whose test fails is killed' 0 '^1 passed, 0 failed$'
mutant b_survives '# No more.' '# More.' 'unit/made/test_answer | explore x'
expect 'a mutant that no test notices survives' 1 '^b_survives .* SURVIVED ' b_survives
mutant c_second answer=42 answer=44 unit/made/test_answer
expect 'a mutant is removed before the next is applied' 1 '^2 passed, 1 failed$'
expect 'all are counted' 1 '^2 passed, 1 failed$' --all
expect 'a sample has as many as asked for' 0 '^(1|2) mutants' --sample 1 --seed 1
rm patches/b_survives.patch
mutant d_late answer=42 '[ "$1" ] \&\& answer=44 || answer=42' 'unit/made/test_answer | explore x'
expect 'the second command kills too' 0 'd_late .* explore x .* killed' d_late
mutant e_hangs answer=42 'answer=42; sleep 100 \& wait' unit/made/test_answer
expect 'a mutant that hangs is killed' 0 '\(time\) +killed' e_hangs
mutant f_broken answer=42 'answer=(' unit/made/test_answer
expect 'a mutant that does not build is a failure' 1 'DOES NOT BUILD' f_broken
mutant g_bad answer=42 answer=43 unit/made/test_bad
expect 'a test that fails without the mutant kills nothing' 1 'NO BASELINE' g_bad
mutant h_none answer=42 answer=43 unit/made/test_answer:no_such
expect 'a test that does not exist kills nothing' 1 'NO BASELINE' h_none
sed 's/^ # No more/ # Never more/' patches/a_killed.patch >patches/i_stale.patch
expect 'a patch that does not apply is a failure' 1 'DOES NOT APPLY' i_stale
printf 'Breaks: a rule\nKilled: x\n\n' >patches/j_head.patch
expect 'a bad head is reported with its line' 2 'j_head.patch:2: expected' j_head
printf 'Breaks: a rule\nKilled by: unit/answer\n\n' >patches/k_command.patch
expect 'a bad command is reported' 2 'unit/answer.: expected' k_command
printf 'Breaks: a rule\n\n' >patches/l_short.patch
expect 'a head without a required line is reported' 2 'l_short.patch:1: expected' l_short
expect 'a mutant that does not exist is reported' 2 'no such mutant' nobody
rm patches/[f-l]_*.patch
mutant m_survives '# No more.' '# More.' unit/made/test_answer
some='a_killed c_second m_survives'
expect 'a run that reaches its score passes with survivors' 0 '^random: .*2 of 3 killed \(66.7 %\)' --score 66 $some
expect 'a run below its score fails and lists survivors' 1 '^    \+# More\.$' --score 67 $some

# A terminated run ends its children and removes its copies of the tree.
mkdir "$work/tmp"
TMPDIR=$work/tmp B=build python3 "$home/tests/mutants/harness.py" --from patches --patience 100 e_hangs \
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
