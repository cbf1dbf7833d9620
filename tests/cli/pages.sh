# The man pages: each command has one with the options of its help text, the pages are well-formed, they refer to pages
# that exist, and strobe-session(5) has the layout of the structs. Sourced by run.sh.

pages=("$home"/engine/cmd/man/*.[15] "$home"/sim/cmd/man/*.[15])

# page_of NAME: the path of the page strobe-NAME, or of strobe(1).
page_of() {
    local name=strobe-$1
    [[ $1 == strobe ]] && name=strobe
    compgen -G "$home/*/cmd/man/$name.[15]"
}

# options: those in the text on standard input. A word after one dash, as -finstrument-functions, is another program's.
options() {
    grep -oP '(?<![\w-])(--[a-z][a-z-]+|-[a-zA-Z])(?![\w-])' | sort -u
}

# Options that a page defines: in the tags of its lists.
defined_in_page() {
    awk '/^\.T[PQ]/ { tag = 1; next } tag { print; tag = 0 }' "$1" | sed 's/\\-/-/g; s/\\f[BIR]/ /g' | options
}

# Options of a help text. Options of other commands are between backquotes.
named_in_help() {
    sed 's/`[^`]*`//g' "$1" | options
}

# page_and_help_have_the_same_options NAME PAGE: the help text is in the file help-NAME.
page_and_help_have_the_same_options() {
    local page fault='no page'
    wanted "page_and_help_have_the_same_options_$1" || return 0
    page=$(page_of "$2") && fault=$(diff <(defined_in_page "$page") <(named_in_help "help-$1") |
        sed -n 's/^</only in the page:/p; s/^>/only in the help:/p')
    verdict "page_and_help_have_the_same_options_$1" "$fault"
}

# Fails to compile where a table of the page is not what the structs are. Rows of a layout follow each other without a
# gap, so that no field is left out.
layouts_as_c() {
    echo '#include "engine/store/session.h"'
    echo '#include "engine/trace/session/sched_section.h"'
    awk '
    /^\.\\" value / { printf "_Static_assert(%s == %s, \"%s\");\n", $3, $4, $3; next }
    /^\.\\" layout / { type = "struct " $3; at = 0; layouts++; next }
    /^\.\\" values / { prefix = $3; rows = 0; next }
    /^\.fi/ && type { printf "#error %s has no end\n", type; type = "" }
    /^\.fi/ && prefix == "STROBE_KIND_" { printf "_Static_assert(STROBE_KIND_COUNT == %d, \"all kinds\");\n", rows }
    /^\.fi/ { prefix = "" }
    type && $1 ~ /^[0-9]+$/ {
        if ($1 != at) printf "#error %s: offset %s, expected %d\n", type, $1, at
        if ($2 == "end") {
            printf "_Static_assert(sizeof(%s) == %s, \"size of %s\");\n", type, $1, type
            type = ""
        } else {
            printf "_Static_assert(offsetof(%s, %s) == %s && sizeof((%s){0}.%s) == %s, \"%s.%s\");\n",
                type, $3, $1, type, $3, $2, type, $3
            at = $1 + $2
        }
    }
    prefix && $1 ~ /^[0-9]+$/ { printf "_Static_assert(%s%s == %s, \"%s\");\n", prefix, toupper($2), $1, $2; rows++ }
    END { if (layouts < 12) print "#error layouts are missing" }
    ' "$(page_of session)"
}

commands=(record attach capture report convert export diff merge open doctor symbolize import run compare explore learn)
for command in "${commands[@]}" help; do
    run "$strobe" help "$command"
    cp out "help-$command"
    [[ $command == help ]] && continue
    page_and_help_have_the_same_options "$command" "$command"
    if wanted "help_is_the_same_both_ways_$command"; then
        run "$strobe" "$command" --help
        cmp -s out "help-$command" && fault= || fault='the texts differ'
        verdict "help_is_the_same_both_ways_$command" "$fault"
    fi
done
for program in strobe strobe-lab; do
    run "$B/$program" help
    cp out "help-$program"
    page_and_help_have_the_same_options "$program" "${program#strobe-}"
done
if wanted each_listed_command_has_a_page; then
    run "$strobe" help
    fault=
    listed=$(sed -nE 's/^ +strobe ([a-z]+) .*/\1/p' out)
    for command in $listed; do
        [[ $command == help ]] || page_of "$command" >/dev/null || fault+=" no page: $command"
    done
    (($(wc -w <<<"$listed") == ${#commands[@]} + 1)) || fault+=" listed: $listed"
    verdict each_listed_command_has_a_page "$fault"
fi
if wanted pages_mention_options_that_exist; then
    fault=
    for option in $(sed '/^    curl /d; s/\\-/-/g; s/\\f[BIR]/ /g' "${pages[@]}" | grep -oE -- '--[a-z][a-z-]*' |
        sort -u); do
        grep -qE -- "(^|[^a-z-])$option([^a-z-]|$)" help-* || fault+=" $option"
    done
    verdict pages_mention_options_that_exist "${fault:+in no help text:$fault}"
fi
if wanted pages_refer_to_pages_that_exist; then
    fault=
    for name in $(sed -n 's/\\-/-/g; s/^\.BR \(strobe[a-z-]*\) (\([15]\)).*/\1.\2/p' "${pages[@]}" | sort -u); do
        compgen -G "$home/*/cmd/man/$name" >/dev/null || fault+=" $name"
    done
    for page in "${pages[@]##*/}"; do
        [[ $page == strobe.1 ]] || sed 's/\\-/-/g' "${pages[@]}" | grep -q "^\.BR ${page%.*} (${page##*.})" ||
            fault+=" nothing refers to $page"
    done
    verdict pages_refer_to_pages_that_exist "$fault"
fi
if wanted pages_are_well_formed; then
    if command -v groff >/dev/null; then
        verdict pages_are_well_formed "$(for page in "${pages[@]}"; do groff -man -Tutf8 -ww -z "$page" 2>&1; done)"
    else
        skip pages_are_well_formed 'no groff here'
    fi
fi
if wanted page_of_compare_has_all_scores; then
    fault=
    for score in $(sed -nE 's/^ *REAL\(([a-z_]+),.*/\1/p' "$home/sim/score/fields.c"); do
        grep -qw "$score" "$(page_of compare)" || fault+=" $score"
    done
    verdict page_of_compare_has_all_scores "$fault"
fi
if wanted session_page_has_the_layout; then
    layouts_as_c >layouts.c
    verdict session_page_has_the_layout \
        "$(${CC:-gcc} -std=c11 -D_GNU_SOURCE -I"$home" -fsyntax-only layouts.c 2>&1 | grep -m 3 error)"
fi
