#!/bin/bash
# Everything builds without warning with gcc and with clang, tests included: whichever
# built this B, the other one builds a directory beside it. Every header compiles alone.
set -u
cd "$(dirname "$0")/../.." || exit 2
B=${B:-build}
passed=0 failed=0 skipped=0
mkdir -p "$B/log"

# check NAME B ARGUMENTS...: builds there, with these arguments of make.
check() {
    local name=$1 dir=$2
    shift 2
    if make --no-print-directory "B=$dir" "$@" >"$B/log/$name.log" 2>&1; then
        ((passed++))
    else
        ((failed++))
        echo "FAIL $name"
        grep -E 'error|warning|\*\*\*' "$B/log/$name.log" | head -n 20
    fi
}

read -r first _ <"$B/flags" 2>/dev/null || first=gcc
for cc in gcc clang; do
    [[ ${first##*/} == "$cc"* ]] && continue
    if command -v "$cc" >/dev/null; then
        check "$cc" "$B-$cc" "CC=$cc" tests
        if [[ -d /usr/include/benchmark ]]; then
            check "$cc of bench" "$B-$cc" "CC=$cc" benches
        fi
    else
        ((skipped++))
        echo "skipped: $cc is not installed"
    fi
done

# What includes nothing but a header must compile: each header includes what it uses. (Headers of peers need the
# peers' own.)
while read -r header; do
    if why=$("${CC:-gcc}" -I. -D_GNU_SOURCE -std=c11 -Wall -Wextra -Werror -fsyntax-only -x c - \
        <<<"#include \"$header\"" 2>&1); then
        ((passed++))
    else
        ((failed++))
        echo "FAIL $header does not stand alone"
        head -n 5 <<<"$why"
    fi
done < <(find engine sim bench tests -name '*.h' -not -path 'bench/peers/*' | sort)

echo "$passed passed, $failed failed, $skipped skipped"
((failed == 0))
