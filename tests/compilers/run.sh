#!/bin/bash
# All files, tests included, compile without a warning with gcc and with clang. This suite uses the compiler that did
# not build B. clang only checks syntax, which yields all its warnings; gcc must generate code. Each header compiles
# alone. A change of a header is seen whether B is absolute or relative.
#
# With FULL=1 the other compiler builds the commands in a directory beside B. Both labs, and one that is built without
# optimization, write the same bytes when they play.
#
# These builds omit the explorer's programs.
#
# takes: 43 s
set -u
cd "$(dirname "$0")/../.." || exit 2
B=${B:-build}
passed=0 failed=0 skipped=0
mkdir -p "$B/log"

# check NAME B ARGUMENTS...: builds in B, with these arguments of make.
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

# plays_alike NAME B: the lab in B writes the same files as this build's lab.
plays_alike() {
    local said
    said=$(tests/compilers/plays_alike.sh "$1" "$B/strobe-lab" "$2/strobe-lab")
    grep -v ' passed' <<<"$said"
    read -r ok _ bad _ < <(tail -n 1 <<<"$said")
    ((passed += ok, failed += bad))
}

read -r first _ <"$B/flags" 2>/dev/null || first=gcc
for cc in gcc clang; do
    [[ ${first##*/} == "$cc"* ]] && continue
    if command -v "$cc" >/dev/null; then
        if [[ $cc == clang && -z ${FULL:-} ]]; then
            check "$cc" "$B-$cc" "CC=$cc" CFLAGS=-O2 EXPLORE=no READ=all read
            continue
        fi
        [[ $cc == gcc ]] && rest=tests || rest=read
        check "$cc" "$B-$cc" "CC=$cc" CFLAGS=-O2 EXPLORE=no "$B-$cc/strobe" "$B-$cc/strobe-lab" $rest
        plays_alike "$cc" "$B-$cc"
    else
        ((skipped++))
        echo "skipped: $cc is not installed"
    fi
done

if [[ -n ${FULL:-} ]]; then
    check 'unoptimized' "$B-O0" "CC=${first:-gcc}" CFLAGS=-O0 EXPLORE=no "$B-O0/strobe" "$B-O0/strobe-lab"
    LIGHT=1 plays_alike unoptimized "$B-O0"
fi

# rebuilds_by_either_name: an object that was made with an absolute B is made again with a relative B when its header
# has changed, and only then.
rebuilds_by_either_name() {
    local place
    place=$(realpath -m --relative-to=. "$B")/either
    local object=$place/obj/engine/base/pid_text.o
    make --no-print-directory "B=$PWD/$place" "$PWD/$object" &&
        ! make --no-print-directory "B=$place" "$object" | grep ' cc ' &&
        make --no-print-directory "B=$place" -W engine/base/pid_text.h "$object" | grep ' cc '
}
if rebuilds_by_either_name >"$B/log/either.log" 2>&1; then
    ((passed++))
else
    ((failed++))
    echo 'FAIL an object has a name under which a change of its header is not seen'
    cat "$B/log/either.log"
fi

# Each header includes all headers that it uses, so a source that includes only this header compiles. Not checked:
# headers that need other tracers' headers, and headers of other systems, which the builds for these systems compile.
while read -r header; do
    if why=$("${CC:-gcc}" -I. -isystem engine/backend/sdk/mach/include -D_GNU_SOURCE -std=c11 -Wall -Wextra \
        -Werror -fsyntax-only -x c - <<<"#include \"$header\"" 2>&1); then
        ((passed++))
    else
        ((failed++))
        echo "FAIL $header does not compile alone"
        head -n 5 <<<"$why"
    fi
done < <(find engine sim bench tests -name '*.h' -not -path 'bench/peers/*' -not -path '*/bionic/include/*' \
    -not -path '*/darwin/include/*' -not -path 'tests/gnumach/*' -not -path 'tests/emulate/*' | sort)

echo "$passed passed, $failed failed, $skipped skipped"
((failed == 0))
