#!/bin/bash
# The documents are right: their `build/strobe` and `build/strobe-lab` commands run as written, in their order. Paths,
# links and make targets that they name exist. README.md is short, and its picture is the one that the tree draws.
#
# takes: 25 s
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

# Each document's commands run in a directory of their own, laid out as a clone after `make`.
run_commands() {
    local line status clone
    clone=$(mktemp -d "$dir/clone.XXXXXX")
    mkdir "$clone/out"
    ln -s "$B" "$clone/build"
    ln -s "$home/fixtures" "$home/tests" "$clone"
    while read -r line; do
        if ! command -v xz >/dev/null && [[ $line == *' xz '* ]]; then
            ((skipped++))
            echo "skipped: no xz for: $line"
            continue
        fi
        (cd "$clone" && bash -c "${line%%#*}") >"$dir/said" 2>&1 </dev/null
        status=$?
        if ((status)) && grep -q 'not installed' "$dir/said"; then
            ((skipped++))
            echo "skipped: no such runtime for: $line"
        else
            verdict "$1: $line" $status
        fi
    done < <(grep -E '^    build/strobe(-lab)? ' "$1")
    rm -f "$dir/said"
}

# Paths in backquotes, from the root; links, from the document's directory. A path whose directory is built, or that has
# a pattern in it, is not looked for.
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

# A link to a section is to one that its document has, by GitHub's rule: small letters, - for blanks, no other signs.
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

lines=$(wc -l <README.md)
((lines <= 250))
verdict "README.md has at most 250 lines, not $lines" $?

# The lab plays the same everywhere, so the picture is the same to the byte.
B=$B ci/figure -o "$dir/timeline.svg" >"$dir/said" 2>&1 && cmp "$dir/timeline.svg" fixtures/figures/timeline.svg \
    >>"$dir/said" 2>&1
verdict 'fixtures/figures/timeline.svg is what the tree draws (make figures)' $?
bytes=$(wc -c <fixtures/figures/timeline.svg)
((bytes <= 100000))
verdict "the picture has at most 100000 bytes, not $bytes" $?

echo "$passed passed, $failed failed, $skipped skipped"
((failed == 0))
