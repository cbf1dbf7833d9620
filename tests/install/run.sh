#!/bin/bash
# `make install`:
#
#   - works from a fresh clone, and installs all files or none
#   - all commands run from the prefix
#   - programs in C and C++, built with the installed files only, read sessions
#   - the library exports the public functions and no others
#   - `make uninstall` removes all files
#
# takes: 12 s
set -u
cd "$(dirname "$0")/../.." || exit 2
B=${B:-build}
passed=0 failed=0 skipped=0
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# check NAME COMMAND...: passes when the command succeeds.
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
    for path in bin/strobe bin/strobe-lab libexec/strobe/strobe-player lib/strobe/libstrobe-preload.so \
        lib/pkgconfig/strobe-trace.pc lib/libstrobe-trace.{a,so,so.0} include/strobe/{session,status,trace}.h \
        share/man/man1/{strobe,strobe-{record,report,convert,doctor,symbolize,import,lab,run,compare,explore}}.1 \
        share/man/man5/strobe-{scenario,session}.5; do
        [[ -s $dir/opt/strobe/$path ]] || { echo "missing $path"; return 1; }
    done
}

command_starts() {
    "$dir/opt/strobe/bin/strobe" --version
}

# flags ARGUMENT...: prints pkg-config's output for the installed library.
flags() {
    PKG_CONFIG_PATH=$dir/opt/strobe/lib/pkgconfig \
        pkg-config --define-variable=prefix="$dir/opt/strobe" "$@" strobe-trace
}

# Builds as another project does, without a file of this tree in the search paths.
programs_build() {
    local flags static
    flags=$(flags --cflags --libs) && static=$(flags --static --cflags --libs) || return 1
    cp tests/install/{profile.c,threads.cc,app.c} "$dir" && cd "$dir" &&
        gcc -std=c11 -D_DEFAULT_SOURCE -Wall -Wextra -Wpedantic -Werror -o profile profile.c $flags &&
        g++ -std=c++11 -Wall -Wextra -Wpedantic -Werror -o threads threads.cc $flags &&
        gcc -std=c11 -D_DEFAULT_SOURCE -Wall -Wextra -Werror -o profile-static profile.c \
            $(sed 's/-lstrobe-trace/-l:libstrobe-trace.a/' <<<"$static") &&
        gcc -D_GNU_SOURCE -O2 -g -o app app.c -pthread &&
        opt/strobe/bin/strobe record -q --no-convert -o app.strobe -- ./app
}

run_installed() {
    LD_LIBRARY_PATH=$dir/opt/strobe/lib "$dir/$@"
}

a_program_reads_a_session() {
    cd "$dir" && run_installed profile app.strobe app.folded >out || { cat out; return 1; }
    [[ $(head -n 1 out) == *' hot_function' ]] && ./profile-static app.strobe | cmp - out &&
        grep -q 'worker;.*hot_function [0-9]' app.folded &&
        [[ $(run_installed threads app.strobe) == $'app main\nworker' ]] ||
        { cat out; run_installed threads app.strobe; return 1; }
}

# opens_as PATH TEXT: the program prints TEXT for a session that does not open.
opens_as() {
    local out
    out=$(run_installed profile "$1")
    [[ $? == 1 && $out == "$2"* ]] || { echo "$1: $out"; return 1; }
}

bad_sessions_have_a_status_and_a_text() {
    cd "$dir" && head -c 5000 app.strobe >cut.strobe && : >empty.strobe && mkdir -p folder || return 1
    opens_as nowhere.strobe 'input/output error: No such file' && opens_as folder 'not a valid input: ' &&
        opens_as empty.strobe 'not a valid input: ' && opens_as profile.c 'not a valid input: ' &&
        opens_as cut.strobe 'truncated: end of file' || return 1
    run_installed profile app.strobe app.folded | grep -q '^exists already: .*app.folded' ||
        { echo "a trace was overwritten"; return 1; }
}

