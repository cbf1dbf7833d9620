# Skipped tests and the list of those that are allowed, tests/skips. Sourced by tests/run and .ci/run.
#
# A skipped test prints a line `SKIP TEST: WHY`; `skipped: TEST...` and CMocka's line mean the same. The list has a line
# for each skip that is allowed:
#
#   SUITE: TEST | CONDITION | REASON
#
# The first column is a pattern of the shell, for the suite's name and the text after SKIP. CONDITION is a command. The
# skip is allowed when this command succeeds.
skip_list=${SKIPS:-tests/skips}

# skip_lines LOG: prints the text of each skip that a log reports, without the word SKIP. CMocka names each test twice.
skip_lines() {
    sed -nE -e '/^\[  SKIPPED \] [0-9]+ test\(s\)/d' -e 's/^\[  SKIPPED \] //p' "$1" | sort -u
    sed -nE 's/^(SKIP|skip)(PED|ped)?:? +//p' "$1"
}

# is_skip_listed SUITE TEXT: true when an entry of the list allows this skip on this machine.
is_skip_listed() {
    local test condition
    while IFS='|' read -r test condition _; do
        test=${test%"${test##*[! ]}"}
        [[ -n $test && $test != '#'* ]] || continue
        # shellcheck disable=SC2053  # the right side is a pattern
        [[ "$1: $2" == $test ]] && bash -c "$condition" >/dev/null 2>&1 </dev/null && return
    done <"$skip_list"
    return 1
}

# judge_skips SUITE LOG COUNT: prints a line for each skip of the log, and for each counted skip that has no line. Sets
# `unlisted` to the number of those that the list does not allow.
judge_skips() {
    local text lines=0
    unlisted=0
    while IFS= read -r text; do
        ((++lines))
        if is_skip_listed "$1" "$text"; then
            echo "SKIP $text"
        else
            echo "SKIP $text (not allowed by $skip_list)"
            ((++unlisted))
        fi
    done < <(skip_lines "$2")
    ((lines >= $3)) || echo "SKIP $(($3 - lines)) more, without a line that names them (not allowed)"
    ((lines >= $3)) || ((unlisted += $3 - lines))
}
