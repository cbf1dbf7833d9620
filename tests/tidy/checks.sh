# Style rules that a program can check, one function per rule. Sourced by run.sh.
#
# Each function checks the tree in the current directory. It prints one line per fault, `path:line: message`, and
# nothing when the rule holds. Patterns for forbidden words contain brackets, so that they do not match themselves.

# files [REGEX]: lists all files of the tree, or those whose path matches the extended regular expression. A caller that
# checks one tree by many rules sets `listed` to the list once.
files() {
    if [[ -n ${listed:-} ]]; then
        echo "$listed"
    else
        all_files
    fi | grep -E "${1:-.}"
}

all_files() {
    if [[ -e .git ]]; then
        git ls-files -co --exclude-standard | while read -r path; do [[ -e $path ]] && echo "$path"; done
    else
        find . -type f -not -path './build*' -not -path './out/*' | sed 's|^\./||'
    fi | sort
}

# Lists files that people write: all but the licence and recorded data.
written() {
    files | grep -vE '^(LICENSE$|fixtures/.*\.(bin|session|json|perfetto-trace)$)'
}

# report PATTERN MESSAGE [OPTION...]: greps the files listed on stdin and prints `path:line: message` for each hit.
report() {
    local pattern=$1 message=$2
    shift 2
    xargs -d '\n' -r grep -HnIE "$@" -e "$pattern" | cut -d: -f1,2 | sed "s|\$|: $message|"
}

lines_fit_120_columns() {
    files '\.(c|h|cc|S|sh|mk|md)$|(^|/)(Makefile|deps|run)$' | report '^.{121}' 'longer than 120 columns'
}

files_fit_900_lines() {
    files '\.(c|h|cc|S|sh|mk)$|(^|/)Makefile$' | xargs -d '\n' -r wc -l |
        awk '$2 != "total" && $1 > 900 { print $2 ":" $1 ": more than 900 lines" }'
}

# since_main: passes the paths of files that differ from main, because clang-format takes 10 s for all files. It passes
# all paths with FULL=1 or CI=true, when .clang-format differs, and when there is no commit to compare with.
since_main() {
    local differ
    if [[ -n ${FULL:-}${CI:-} || ! -e .git ]] || ! differ=$(tests/mutants/changed.py) ||
        grep -qxF .clang-format <<<"$differ"; then
        cat
    else
        grep -xF "$differ"
    fi
}

# Debian 12 has clang-format 14; other versions lay out the same file differently. Fixtures keep their layout, because
# the debug information stored beside them refers to their lines.
sources_are_formatted() {
    files '\.(c|h|cc|cpp)$' | grep -v '^fixtures/' | since_main | xargs -d '\n' -r -P 2 -n 40 \
        clang-format-14 "--style=file:$home/.clang-format" --dry-run 2>&1 |
        sed -nE 's/^([^:]+:[0-9]+):[0-9]+: warning: .*/\1: not formatted by clang-format/p' | sort -u
}

readme_fits_250_lines() {
    files '^README\.md$' | xargs -d '\n' -r wc -l | awk '$1 > 250 { print $2 ":" $1 ": more than 250 lines" }'
}

directories_hold_24_sources() {
    files '\.c$' | sed 's|/[^/]*$||' | sort | uniq -c | awk '$1 > 24 { print $2 ":1: " $1 " sources, more than 24" }'
}

# clang-format joins the lines of a table in a comment when one of them is too long. The table is then hard to read.
tables_in_comments_keep_their_lines() {
    files '^(engine|sim|tests|bench)/.*\.(c|h|inc)$' |
        report '^ \* [^ ].*[a-z.;,)] [A-Za-z_]+ {2,}[a-z]' 'a line of a table that was joined with others'
}

c_is_indented_with_blanks() {
    files '\.(c|h|cc)$' | report $'\t' 'tab'
}

no_blank_ends_a_line() {
    written | report '[ 	]+$' 'blank at the end of the line'
}

every_file_ends_with_a_newline() {
    written | python3 -c '
import sys
for path in sys.stdin.read().splitlines():
    with open(path, "rb") as file:
        text = file.read()
    if text and text[-1:] != b"\n" and b"\0" not in text:
        print(path + ":1: no newline at the end of the file")'
}

nothing_is_left_for_later() {
    written | report '\b(TO[D]O|FIX[M]E|X[X]X)\b' 'marks unfinished work'
}

