#!/bin/bash
# `make install` works from a fresh clone, installs all files or none, and everything runs from the prefix. The
# installed files are complete: programs in C and C++ that are built with these files only record themselves and read
# sessions, the command starts, and the libraries export the public functions and no others. `make uninstall` removes
# all files.
#
# takes: 15 s
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
        lib/pkgconfig/strobe-{trace,capture}.pc lib/libstrobe-{trace,capture}.{a,so,so.0} \
        include/strobe/{capture,session,status,trace}.h \
        share/man/man1/{strobe,strobe-{record,capture,report,convert,export,diff,merge,open}}.1 \
        share/man/man1/strobe-{doctor,symbolize,import,lab,run,compare,explore,learn}.1 \
        share/man/man5/strobe-{scenario,session}.5; do
        [[ -s $dir/opt/strobe/$path ]] || { echo "missing $path"; return 1; }
    done
}

command_starts() {
    "$dir/opt/strobe/bin/strobe" --version
}

# flags LIBRARY ARGUMENT...: prints the output of pkg-config for the installed library.
flags() {
    PKG_CONFIG_PATH=$dir/opt/strobe/lib/pkgconfig \
        pkg-config --define-variable=prefix="$dir/opt/strobe" "${@:2}" "$1"
}

# Builds as another project does, without a file of this tree in the search paths.
programs_build() {
    local flags static
    flags=$(flags strobe-trace --cflags --libs) && static=$(flags strobe-trace --static --cflags --libs) || return 1
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

self_recording_programs_build() {
    local flags static
    flags=$(flags strobe-capture --cflags --libs) &&
        static=$(flags strobe-capture --static --cflags --libs) || return 1
    cp tests/install/{recorded.c,sections.cc,opened.c} "$dir" && cd "$dir" &&
        gcc -std=c11 -D_GNU_SOURCE -O2 -g -Wall -Wextra -Wpedantic -Werror -o recorded recorded.c $flags -pthread &&
        g++ -std=c++11 -O2 -g -Wall -Wextra -Wpedantic -Werror -o sections sections.cc $flags &&
        gcc -std=c11 -D_GNU_SOURCE -O2 -g -Wall -Wextra -Werror -o recorded-static recorded.c \
            $(sed 's/-lstrobe-capture/-l:libstrobe-capture.a/' <<<"$static") &&
        gcc -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -o opened opened.c ${flags%% -l*}
}

# shows SESSION FILE TEXT...: the texts are in the session's trace of FILE's format.
shows() {
    local text
    opt/strobe/bin/strobe convert -q -f "$1" -o "$2" || return 1
    for text in "${@:3}"; do
        grep -qE "$text" "$2" || { echo "$1: not in the trace: $text"; return 1; }
    done
}

a_program_records_itself() {
    cd "$dir" || return 1
    local program
    for program in recorded recorded-static; do
        rm -f own.strobe
        run_installed $program own.strobe fork >out || { cat out; return 1; }
        shows own.strobe own.folded '^(.*;)?main;hot_function [0-9]' 'early_worker [0-9]' 'late_worker;hot_function' &&
            shows own.strobe own.json '"ph":"b".*"inner section".*"cat":"[^"]*: sections, level 2"' \
                '"ph":"b".*"late work".*"cat":"late: sections' '"ph":"C".*"frames".*"value":-2' \
                '"ph":"C".*"queued","id":[0-9]*,.*"value":5' \
                '"ph":"b".*"left open"' && ! grep -q 'not recorded' own.json &&
            opt/strobe/bin/strobe report own.strobe | grep -q 'none lost.*the accounting is consistent' || return 1
    done
    rm -f own.strobe
    run_installed recorded own.strobe child >out || { cat out; return 1; }
    rm -f own.strobe
    run_installed sections own.strobe && shows own.strobe own.json '"ph":"b".*"from C\+\+"'
}

# says TEXT COMMAND...: the command prints the text, in one line.
says() {
    local out
    out=$("${@:2}")
    [[ $out == "$1"* && $(wc -l <<<"$out") == 1 ]] || { echo "$out"; return 1; }
}

a_capture_that_cannot_start_has_a_status_and_a_text() {
    cd "$dir" && echo kept >there.strobe && mkdir -p "a folder" || return 1
    says 'exists already: there.strobe: exists already' run_installed recorded there.strobe exists &&
        [[ $(<there.strobe) == kept ]] &&
        says 'input/output error: nowhere/x: cannot make a session of ' run_installed recorded nowhere/x fails &&
        says 'exists already: the process is captured already, by strobe record' \
            opt/strobe/bin/strobe record -q -f --no-convert -o outer.strobe -- \
            env "LD_LIBRARY_PATH=$dir/opt/strobe/lib" ./recorded own2.strobe exists || return 1
    says "not supported here: the library's functions do not take the place of the C library's" \
        run_installed opened "$dir/opt/strobe/lib/libstrobe-capture.so" own3.strobe && [[ ! -e own3.strobe ]]
}

# public_functions HEADER...: prints the functions that the public headers declare.
public_functions() {
    sed -nE 's/^STROBE_API .*[ *](strobe_[a-z_]+)\(.*/\1/p' "${@/#/$dir/opt/strobe/include/strobe/}" | sort
}

exported() {
    nm -D --defined-only "$1" | awk '{ sub(/@.*/, "", $3); print $3 }' | sort -u
}

# The library of capture also exports its hooks, which have the names of functions of the C library.
the_libraries_export_the_public_functions() {
    local lib=$dir/opt/strobe/lib libc
    libc=$(gcc -print-file-name=libc.so.6)
    [[ $(public_functions session.h trace.h | wc -l) -ge 8 && $(public_functions capture.h | wc -l) -ge 9 ]] &&
        diff <(exported "$lib/libstrobe-trace.so.0") <(public_functions session.h trace.h) &&
        diff <(comm -23 <(exported "$lib/libstrobe-capture.so.0") <(exported "$libc")) <(public_functions capture.h) &&
        diff <(nm -g --defined-only "$lib/libstrobe-capture.a" | awk 'NF == 3 { print $3 }' | sort -u) \
            <(exported "$lib/libstrobe-capture.so.0")
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

# copy_programs FOLDER: copies what `make install` copied from B.
copy_programs() {
    mkdir -p "$1" && cp -a "$B"/{strobe,strobe-lab,strobe-player*,libstrobe-*.so,libapp.so,lib,art,completion} "$1"
}

# The clone has no build output except the objects of single sources, because the build of B already shows that these
# compile. With FULL=1 everything is compiled, without optimization, because the test only checks that files exist.
#
# make links all programs in the clone, which takes 10 s. Only a change of the build's own files can break that, so
# otherwise ci/install installs the programs of B.
installs_from_a_fresh_clone() {
    local make=(make --no-print-directory B=build PREFIX="$dir/the prefix/of strobe" DESTDIR=)
    copy_sources "$dir/clone" || return 1
    if [[ -n ${FULL:-} ]]; then
        (cd "$dir/clone" && "${make[@]}" CFLAGS=-O0 install)
    elif tests/mutants/changed.py Makefile '*.mk' 'ci/*' 'tests/install/*'; then
        copy_objects "$dir/clone/build" && (cd "$dir/clone" && "${make[@]}" install)
    else
        copy_programs "$dir/clone/build" && install_to "$dir/the prefix/of strobe" "$(cd "$B/art" && echo *)"
    fi
}

# install_to PREFIX LEVELS: installs the programs that the clone's build has.
install_to() {
    (cd "$dir/clone" && B=build DESTDIR= PREFIX=$1 VERSION=0 LEVELS=$2 ci/install)
}

# what_is_in FOLDER: lists the names of files and folders below it.
what_is_in() {
    [[ -e $1 ]] && (cd "$1" && find . | sort)
}

leaves_nothing_on_failure() {
    local status
    mkdir -p "$dir/half" && mv "$dir/clone/build/libstrobe-probes.so" "$dir/aside" &&
        mkdir "$dir/clone/build/libstrobe-probes.so" || return 1
    install_to "$dir/half" 24
    status=$?
    rmdir "$dir/clone/build/libstrobe-probes.so"
    mv "$dir/aside" "$dir/clone/build/libstrobe-probes.so"
    ((status != 0)) || { echo 'it says that it installed'; return 1; }
    [[ $(what_is_in "$dir/half") == . ]] || { what_is_in "$dir/half"; return 1; }
}

# A folder has the name of a man page, so the installation fails. Files from before stay, and no file is added.
puts_back_what_was_there() {
    mkdir -p "$dir/old/bin" "$dir/old/share/man/man1/strobe.1/in the way"
    echo earlier >"$dir/old/bin/strobe"
    local before
    before=$(what_is_in "$dir/old")
    install_to "$dir/old" 24
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
    seq 1 50000 >numbers
    "$strobe" record -o 'a trace.perfetto-trace' -- sort -R --random-source=numbers -o sorted numbers &&
        [[ -s 'a trace.perfetto-trace' && $(wc -l <sorted) == 50000 ]] &&
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

check 'make install works' installs
check 'make install works from a fresh clone, into a prefix with blanks' installs_from_a_fresh_clone
check 'everything runs from the prefix' everything_runs_from_the_prefix
check 'an installation that fails leaves no file' leaves_nothing_on_failure
check 'an installation that fails restores replaced files' puts_back_what_was_there
check 'every file is installed' has_every_file
check 'the installed command starts' command_starts
if command -v pkg-config >/dev/null; then
    check 'programs in C and C++ build with the installed files only' programs_build
    check 'a program reads a session, its threads and its hottest function' a_program_reads_a_session
    check 'a session that does not open has a status and a text' bad_sessions_have_a_status_and_a_text
    check 'programs that record themselves build with the installed files alone' self_recording_programs_build
    check 'a program records itself, with its sections and counters' a_program_records_itself
    check 'a capture that cannot start has a status and a text' a_capture_that_cannot_start_has_a_status_and_a_text
else
    ((skipped++))
    echo 'skipped: pkg-config is not installed'
fi
check 'the libraries export the public functions and no others' the_libraries_export_the_public_functions
check 'make uninstall leaves no file' uninstalls

echo "$passed passed, $failed failed, $skipped skipped"
((failed == 0))