# Lists the functions that the public headers declare.
public_functions() {
    sed -nE 's/^STROBE_API .*[ *](strobe_[a-z_]+)\(.*/\1/p' "$dir"/opt/strobe/include/strobe/*.h | sort
}

the_library_exports_the_public_functions() {
    [[ $(public_functions | wc -l) -ge 8 ]] &&
        diff <(nm -D --defined-only "$dir/opt/strobe/lib/libstrobe-trace.so.0" | awk '{ print $3 }' | sort) \
            <(public_functions)
}

uninstalls() {
    make --no-print-directory "B=$B" PREFIX=/opt/strobe "DESTDIR=$dir" uninstall
    ! find "$dir/opt" ! -type d | grep .
}

# ---- from a fresh clone

# copy_sources FOLDER: copies the sources of this tree as they are, without build output.
copy_sources() {
    mkdir -p "$1" && git ls-files -z --cached --others --exclude-standard | xargs -0 cp -a --parents -t "$1"
}

# copy_objects FOLDER: copies the objects of single sources from B, and nothing that make links or generates.
copy_objects() {
    mkdir -p "$1" && find "$B" -mindepth 3 \( -name '*.o' -o -name '*.d' \) -printf '%P\0' |
        (cd "$B" && xargs -0 cp -a --parents -t "$1") && cp -a "$B"/{flags,haste} "$1"
}

# The clone has no build output except the objects of single sources, because the build of B already shows that these
# compile. With FULL=1 everything is compiled, without optimization, because the test only checks that files exist.
installs_from_a_fresh_clone() {
    local quickly=()
    copy_sources "$dir/clone" || return 1
    if [[ -n ${FULL:-} ]]; then
        quickly=(CFLAGS=-O0)
    else
        copy_objects "$dir/clone/build" || return 1
    fi
    (cd "$dir/clone" &&
        make --no-print-directory B=build "${quickly[@]}" PREFIX="$dir/the prefix/of strobe" DESTDIR= install)
}

# what_is_in FOLDER: lists the names of files and folders below it.
what_is_in() {
    [[ -e $1 ]] && (cd "$1" && find . | sort)
}

leaves_nothing_on_failure() {
    local status
    mkdir -p "$dir/half" && mv "$dir/clone/build/libstrobe-witness.so" "$dir/aside" &&
        mkdir "$dir/clone/build/libstrobe-witness.so" || return 1
    (cd "$dir/clone" && B=build DESTDIR= PREFIX="$dir/half" VERSION=0 LEVELS=24 ci/install)
    status=$?
    rmdir "$dir/clone/build/libstrobe-witness.so"
    mv "$dir/aside" "$dir/clone/build/libstrobe-witness.so"
    ((status != 0)) || { echo 'it says that it installed'; return 1; }
    [[ $(what_is_in "$dir/half") == . ]] || { what_is_in "$dir/half"; return 1; }
}

# A folder has the name of a man page, so the installation fails. Files from before stay, and no file is added.
puts_back_what_was_there() {
    mkdir -p "$dir/old/bin" "$dir/old/share/man/man1/strobe.1/in the way"
    echo earlier >"$dir/old/bin/strobe"
    local before
    before=$(what_is_in "$dir/old")
    (cd "$dir/clone" && B=build DESTDIR= PREFIX="$dir/old" VERSION=0 LEVELS=24 ci/install)
    local status=$?
    ((status != 0)) || { echo 'it says that it installed'; return 1; }
    [[ $(<"$dir/old/bin/strobe") == earlier && $(what_is_in "$dir/old") == "$before" ]] ||
        { diff <(echo "$before") <(what_is_in "$dir/old"); return 1; }
}

# Runs the commands from the prefix while the sources and the build directory are moved away.
everything_runs_from_the_prefix() {
    local strobe="$dir/the prefix/of strobe/bin/strobe"
    mkdir -p "$dir/elsewhere" && cp fixtures/scenarios/lock_convoy.scn "$dir/elsewhere" &&
        cd "$dir/elsewhere" || return 1
    mv "$dir/clone" "$dir/gone" || return 1
    local status=1
    seq 1 200000 >numbers
    "$strobe" record -o 'a trace.perfetto-trace' -- sort -R --random-source=numbers -o sorted numbers &&
        [[ -s 'a trace.perfetto-trace' && $(wc -l <sorted) == 200000 ]] &&
        "$strobe" report 'a trace.strobe' | grep -q '^[1-9][0-9]* samples' &&
        "$strobe" report 'a trace.perfetto-trace' | grep -q 'Methods by self time' &&
        "$strobe" convert -q 'a trace.strobe' -o x.speedscope.json && [[ -s x.speedscope.json ]] &&
        "$strobe" convert -q 'a trace.strobe' -o x.folded && [[ -s x.folded ]] &&
        "$strobe" doctor sort >doctor && "$strobe" help record >help &&
        "$strobe" run lock_convoy.scn --seed 7 -o convoy >played && [[ -s convoy/trace.pftrace ]] &&
        "$strobe" run lock_convoy.scn --mode real -o real >played && [[ -s real/trace.pftrace ]] &&
        "$strobe" run --runtime fake30 lock_convoy.scn -o fake >played && [[ -s fake/trace.pftrace ]] &&
        "$strobe" compare lock_convoy.scn --policy strobe >compared && status=0
    mv "$dir/gone" "$dir/clone"
    return $status
}

check 'make install works from a fresh clone, into a prefix with blanks' installs_from_a_fresh_clone
check 'everything runs from the prefix' everything_runs_from_the_prefix
check 'an installation that fails leaves no file' leaves_nothing_on_failure
check 'an installation that fails restores replaced files' puts_back_what_was_there
check 'make install works' installs
check 'every file is installed' has_every_file
check 'the installed command starts' command_starts
if command -v pkg-config >/dev/null; then
    check 'programs in C and C++ build with the installed files only' programs_build
    check 'a program reads a session, its threads and its hottest function' a_program_reads_a_session
    check 'a session that does not open has a status and a text' bad_sessions_have_a_status_and_a_text
else
    ((skipped++))
    echo 'skipped: pkg-config is not installed'
fi
check 'the library exports the public functions and no others' the_library_exports_the_public_functions
check 'make uninstall leaves no file' uninstalls

echo "$passed passed, $failed failed, $skipped skipped"
((failed == 0))