nothing_names_what_made_it() {
    written | report '\b([A]I|L[L]Ms?|G[P]T|C[E]O)\b' 'a word that says nothing about Strobe'
    written | report '\b(a[g]ents?|cl[a]ude|anth[r]opic|ope[n]ai|co[p]ilot|chat[b]ots?)\b' \
        'a word that says nothing about Strobe' -i
}

nothing_names_one_machine() {
    written | report "(^|[[:space:]=:(][\"']?)/(ro[o]t|wo[r]k|ho[m]e|tmp/w[t])(/|\\b)" 'path of one machine'
    written | report '(registry\.n[p]mjs|deb\.de[b]ian\.org|py[p]i\.org|crates\.i[o]|proxy\.go[l]ang)' \
        'host of a registry'
}

headers_open_with_a_comment() {
    local path first
    files '\.h$' | while read -r path; do
        read -rN 2 first <"$path"
        [[ $first == '/*' ]] || echo "$path:1: does not start with a comment that states its purpose"
    done
}

# The include guard is the path without `engine/` or `tests/`: STROBE_BASE_MIX_H for engine/base/mix.h,
# STROBE_SIM_CMD_LAB_H for sim/cmd/lab.h, STROBE_BENCH_GBENCH_H for bench/gbench.h.
header_guards_match_their_path() {
    local path guard text
    files '\.h$' | while read -r path; do
        guard=${path#engine/} guard=${guard#tests/} guard=${guard%.h} guard=STROBE_${guard^^}_H
        guard=${guard//[^A-Z0-9]/_}
        IFS= read -rd '' text <"$path"
        text=$'\n'$text
        [[ $text == *$'\n'"#ifndef $guard"$'\n'* || $text == *$'\n'"#if !defined($guard)"* ]] &&
            [[ $text == *$'\n'"#define $guard"$'\n'* ]] || echo "$path:1: include guard is not $guard"
    done
}

includes_are_written_from_the_root() {
    files '\.(c|h|cc|S)$' | xargs -d '\n' -r grep -HnE '^[ ]*#[ ]*include "' | while IFS=: read -r path line text; do
        target=${text#*\"} target=${target%%\"*}
        [[ $path == engine/include/* ]] && target=${path%/*}/$target # public headers include each other by name
        [[ -f $target ]] || echo "$path:$line: no file $target (includes are written from the root)"
    done
}

# Which modules the files of a module may include. A module is a directory, named without `engine/`. Modules not listed
# here (tests, bench) may include all. The module method/art is engine/method/TRACER/art; it may include the backend. A
# reader, engine/trace/import/TRACER, may include the formats that engine/method/TRACER writes.
include_arrows_point_one_way() {
    files '^(engine|sim)/.*\.(c|h|S)$' | xargs -d '\n' -r grep -HnE '^[ ]*#[ ]*include "' | awk -F: '
        function module_of(path,   part) {
            split(path, part, "/")
            if (path ~ /^engine\/method\/[^\/]*\/art\//) return "method/art"
            return part[1] == "sim" ? part[1] "/" part[2] : part[1] == "engine" ? part[2] : part[1]
        }
        # Returns TRACER of a path engine/method/TRACER/FILE or engine/trace/import/TRACER/FILE, else "".
        function tracer(path, below) {
            if (index(path, below) != 1) return ""
            path = substr(path, length(below) + 1)
            return path ~ /^[^\/]*\/[^\/]*$/ ? substr(path, 1, index(path, "/") - 1) : ""
        }
        BEGIN {
            may["include"] = "include"
            may["base"] = "base include"
            may["host"] = "base host"
            may["store"] = "base store"
            may["capture"] = "base store host capture"
            may["method"] = "base store host capture method"
            may["control"] = "base control"
            may["flight"] = "base store flight"
            may["backend"] = "include base store host capture method control flight backend"
            may["method/art"] = may["backend"] " method/art"
            may["util"] = "base util"
            may["trace"] = "include base store util trace"
            may["watch"] = "base store util trace watch"
            may["cmd"] = may["backend"] " util trace watch cmd"
            may["sim/kernel"] = "base sim/kernel"
            may["sim/app"] = "base store util sim/kernel sim/app"
            may["sim/score"] = "base store util trace watch sim/score"
            may["sim/page"] = "base store util trace sim/score sim/page"
            may["sim/runtime"] = "base store host capture method util trace sim/kernel sim/app sim/score sim/runtime"
            may["sim/policy"] = may["sim/runtime"] " sim/policy"
            may["sim/genuine"] = may["backend"] " sim/kernel sim/app sim/genuine"
            may["sim/fake"] = "base backend sim/fake"
            may["sim/player"] = may["sim/policy"] " backend method/art cmd sim/genuine sim/fake sim/player"
            may["sim/trial"] = may["sim/policy"] " sim/player sim/trial"
            may["sim/explore"] = "base util trace sim/kernel sim/explore"
            may["sim/learn"] = may["sim/runtime"] " sim/learn"
            may["sim/cmd"] = may["backend"] " cmd watch sim/genuine " may["sim/trial"] \
                " sim/explore sim/learn sim/page sim/cmd"
        }
        {
            target = $3
            sub(/^[^"]*"/, "", target)
            sub(/".*/, "", target)
            if ($1 ~ /^engine\/include\// && target !~ /\//) next   # public headers include each other by name
            from = module_of($1)
            reader = tracer($1, "engine/trace/import/")
            if (reader != "" && reader == tracer(target, "engine/method/")) next
            if (index(" " may[from] " ", " " module_of(target) " ") == 0)
                print $1 ":" $2 ": " from " may not include " target
        }'
}

# A file of the engine includes at most one header of another tracer. A tracer's headers are those in
# engine/method/TRACER, engine/trace/import/TRACER and below. Files of one tracer may include each other.
one_header_of_each_tracer() {
    files '^engine/.*\.(c|h|S)$' |
        xargs -d '\n' -r grep -HnE '^[ ]*#[ ]*include "engine/(method|trace/import)/[a-z0-9]+/' | awk -F: '
        function tracer(path) {
            if (!match(path, /^engine\/(method|trace\/import)\/[a-z0-9]+\//)) return ""
            path = substr(path, 1, RLENGTH - 1)
            sub(/.*\//, "", path)
            return path
        }
        {
            target = $3
            sub(/^[^"]*"/, "", target)
            other = tracer(target)
            if (other != tracer($1) && count[$1, other]++)
                print $1 ":" $2 ": includes more than one header of " other
        }'
}

# "Tell" stood for many things; names and sentences say which: report, emit, record, notify, receive. A few words are
# others' names (the C library's) or plain English.
plain_directories='engine|sim|tests|bench|ci'
words_of_telling_stay_few() {
    local places
    places=$(written | grep -E "^($plain_directories)/" | grep -v '^bench/baseline.json$' |
        xargs -d '\n' -r grep -HnoiIwE '[a-z_0-9]*(te[l]l|to[l]d)[a-z_0-9]*')
    (($(grep -c . <<<"$places") < 50)) || sed 's/:[^:]*$/: use report, emit, record, notify or receive/' <<<"$places"
}

# The name of a static function must be unique, so that grep finds it and a stack trace identifies it.
static_functions_have_names_of_their_own() {
    files '^(engine|sim)/.*\.[ch]$' | python3 "$home/tests/tidy/statics.py"
}

# The reading half and its tests have no threads, locks or atomic operations, so the Makefile (`unthreaded`) leaves
# these tests out of the lanes that look for data races.
the_reading_half_has_no_threads() {
    files '^(engine/(trace|util|watch)|tests/unit/(diff|html|import|sched|symbols|trace|util|watch))/.*\.[ch]$' |
        report '\b(pthread_|thrd_|mtx_|sem_|atomic_|__atomic_|__sync_|strobe_trial_crowd|stdatomic)' \
            'the reading half has no threads'
}

# Temporary files are in $TMPDIR. The exception is /tmp/perf-*, because perf reads maps in /tmp only.
temporary_files_are_in_tmpdir() {
    files '^(tests|bench)/.*\.(c|h|cc)$' |
        report '"/tmp/[^p]' 'ignores TMPDIR; use temporary_path() of tests/support/temporary.h'
}

# The native methods of strobe.Strobe are declared in Java, bound in C, and declared again in the contract's workload.
native_methods_are_the_same_in_java_and_c() {
    local java=engine/backend/art/java/strobe/Strobe.java c=engine/backend/art/app_class.c
    local smali=tests/contract_art/app/Strobe.smali
    [[ -e $java ]] || return 0
    local declared
    declared=$(sed -nE 's/.* native ([A-Za-z]+) ([a-zA-Z]+)\((.*)\);/\2 \1 \3/p' "$java" | awk '
        BEGIN { code["boolean"] = "Z"; code["int"] = "I"; code["long"] = "J"; code["void"] = "V"
                code["String"] = "Ljava/lang/String;" }
        { line = $1 "("; for (i = 3; i < NF; i += 2) line = line code[$i]; print line ")" code[$2] }' | sort)
    diff <(echo "$declared") <(sed -nE 's/^ *\{"([a-zA-Z]+)", "([^"]+)", .*/\1\2/p' "$c" | sort) >/dev/null ||
        echo "$c:1: binds other native methods than $java declares"
    diff <(echo "$declared") <(sed -n 's/^\.method public static native //p' "$smali" | sort) >/dev/null ||
        echo "$smali:1: declares other native methods than $java"
}

# A source is compiled by the Makefile (`make sources`) or named in a script. A header is included by some file.
no_file_is_dead() {
    local scripts path name
    local -A compiled included
    while read -r path; do
        compiled[$path]=1
    done < <(make -s B=none sources 2>/dev/null)
    scripts=$(files '\.(sh|mk)$|(^|/)Makefile$|^(bench|ci|tests)/[^.]*$' | xargs -d '\n' -r cat |
        tr -d '\0')
    files '\.(c|cc|S)$' | while read -r path; do
        [[ -z ${compiled[$path]:-} ]] || continue
        name=${path##*/}
        [[ $scripts == *"${name%.*}"* ]] || echo "$path:1: neither the Makefile nor a script compiles it"
    done
    while read -r path; do
        included[$path]=1
    done < <(files '\.(c|h|cc|S)$' | xargs -d '\n' -r grep -hoE '^[ ]*#[ ]*include ["<][^">]+' |
        sed 's/.*["<]//' | sort -u)
    files '\.h$' | while read -r path; do
        [[ -n ${included[$path]:-}${included[${path##*/include/}]:-} ]] ||
            files '\.mk$' | xargs -d '\n' grep -qF -e "-include $path" /dev/null || echo "$path:1: no file includes it"
    done
}

# A comment of an engine header that claims a property of threads (lock-free, wait-free, async-signal-safe, bounded
# steps, validated) names the programs of tests/explore that check it: `explored: ring/lap, ring/frozen`.
claims_about_threads_name_what_explores_them() {
    local known
    known=$(cat tests/explore/*.c tests/explore/*/*.c 2>/dev/null | grep -oE '"[a-z]+/[a-z0-9-]+"' | tr -d '"' |
        sort -u | tr '\n' ' ')
    files '^engine/.*\.h$' | xargs -d '\n' -r awk -v known=" $known" '
        /\/\*/ { block = ""; at = FNR }
        { line = $0; sub(/^ *\/?\*/, "", line); block = block line }
        /\*\// {
            if (tolower(block) ~ /lock-free|wait-free|async-signal-safe|bounded steps|validated/) {
                if (!match(block, /explored: [a-z0-9\/, -]*/)) print FILENAME ":" at ": claim without explored: NAME"
                else {
                    n = split(substr(block, RSTART + 10, RLENGTH - 10), name, /[, ]+/)
                    for (i = 1; i <= n; i++)
                        if (name[i] ~ /\// && index(known, " " name[i] " ") == 0)
                            print FILENAME ":" at ": no program " name[i] " in tests/explore"
                }
            }
            block = ""
        }'
}

# tests/PROPERTIES.md defines each id that the tree cites (S-10, R-7, ..._S10). For each property it names tests that
# exist and cite the property, or states why there is no test.
cited_properties_are_defined_and_tested() {
    written | python3 "$home/tests/tidy/properties.py"
}

# tests/README.md names each directory of tests, down to the second level: `tests/unit/store`.
tests_readme_names_each_directory() {
    local text
    text=$(cat tests/README.md 2>/dev/null)
    files '^tests/[^/]*/' | awk -F/ '{ print $1 "/" $2, $0 } NF > 3 { print $1 "/" $2 "/" $3, $0 }' |
        sort -u -k1,1 | while read -r directory path; do
            [[ $text == *"\`$directory\`"* ]] ||
                echo "$path:1: tests/README.md does not name \`$directory\`"
        done
}

# The root of the tree contains only these files and directories.
top_level_holds_only_known_entries() {
    files | cut -d/ -f1 | sort -u |
        grep -vxE '\.(ci|clang-format|editorconfig|git(-blame-ignore-revs|hub|ignore))|LICENSE|Makefile|README\.md' |
        grep -vxE 'bench|ci|engine|fixtures|sim|tests' | sed 's/$/:1: not a known entry of the top level/'
}

# engine/README.md names each directory below engine/ that contains sources, and sim/README.md each one below sim/: by
# its path in backticks, down to the third level (`engine/trace/import/rhea`). The fault names the directory's first
# source.
directories_are_named_in_their_readme() {
    local -A text
    text[engine]=$(cat engine/README.md 2>/dev/null) text[sim]=$(cat sim/README.md 2>/dev/null)
    files '^(engine|sim)/.*\.(c|h|S)$' | awk -F/ '{
        name = $1 "/" $2
        for (i = 3; i < NF && i <= 4; i++) name = name "/" $i
        if (!(name in seen)) print name, $0
        seen[name] = 1
    }' | while read -r directory path; do
        [[ ${text[${directory%%/*}]} == *"\`$directory\`"* ]] ||
            echo "$path:1: ${directory%%/*}/README.md does not name $directory"
    done
}

# A path from the root that a README names in backticks exists: `engine/store/ring.h`. A path with NAME is a pattern and
# not checked.
paths_in_readmes_are_there() {
    files '(^|/)README\.md$' |
        xargs -d '\n' -r grep -HnoE '`(bench|ci|engine|fixtures|sim|tests)/[][A-Za-z0-9_.*/-]+`' | tr -d '`' |
        while IFS=: read -r readme line path; do
            [[ $path == *NAME* ]] || compgen -G "$path" >/dev/null || echo "$readme:$line: $path does not exist"
        done
}

# The capture half links only the system functions listed in tests/tidy/capture-symbols.txt, one name per line. Its
# directories control and flight also link the functions in control-symbols.txt and flight-symbols.txt. They must not
# link others (heap, stdio, locks), even unused. The rule checks the built objects: $1 is B.
capture_half_links_only_what_it_may() {
    local objects half symbol object
    local -A listed_for=()
    mapfile -t objects < <(find "$1"/obj/engine/{base,store,capture,method,host,control,flight} -name '*.o' \
        -not -path '*/method/*/art/*' 2>/dev/null)
    ((${#objects[@]})) || return 0
    for half in capture control flight; do
        while IFS= read -r symbol; do listed_for[$half $symbol]=1; done <"$home/tests/tidy/$half-symbols.txt"
    done
    nm -u -A "${objects[@]}" | sed -E 's/^([^:]*):.* [Uw] ([^@ ]*).*/\2 \1/' | sort -u |
        grep -vE '^(__(asan|ubsan|tsan|gcov|sanitizer|llvm)|_GLOBAL_OFFSET_TABLE_|strobe_)' |
        while read -r symbol object; do
            half=${object#"$1"/obj/engine/}
            [[ -v listed_for["capture $symbol"] || -v listed_for["${half%%/*} $symbol"] ]] ||
                echo "$object:1: links $symbol, which tests/tidy/capture-symbols.txt does not list"
        done
}

# Global symbols of the libraries begin with strobe_. Those of the lab, which is linked into a command only, may begin
# with sim_ or explore_, or with __tsan_ for functions that instrumented code calls.
public_names_say_strobe() {
    find "$1" -maxdepth 1 -name 'libstrobe-*.a' -print0 2>/dev/null | xargs -0 -r nm -A -g --defined-only 2>/dev/null |
        sed -nE 's/^([^ ]*):[0-9a-f]* [A-Z] (.*)/\1 \2/p' |
            grep -vE ' (strobe_|JNI_OnLoad$|__(asan|odr|gcov|llvm|x86))|libstrobe-sim.* (sim|explore|__tsan)_' |
        sed -E 's/^(\S+) (.*)/\1:1: public name \2 lacks strobe_/'
}

# The command `strobe` is small and contains no symbol of the lab: $1 is B.
strobe_holds_nothing_of_the_lab() {
    local stripped bytes
    [[ -x $1/strobe ]] || return 0
    nm "$1/strobe" | sed -nE "s|.* [A-Za-z] ((sim\|explore)_.*)|$1/strobe:1: holds \1|p"
    stripped=$(mktemp) && strip -o "$stripped" "$1/strobe" && bytes=$(stat -c %s "$stripped")
    ((bytes <= 1500000)) || echo "$1/strobe:1: $bytes bytes when stripped, more than 1500000"
    rm -f "$stripped"
}
