#!/bin/bash
# What `make install` leaves is whole: a program that is built with nothing but the installed files reads a
# session's status texts, the command starts, and `make uninstall` takes everything away again.
set -u
cd "$(dirname "$0")/../.." || exit 2
B=${B:-build}
passed=0 failed=0 skipped=0
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# check NAME COMMAND...
check() {
    local name=$1 why
    shift
    if why=$("$@" 2>&1); then
        ((passed++))
    else
        ((failed++))
        echo "FAIL $name"
        tail -n 10 <<<"$why"
    fi
}

installs() {
    make --no-print-directory "B=$B" PREFIX=/opt/strobe "DESTDIR=$dir" install
    local status=$?
    (cd "$dir" && find . -type f | sort)
    return $status
}

has_every_file() {
    local path
    for path in bin/strobe lib/strobe/libstrobe-preload.so lib/pkgconfig/strobe.pc share/man/man1/strobe.1 \
        include/strobe/engine/store/session.h; do
        [[ -s $dir/opt/strobe/$path ]] || { echo "missing $path"; return 1; }
    done
}

command_starts() {
    "$dir/opt/strobe/bin/strobe" --version
}

program_builds() {
    cat >"$dir/reader.c" <<'C'
#include "engine/store/session.h"
#include <stdio.h>
int main(void)
{
    struct strobe_session s;
    puts(strobe_status_text(strobe_session_open("/nonexistent/session", &s)));
    return 0;
}
C
    local flags
    flags=$(PKG_CONFIG_PATH=$dir/opt/strobe/lib/pkgconfig \
        pkg-config --define-variable=prefix="$dir/opt/strobe" --cflags --libs strobe) &&
        (cd "$dir" && gcc -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -o reader reader.c $flags) &&
        [[ $("$dir/reader") == "input/output error" ]]
}

uninstalls() {
    make --no-print-directory "B=$B" PREFIX=/opt/strobe "DESTDIR=$dir" uninstall
    ! find "$dir/opt" -type f | grep .
}

check 'make install works' installs
check 'every file is there' has_every_file
check 'the installed command starts' command_starts
if command -v pkg-config >/dev/null; then
    check 'a program builds with the installed files alone' program_builds
else
    ((skipped++))
    echo 'skipped: pkg-config is not installed'
fi
check 'make uninstall leaves no file' uninstalls

echo "$passed passed, $failed failed, $skipped skipped"
((failed == 0))
