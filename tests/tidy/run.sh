#!/bin/bash
# Style rules: each rule of checks.sh holds for this tree, and each rule finds the fault in a tree that breaks it.
#
# takes: 15 s
set -u
cd "$(dirname "$0")/../.." || exit 2
home=$PWD
export LC_ALL=C.UTF-8 B=${B:-build}
[[ $B == /* ]] || B=$home/$B
unset MAKEFLAGS MAKELEVEL
source tests/tidy/checks.sh
passed=0 failed=0

verdict() {
    local name=$1 faults=$2
    if [[ -z $faults ]]; then
        ((passed++))
    else
        ((failed++))
        echo "FAIL $name"
        head -n 20 <<<"$faults"
    fi
}

rules=$(sed -nE 's/^([a-z0-9_]{10,})\(\).*/\1/p' tests/tidy/checks.sh)
listed=$(all_files)
for rule in $rules; do
    verdict "$rule" "$($rule "$B")"
done
listed=

# ---- each rule finds a planted fault

planted=$(mktemp -d)
trap 'rm -rf "$planted"' EXIT

# plant PATH TEXT: writes a file of the planted tree.
plant() {
    local folder=$planted/$1
    folder=${folder%/*}
    [[ -d $folder ]] || mkdir -p "$folder"
    printf '%b' "$2" >"$planted/$1"
}

# plant_clean_tree: makes a tree in which each rule finds nothing.
plant_clean_tree() {
    rm -rf "${planted:?}"/*
    plant Makefile 'sources:\n\t@echo engine/base/used.c\n'
    plant engine/base/used.h '/* Said. */\n#ifndef STROBE_BASE_USED_H\n#define STROBE_BASE_USED_H\n#endif\n'
    plant engine/base/used.c '#include "engine/base/used.h"\nstatic int used(void)\n{\n    return 0;\n}\n'
    plant engine/README.md 'Atomics: `engine/base`, as `engine/base/used.h`.\n'
}

# list_planted: sets `listed` to the files of the planted tree, in the order that all_files gives.
list_planted() {
    local path
    shopt -s globstar nullglob
    listed=
    for path in "$planted"/**; do [[ ! -f $path ]] || listed+=${listed:+$'\n'}${path#"$planted"/}; done
    shopt -u globstar nullglob
}

# finds RULE PATH TEXT: in the clean tree with this file the rule reports a fault that names the file; without the file
# it reports none. Faults of one rule in different files are planted together: a rule judges each file by itself. The
# result without the files is taken once for a rule.
declare -A clean_faults=() faults=()
faulty_rule=
finds() {
    local rule=$1 path=$2
    [[ $rule == "$faulty_rule" && ! -v faults[$path] ]] || judge_faults
    [[ ! -e $planted/$path ]] || { verdict "the clean tree lacks $path" 'it has that file'; return; }
    faulty_rule=$rule
    faults[$path]=$3
}

# judge_faults: plants the faults that `finds` has collected, and judges what the rule reports.
judge_faults() {
    local rule=$faulty_rule path reported listed folders=()
    ((${#faults[@]})) || return 0
    list_planted
    [[ -v clean_faults[$rule] ]] || clean_faults[$rule]=$(cd "$planted" && $rule build)
    for path in "${!faults[@]}"; do plant "$path" "${faults[$path]}"; done
    list_planted
    reported=$'\n'$(cd "$planted" && $rule build)
    for path in "${!faults[@]}"; do
        if [[ -n ${clean_faults[$rule]} ]]; then
            verdict "$rule reports nothing in a clean tree" "${clean_faults[$rule]}"
        elif [[ $reported != *$'\n'"$path:"* ]]; then
            verdict "$rule finds a planted fault" "reported no fault in $path, which contains: ${faults[$path]}"
        else
            verdict "$rule finds a planted fault" ''
        fi
    done
    for path in "${!faults[@]}"; do [[ $path != */* ]] || folders+=("${path%/*}"); done
    (cd "$planted" && rm "${!faults[@]}" && rmdir -p --ignore-fail-on-non-empty "${folders[@]}") 2>/dev/null
    faults=()
}

plant_clean_tree
long=$(printf 'x%.0s' {1..121})
finds lines_fit_120_columns engine/base/a.c "$long\n"
finds sources_are_formatted engine/base/a.c 'int a [2];\n'
finds readme_fits_250_lines README.md "$(printf 'x\\n%.0s' {1..251})"
finds files_fit_900_lines engine/base/a.c "$(printf 'x\\n%.0s' {1..901})"
finds_in_large_directory() {
    rm -rf "${planted:?}"/*
    local i
    for ((i = 1; i <= 25; i++)); do plant "engine/base/a$i.c" 'int a;\n'; done
    local said
    said=$(cd "$planted" && directories_hold_24_sources build)
    rm -f "$planted/engine/base/a1.c"
    if [[ $said == engine/base:* && -z $(cd "$planted" && directories_hold_24_sources build) ]]; then
        said=
    fi
    verdict 'directories_hold_24_sources finds a planted fault' "${said:+it reported: $said}"
}
judge_faults
finds_in_large_directory
plant_clean_tree
finds tables_in_comments_keep_their_lines engine/base/a.h \
    '/* Words:\n *\n *   ONE    the first\n * of two TWO    the second */\n'
finds c_is_indented_with_blanks engine/base/a.c 'int a(void)\n{\n\treturn 0;\n}\n'
finds no_blank_ends_a_line engine/base/a.c 'int a; \n'
finds every_file_ends_with_a_newline engine/base/a.c 'int a;'
finds nothing_is_left_for_later engine/base/a.c "/* TO""DO: all */\n"
finds nothing_names_what_made_it README.md "Made by an A""I.\n"
finds nothing_names_what_made_it README.md "Made by an Ag""ent.\n"
finds nothing_names_one_machine ci/a.sh "cd /ro""ot/x\n"
finds nothing_names_one_machine ci/a.sh "cd '/tmp/w""t/x'\n"
finds nothing_names_one_machine ci/a.sh "fetch https://registry.n""pmjs.org\n"
finds headers_open_with_a_comment engine/base/a.h '#ifndef STROBE_BASE_A_H\n#define STROBE_BASE_A_H\n#endif\n'
finds header_guards_match_their_path engine/base/a.h '/* Said. */\n#ifndef A_H\n#define A_H\n#endif\n'
finds includes_are_written_from_the_root engine/base/a.c '#include "used.h"\n'
finds include_arrows_point_one_way engine/base/a.c '#include "engine/store/ring.h"\n'
finds include_arrows_point_one_way engine/host/a.h '#include "engine/store/ring.h"\n'
finds include_arrows_point_one_way engine/store/a.c '#include "engine/capture/gate.h"\n'
finds include_arrows_point_one_way engine/capture/a.c '#include "engine/backend/linux/linux.h"\n'
finds include_arrows_point_one_way engine/trace/a.c '#include "engine/capture/gate.h"\n'
finds include_arrows_point_one_way engine/trace/b.c '#include "engine/watch/anr.h"\n'
finds include_arrows_point_one_way engine/backend/a.c '#include "engine/method/rhea/art/rhea.h"\n'
finds include_arrows_point_one_way engine/method/rhea/a.c '#include "engine/backend/art/art.h"\n'
finds include_arrows_point_one_way engine/trace/c.c '#include "engine/method/matrix/matrix_entry.h"\n'
finds include_arrows_point_one_way engine/trace/import/rhea/a.c '#include "engine/method/matrix/matrix_entry.h"\n'
finds include_arrows_point_one_way engine/trace/import/rhea/b.c '#include "engine/method/rhea/art/rhea.h"\n'
finds include_arrows_point_one_way engine/watch/a.c '#include "engine/cmd/cmd.h"\n'
finds include_arrows_point_one_way sim/kernel/a.c '#include "sim/app/dist.h"\n'
finds include_arrows_point_one_way sim/score/a.c '#include "sim/runtime/run.h"\n'
finds include_arrows_point_one_way sim/player/a.c '#include "sim/cmd/lab.h"\n'
finds one_header_of_each_tracer engine/watch/a.c \
    '#include "engine/method/matrix/a.h"\n#include "engine/trace/import/matrix/a.h"\n'
finds claims_about_threads_name_what_explores_them engine/store/a.h '/* Says little.\n * It is lock-free. */\n'
finds claims_about_threads_name_what_explores_them engine/store/a.h '/* Lock-free (explored: a/b). */\n'
finds words_of_telling_stay_few tests/a.c "$(printf 'int a_caller_is_to''ld_%d;\\n' {1..50})"
finds static_functions_have_names_of_their_own engine/base/a.c 'static int used(void)\n{\n    return 0;\n}\n'
finds the_reading_half_has_no_threads engine/trace/build/a.c 'static pthread_mutex_t lock;\n'
finds the_reading_half_has_no_threads tests/unit/watch/a.c '#include <stdatomic.h>\n'
finds temporary_files_are_in_tmpdir bench/a.c 'char path[] = "/tmp/a-XXXXXX";\n'
judge_faults
plant_class() {
    local c='static x y[] = {\n    {"start", "(J)Z", f},\n};\n'
    plant engine/backend/art/java/strobe/Strobe.java '    private static native boolean start(long ns);\n'
    plant engine/backend/art/app_class.c "$c"
    plant tests/contract_art/app/Strobe.smali '.method public static native start(J)Z\n'
}
finds_other_native_methods() {
    local path=$1 said
    rm -rf "${planted:?}"/*
    plant_class
    said=$(cd "$planted" && native_methods_are_the_same_in_java_and_c build)
    [[ -z $said ]] || { verdict 'native methods that are the same' "$said"; return; }
    sed -i 's/(J)Z/(I)Z/' "$planted/$path"
    said=$(cd "$planted" && native_methods_are_the_same_in_java_and_c build)
    [[ $said == "$path"* ]] && said= || said="reported no fault in $path: $said"
    verdict 'native_methods_are_the_same_in_java_and_c finds a planted fault' "$said"
}
finds_other_native_methods engine/backend/art/app_class.c
finds_other_native_methods tests/contract_art/app/Strobe.smali
plant_clean_tree
finds no_file_is_dead engine/base/unheard_of.c 'int a;\n'
finds no_file_is_dead engine/base/unheard_of.h '/* Said. */\n'
finds top_level_holds_only_known_entries notes.txt 'x\n'
unknown="S-""99" given=tests/a.c where=tests/PROPERTIES.md
finds cited_properties_are_defined_and_tested engine/base/a.c "/* It is kept ($unknown). */\n"
finds cited_properties_are_defined_and_tested tests/unit/a.c "void it_is_kept_${unknown/-/}(void);\n"
finds cited_properties_are_defined_and_tested tests/mutants/curated/a.txt "Breaks: R-""99, a rule\n"
finds cited_properties_are_defined_and_tested "$where" "- **S-""1** A rule.\n"
finds cited_properties_are_defined_and_tested "$where" "- **S-""1** A rule.\n  Tests: \`$given\`\n"
finds cited_properties_are_defined_and_tested "$where" "- **S-""1** A rule.\n  Tests: \`engine/base/used.c\`\n"
finds tests_readme_names_each_directory tests/nowhere/run.sh 'x\n'
finds tests_readme_names_each_directory tests/unit/nowhere/a.c 'x\n'
finds directories_are_named_in_their_readme engine/unheard_of/a.c 'int a;\n'
finds directories_are_named_in_their_readme engine/base/deeper/a.h '/* Said. */\n'
finds directories_are_named_in_their_readme sim/kernel/a.S '.text\n'
finds paths_in_readmes_are_there sim/README.md 'See `engine/base/unheard_of.h`.\n'

judge_faults

# Rules that check built files, on objects and on a program that break them.
objects=$planted/objects
mkdir -p "$objects/obj/engine/store"
printf 'void *malloc(unsigned long);\nvoid *take(void);\nvoid *take(void) { return malloc(1); }\n' >"$objects/take.c"
"${CC:-gcc}" -O1 -fno-builtin -c -o "$objects/obj/engine/store/take.o" "$objects/take.c" &&
    ar rcs "$objects/libstrobe-take.a" "$objects/obj/engine/store/take.o"
printf 'int sim_take(void);\nint sim_take(void) { return 0; }\nint main(void) { return sim_take(); }\n' \
    >"$objects/lab.c"
"${CC:-gcc}" -o "$objects/strobe" "$objects/lab.c"
for rule in capture_half_links_only_what_it_may public_names_say_strobe strobe_holds_nothing_of_the_lab; do
    [[ $($rule "$objects") == *take* ]] && verdict "$rule finds a planted fault" '' ||
        verdict "$rule finds a planted fault" 'reported no fault'
done

echo "$passed passed, $failed failed"
((failed == 0))
