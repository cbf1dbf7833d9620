#!/bin/bash
# Checks the documents:
#
#   - their `build/strobe` and `build/strobe-lab` commands run as written, in their order
#   - these commands print the text that a document shows after the mark `<!-- printed -->`
#   - paths, links and make targets exist
#   - README.md has at most 250 lines; its picture and its figures of virtual time are those of this tree
#
# takes: 40 s
set -u
cd "$(dirname "$0")/../.." || exit 2
home=$PWD B=${B:-build}
[[ $B == /* ]] || B=$home/$B
documents='README.md bench/README.md fixtures/README.md engine/trace/README.md'
passed=0 failed=0 skipped=0
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

verdict() {
    if [[ $2 == 0 ]]; then
        ((passed++))
    else
        ((failed++))
        printf 'FAIL %s\n' "$1"
        [[ -s $dir/said ]] && head -n 10 "$dir/said"
    fi
}

# run_command DOCUMENT COMMAND: runs a command in the directory $clone, and appends its output to $dir/printed.
run_command() {
    local status
    if ! command -v xz >/dev/null && [[ $2 == *' xz '* ]]; then
        ((skipped++))
        echo "skipped: xz is not installed for: $2"
        return
    fi
    (cd "$clone" && bash -c "${2%%#*}") >"$dir/said" 2>&1 </dev/null
    status=$?
    tr -s ' ' <"$dir/said" >>"$dir/printed"
    if ((status)) && grep -q 'not installed' "$dir/said"; then
        ((skipped++))
        echo "skipped: the runtime is not installed for: $2"
    else
        verdict "$1: $2" $status
    fi
    rm -f "$dir/said"
}

# The commands of each document run in a separate directory that looks like a clone after `make`. A block after the mark
# `<!-- printed -->` contains lines that the commands above it print. The number of blanks is ignored, and `...` stands
# for other lines.
run_commands() {
    local line word clone is_printed=
    clone=$(mktemp -d "$dir/clone.XXXXXX")
    mkdir "$clone/out"
    ln -s "$B" "$clone/build"
    ln -s "$home/fixtures" "$home/tests" "$clone"
    : >"$dir/printed"
    while IFS= read -r line; do
        case $line in
        '    build/strobe '* | '    build/strobe-lab '*) run_command "$1" "${line#    }" ;;
        '<!-- printed -->') is_printed=yes ;;
        '' | '    '*...) ;;
        '    '*)
            [[ $is_printed ]] || continue
            word=$(tr -s ' ' <<<"$line")
            grep -qF -e "${word# }" "$dir/printed"
            verdict "$1: a command prints '${word# }'" $?
            ;;
        *) is_printed= ;;
        esac
    done <"$1"
}

# Checks paths in backquotes, from the root, and links, from the document's directory. Does not check build output, and
# paths that contain a pattern.
names_exist() {
    local path target
    while read -r path; do
        [[ -e $path ]]
        verdict "$1 names $path" $?
    done < <(grep -oE '`(engine|sim|bench|tests|ci|fixtures)/[A-Za-z0-9_./+-]*[ `]' "$1" | tr -d '` ' | sort -u)
    while read -r target; do
        [[ -e $(dirname "$1")/$target ]]
        verdict "$1 links to $target" $?
    done < <(grep -oE '\]\([^)#:]+[)#]' "$1" | tr -d ']()#' | sort -u)
    while read -r target; do
        grep -qxE "$target" <<<"$targets" || [[ $target == *-clang ]]
        verdict "$1 names make $target" $?
    done < <(grep -oE '`make [a-z -]+' "$1" | tr -d '`' | cut -d' ' -f2- | tr ' ' '\n' | grep . | sort -u)
}

# The target of a link to a section exists. GitHub's rule for its name: lower case, - for blanks, no other punctuation.
sections_exist() {
    local link document section
    while IFS='#' read -r link section; do
        document=$(dirname "$1")/$link
        [[ $link ]] || document=$1
        grep -E '^##* ' "$document" | sed 's/^#* //' | tr 'A-Z ' 'a-z-' | tr -cd 'a-z0-9_\n-' | grep -qxF -e "$section"
        verdict "$1 links to $link#$section" $?
    done < <(grep -oE '\]\([^):]*#[^)]+\)' "$1" | tr -d ']()' | sort -u)
}

targets=$(make -s help | sed -n 's/^ *make \([a-z-]*\) .*/\1/p')
for document in $documents; do
    names_exist "$document"
    sections_exist "$document"
    run_commands "$document"
done

# The rows of bench/README.md, and those of simulated Linux in README.md's accuracy table, are the rows that standing.py
# prints: name, exact, ideal, ... resolved, overhead.
rows_are_printed() {
    local backend=$1 line name exact resolved overhead rows=0
    shift
    while IFS= read -r line; do
        grep -qxF -e "$line" bench/README.md
        verdict "bench/README.md has the row of standing.py:$line" $?
        [[ $backend == 'simulated Linux' ]] || { ((++rows)); continue; }
        read -r name exact resolved overhead < <(awk '{ print $1, $2, $(NF - 3), $(NF - 1) }' <<<"$line")
        grep -qF -e "| $backend | $name | $exact % | $resolved % | $overhead % |" README.md
        verdict "README.md has the row of standing.py: $backend,$line" $?
        ((++rows))
    done < <(python3 bench/standing.py "$B/strobe" "$@")
    ((rows == $# - 1))
    verdict "standing.py prints $(($# - 1)) rows for $backend, not $rows" $?
}
scenarios=fixtures/scenarios
rows_are_printed 'simulated Linux' table "$scenarios"/{album,scroll_jank,thread_churn}.scn
rows_are_printed 'fake Mach' mach "$scenarios"/{ios_launch,thread_churn,malloc_deadlock}.scn

lines=$(wc -l <README.md)
((lines <= 250))
verdict "README.md has at most 250 lines, not $lines" $?

# The lab plays the same on each machine, so the picture must have the same bytes.
B=$B ci/figure -o "$dir/timeline.svg" >"$dir/said" 2>&1 && cmp "$dir/timeline.svg" fixtures/figures/timeline.svg \
    >>"$dir/said" 2>&1
verdict 'fixtures/figures/timeline.svg is the picture that this tree draws (make figures)' $?
bytes=$(wc -c <fixtures/figures/timeline.svg)
((bytes <= 100000))
verdict "the picture has at most 100000 bytes, not $bytes" $?

echo "$passed passed, $failed failed, $skipped skipped"
((failed == 0))
