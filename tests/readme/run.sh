#!/bin/bash
# README tells the truth: its `build/strobe` commands run as written, in their order; each path and each make target
# it names is there.
#
# takes: 17 s
set -u
cd "$(dirname "$0")/../.." || exit 2
home=$PWD B=${B:-build}
[[ $B == /* ]] || B=$home/$B
passed=0 failed=0 skipped=0
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/out"
ln -s "$B" "$dir/build"
ln -s "$home/fixtures" "$dir/fixtures"
ln -s "$home/tests" "$dir/tests"

verdict() {
    if [[ $2 == 0 ]]; then
        ((passed++))
    else
        ((failed++))
        printf 'FAIL %s\n' "$1"
        [[ -s $dir/said ]] && head -n 10 "$dir/said"
    fi
}

while read -r line; do
    if ! command -v xz >/dev/null && [[ $line == *' xz '* ]]; then
        ((skipped++))
        echo "skipped: no xz for: $line"
        continue
    fi
    (cd "$dir" && bash -c "${line%%#*}") >"$dir/said" 2>&1 </dev/null
    status=$?
    if ((status)) && grep -q 'not installed' "$dir/said"; then
        ((skipped++))
        echo "skipped: no such runtime for: $line"
    else
        verdict "$line" $status
    fi
done < <(sed -n 's|^    \(build/strobe .*\)|\1|p' README.md)
rm -f "$dir/said"

while read -r path; do
    [[ -e $path ]]
    verdict "README names $path" $?
done < <(grep -oE '^\| `(engine|sim|bench|tests|ci|fixtures)[a-z/]*`' README.md | tr -d '|` ')

targets=$(make -s help | sed -n 's/^ *make \([a-z-]*\) .*/\1/p')
while read -r target; do
    grep -qxE "$target" <<<"$targets" || [[ $target == *-clang ]]
    verdict "README names make $target" $?
done < <(grep -oE '`make [a-z -]+`' README.md | tr -d '`' | cut -d' ' -f2- | tr ' ' '\n' | sort -u)

echo "$passed passed, $failed failed, $skipped skipped"
((failed == 0))
