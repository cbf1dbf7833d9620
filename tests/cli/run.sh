#!/bin/bash
# The command `strobe` from a user's point of view: wrong arguments, bad files, full disks, and the guarantees of the
# help texts.
#
#   B=DIR tests/cli/run.sh [PATTERN]     PATTERN: runs only tests whose name matches it
#
# takes: 26 s
set -u
cd "$(dirname "$0")/../.." || exit 2
home=$PWD
export LC_ALL=C.UTF-8 B=${B:-build}
[[ $B == /* ]] || B=$home/$B
strobe=$B/strobe
only=${1:-}
suite=tests/cli/run.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
cd "$work" || exit 2
source "$home/tests/cli/verdict.sh"

# ---- a session and traces to work with

seq 1 200000 | shuf --random-source=<(yes) >lines
if ! "$strobe" record -q -f --no-convert -o good.strobe -- sort -o sorted lines 2>err; then
    echo "FAIL set-up: cannot record: $(<err)"
    echo "0 passed, 1 failed"
    exit 1
fi
run "$strobe" convert -q good.strobe -o good.perfetto-trace
((status == 0)) || { echo "FAIL set-up: cannot convert: $(<err)"; echo "0 passed, 1 failed"; exit 1; }
run "$strobe" convert -q --deflate good.strobe -o deflated.perfetto-trace

cat >SB.litmus <<'END'
C SB
{ [x] = 0; [y] = 0; }
P0 (atomic_int *x, atomic_int *y) {
  atomic_store_explicit(x, 1, memory_order_relaxed);
  int r0 = atomic_load_explicit(y, memory_order_relaxed);
}
P1 (atomic_int *x, atomic_int *y) {
  atomic_store_explicit(y, 1, memory_order_relaxed);
  int r0 = atomic_load_explicit(x, memory_order_relaxed);
}
exists (0:r0=0 /\ 1:r0=0)
END

# ---- wrong arguments

is_refused no_command 'which command' "$strobe"
is_refused unknown_command 'no such command: frobnicate' "$strobe" frobnicate
is_refused unknown_help 'no such command: frobnicate' "$strobe" help frobnicate
is_refused help_of_two 'one command' "$strobe" help record report
for command in run compare explore learn record capture convert export diff merge open report symbolize import \
    doctor; do
    is_refused "unknown_option_$command" 'no such option: --frobnicate' "$strobe" $command --frobnicate
    is_refused "unknown_letter_$command" 'no such option: -Z' "$strobe" $command -Z
done
is_refused value_missing 'needs a value' "$strobe" convert good.strobe -o
is_refused value_unasked 'takes no value' "$strobe" report --json=yes good.strobe
is_refused report_of_nothing 'which session' "$strobe" report
is_refused report_of_two 'one file at a time' "$strobe" report good.strobe good.strobe
is_refused convert_of_nothing 'which session' "$strobe" convert -o x
is_refused findings_in_folded_stacks '--findings is for the perfetto' "$strobe" convert --findings good.strobe -o x.txt
is_refused frames_without_findings '--frames needs --findings' "$strobe" convert --frames x good.strobe -o x.json
is_refused convert_to_nowhere 'where to' "$strobe" convert good.strobe
is_refused merge_of_nothing 'which files' "$strobe" merge -o x
is_refused merge_to_nowhere 'where to' "$strobe" merge good.strobe
is_refused merge_of_a_missing_file 'nowhere: No such file' "$strobe" merge good.strobe --system nowhere -o x
is_refused merge_of_no_known_file 'lines: line 1: expected a session, a Perfetto trace, or ftrace text' \
    "$strobe" merge good.strobe --system lines -o x
is_refused merge_offset 'expected a time such as' "$strobe" merge good.strobe --offset soon -o x
is_refused merge_to_an_input 'is an input itself' "$strobe" merge -f good.strobe -o good.strobe
printf 'a-1 (1) [000] d..2 9.000001: sched_waking: comm=b pid=2 prio=120 target_cpu=000\n' >early.txt
is_refused merge_without_a_common_clock 'early.txt: no clock in common: its times are 9.000 s to 9.000 s' \
    "$strobe" merge good.strobe --system early.txt -o x
printf '<!DOCTYPE html>\n<p>nothing</p>\n' >page.html
is_refused merge_of_a_page 'page.html: HTML without ftrace text' "$strobe" merge --system page.html -o x
is_refused symbolize_of_nothing 'which session' "$strobe" symbolize --mapping m -o x
is_refused symbolize_to_nowhere 'where to' "$strobe" symbolize --mapping m good.strobe
is_refused symbolize_by_nothing 'which mapping' "$strobe" symbolize good.strobe -o x
is_refused symbolize_by_no_file 'nowhere: cannot read' "$strobe" symbolize --mapping nowhere good.strobe -o x
is_refused symbolize_by_no_mapping 'lines:1: expected a class' "$strobe" symbolize --mapping lines good.strobe -o x
printf 'com.A -> a.b:\n' >mapping.txt
is_refused symbolize_without_names 'expected a session with names' \
    "$strobe" symbolize --mapping mapping.txt good.strobe -o x
is_refused symbolize_by_two 'one of them' "$strobe" symbolize --mapping m --dsym d good.strobe -o x
is_refused symbolize_by_no_image 'lines: expected a Mach-O file' \
    "$strobe" symbolize --dsym lines good.strobe -o x
is_refused convert_of_two 'one session at a time' "$strobe" convert good.strobe good.strobe -o x
is_refused time_without_unit 'expected a time' "$strobe" convert good.strobe -o x --from 5
is_refused part_of_nothing 'later than --from' "$strobe" convert good.strobe -o x --from 2s --to 1s
is_refused unknown_format 'expected perfetto, chrome' "$strobe" convert good.strobe -o x --format svg
is_refused deflated_json '--deflate is for the perfetto format' "$strobe" convert good.strobe -o x.json --deflate
for value in '' x -1 1e3 99999999999999999999; do
    is_refused "top_of_${value:-nothing}" 'expected a number' "$strobe" report --top "$value" good.strobe
done
is_refused gap_of_zero 'expected a number' "$strobe" report --gap-ms 0 good.strobe
is_refused by_colour 'expected wall, cpu or alloc' "$strobe" report --by colour good.strobe
is_refused gap_of_a_trace 'is a trace' "$strobe" report --gap-ms 5 good.perfetto-trace
is_refused page_of_a_trace 'is a trace: --html is for' "$strobe" report --html x good.perfetto-trace
is_refused page_of_a_folder 'a folder of sessions' "$strobe" report --html x .
is_refused page_of_a_missing_file 'nowhere: No such file' "$strobe" report --html x nowhere
is_refused page_as_json '--json does not go with --html' "$strobe" report --html x --json good.strobe
is_refused page_of_callers '--of does not go with --html' "$strobe" report --html x --of main good.strobe
is_refused page_onto_a_file 'lines: exists already' "$strobe" report --html lines good.strobe
is_refused page_to_nowhere 'expected a file name' "$strobe" report --html '' good.strobe
is_refused force_without_a_page '--force is for' "$strobe" report --force good.strobe
is_refused page_of_a_comparison_to_nowhere 'expected a file name' "$strobe" diff --html '' good.strobe good.strobe
is_refused page_and_stacks_in_one_file 'need two files' "$strobe" diff --html x.svg -o x.svg good.strobe good.strobe
is_refused open_of_nothing 'which trace' "$strobe" open
is_refused open_of_two 'one trace at a time' "$strobe" open a b
is_refused open_of_a_missing_file 'nowhere: No such file' "$strobe" open --no-browser nowhere
is_refused open_of_a_session '`strobe convert` makes a trace' "$strobe" open --no-browser good.strobe
is_refused open_of_a_folder 'not a folder' "$strobe" open --no-browser .
is_refused open_of_a_device 'expected a file with a trace' "$strobe" open --no-browser /dev/null
is_refused open_of_no_trace 'lines: expected a Perfetto or JSON trace' "$strobe" open --no-browser lines
is_refused open_at_no_port 'expected a number from 0 to 65535' "$strobe" open --port 65536 good.perfetto-trace
for ui in ui.perfetto.dev https:// 'https://a b' 'https://a/"' https://a/#x 'https://a@b' $'https://a\r\nX: y'; do
    is_refused "open_in_$ui" 'expected an address such as' "$strobe" open --no-browser --ui "$ui" good.perfetto-trace
done
is_refused findings_of_a_trace 'is a trace: --findings is for' "$strobe" report --findings good.perfetto-trace
is_refused findings_by_cpu '--by does not go with --findings' "$strobe" report --findings --by cpu good.strobe
is_refused threshold_without_findings '--evil-ms needs --findings' "$strobe" report --evil-ms 5 good.strobe
for option in evil-ms lag-ms anr-ms cold-ms warm-ms block-ms refresh; do
    is_refused "${option}_of_nothing" "--$option 0: expected a number" \
        "$strobe" report --findings --$option 0 good.strobe
done
is_refused frames_of_no_name 'expected names of methods' "$strobe" report --findings --frames ';;' good.strobe
is_refused findings_of_a_missing_file 'nowhere: No such file' "$strobe" report --findings nowhere
is_refused doctor_of_two 'one program at most' "$strobe" doctor a b
printf 'folder = /dumps\nstall = 2\n' >wrong.conf
is_refused doctor_of_a_wrong_flight_recorder 'wrong.conf: line 2: stall = 2: expected a time' \
    "$strobe" doctor --flight wrong.conf
is_refused doctor_of_no_flight_recorder 'none.conf: cannot be read' "$strobe" doctor --flight none.conf
is_refused import_of_nothing 'which kind' "$strobe" import
is_refused import_of_another_kind 'no such kind: frobnicate' "$strobe" import frobnicate x
is_refused import_without_file 'which file' "$strobe" import matrix-events
is_refused import_of_two 'one file at a time' "$strobe" import matrix-events a b
is_refused import_contract 'expected documented or upstream' "$strobe" import matrix-events --contract sworn x
is_refused record_to_no_name 'record: -o: expected a file name' "$strobe" record -o '' -- true
is_refused record_session_to_no_name 'record: -o: expected a file name' "$strobe" record --no-convert -o '' -- true
: >nothing
echo '<!DOCTYPE x [<!ENTITY a "b">]><x>&a;</x>' >entities.xml
for kind in matrix-events matrix-log; do
    is_refused "import_${kind}_of_an_empty_file" 'nothing: is empty, expected' "$strobe" import $kind nothing
done
is_refused merge_of_an_empty_file 'nothing: empty, expected a session' "$strobe" merge nothing -o x
for kind in btrace3 btrace-ios perf simpleperf gecko collapsed instruments; do
    is_refused "import_${kind}_of_nothing" 'which file' "$strobe" import $kind -o x.strobe
    is_refused "import_${kind}_to_nowhere" 'where to' "$strobe" import $kind nothing
    is_refused "import_${kind}_of_an_empty_file" 'nothing: ' "$strobe" import $kind nothing -o x.strobe
    is_refused "import_${kind}_missing_file" 'nowhere: No such file' "$strobe" import $kind nowhere -o x.strobe
    is_refused "import_${kind}_interval" 'expected a time such as 1ms' "$strobe" import $kind --interval 0 x -o x.strobe
done
is_refused import_art_trace_of_an_empty_file 'nothing: byte 0: expected' \
    "$strobe" import art-trace nothing -o x.strobe
is_refused import_perf_of_two 'one file at a time' "$strobe" import perf a b -o x.strobe
is_refused import_perf_pid 'expected the number of a process' "$strobe" import perf --pid 0 a -o x.strobe
is_refused import_collapsed_threads 'expected auto, first or none' "$strobe" import collapsed --threads x a -o x.strobe
is_refused import_collapsed_unit 'expected a time such as 1ms' "$strobe" import collapsed --unit 0ns a -o x.strobe
is_refused import_instruments_pid 'expected the number of a process' \
    "$strobe" import instruments --pid x a -o x.strobe
is_refused import_instruments_with_entities 'entities.xml: line 1: a document type declaration' \
    "$strobe" import instruments entities.xml -o x.strobe
is_refused import_btrace_ios_trace 'expected a number from 0 to 255' \
    "$strobe" import btrace-ios --trace 256 a -o x.strobe
is_refused import_btrace_ios_of_another_trace 'trace 9 is not in the database, which has 1' \
    "$strobe" import btrace-ios --trace 9 "$home/fixtures/imports/shop.btrace-ios" -o x.strobe
if wanted import_reports_a_log_that_is_not_read; then
    cp "$home/fixtures/imports/shop.btrace-ios" logged.sqlite
    printf 1234 >logged.sqlite-wal
    run "$strobe" import btrace-ios logged.sqlite -o logged.strobe
    [[ $status == 0 && $(<err) == *'logged.sqlite: bytes of a write-ahead log beside it, not read: 4'* ]] && fault= ||
        fault="status $status: $(<err)"
    verdict import_reports_a_log_that_is_not_read "$fault"
fi
is_refused import_samples_onto_themselves 'is also the input' \
    "$strobe" import collapsed "$home/fixtures/imports/shop.collapsed" -fo "$home/fixtures/imports/shop.collapsed"
is_refused import_samples_format 'expected perfetto, chrome, speedscope, folded or session' \
    "$strobe" import perf --format ftrace a -o x.ftrace
is_refused import_samples_deflate '--deflate is for the perfetto format' "$strobe" import perf --deflate a -o x.strobe
if wanted import_samples_are_sessions; then
    fault=
    for file in btrace3:notify.btrace3 perf:perf.txt simpleperf:shop.simpleperf gecko:page.gecko.json \
        collapsed:shop.collapsed instruments:shop.instruments.xml btrace-ios:shop.btrace-ios; do
        "$strobe" import "${file%:*}" "$home/fixtures/imports/${file#*:}" -qfo samples.strobe >out 2>err ||
            fault+=" $file: $(<err)"
        "$strobe" report --verbose samples.strobe >out 2>err || fault+=" $file: report: $(<err)"
        grep -q 'The accounting is consistent' out || fault+=" $file: $(tail -n 1 out)"
        "$strobe" convert samples.strobe -fo one.folded 2>err || fault+=" $file: convert: $(<err)"
        "$strobe" import "${file%:*}" - -qfo two.folded <"$home/fixtures/imports/${file#*:}" 2>err ||
            fault+=" $file: standard input: $(<err)"
        [[ $file == btrace3:* ]] || cmp -s one.folded two.folded || fault+=" $file: folded differs"
    done
    verdict import_samples_are_sessions "$fault"
fi
if wanted import_of_a_method_trace; then
    run "$strobe" import art-trace "$home/fixtures/imports/shop.trace" -o methods.folded
    [[ $status == 0 && $(<methods.folded) == *'Cart.load()V;com.example.shop.Json.parse()V 3200'* ]] &&
        fault= || fault="status $status: $(<err) $(<methods.folded)"
    verdict import_of_a_method_trace "$fault"
fi
if wanted import_samples_says_what_is_left_out; then
    { cat "$home/fixtures/imports/shop.collapsed"; echo damaged; } >damaged.collapsed
    run "$strobe" import collapsed damaged.collapsed -o imported-too.strobe
    fault=
    [[ $status == 0 && $(<err) == 'damaged.collapsed: lines not understood, left out, the first is line 7: 1' ]] ||
        fault="status $status: $(<err)"
    verdict import_samples_says_what_is_left_out "$fault"
fi
for use in 'convert -o x.json' 'symbolize -o x --jit lines' report; do
    is_refused "${use%% *}_of_an_empty_file" 'nothing: byte 0: an empty file, expected a session' "$strobe" $use nothing
done
if wanted one_process_in_a_folder; then
    mkdir -p lone.strobe && cp good.strobe lone.strobe/main.strobe
    run "$strobe" report lone.strobe
    [[ $(head -n 1 out) == '1 process' ]] && fault= || fault=$(head -n 1 out; cat err)
    verdict one_process_in_a_folder "$fault"
fi
if wanted broken_invariants_have_their_status; then
    fault=
    for command in run compare; do
        run "$strobe" help $command
        [[ $(<out) == *'1 an invariant was broken'* ]] || fault+=" $command"
    done
    verdict broken_invariants_have_their_status "$fault"
fi
is_refused import_missing_file 'nowhere: No such file' "$strobe" import matrix-events nowhere
is_refused import_missing_log 'nowhere: No such file' "$strobe" import matrix-log nowhere
is_refused record_of_nothing 'which program' "$strobe" record
is_refused record_clock 'expected exact or 5ms' "$strobe" record --method --method-clock soon -- true
is_refused record_call_log 'expected a size from 1M' "$strobe" record --method --method-log 100k -- true
is_refused record_samples_beside_nothing 'go with --method' "$strobe" record --with-samples -- true
is_refused convert_repair 'expected last or enclosing' "$strobe" convert --repair first good.strobe -o x.json
is_refused report_repair 'expected last or enclosing' "$strobe" report --repair first good.strobe
is_refused report_repair_of_a_trace 'is for sessions' "$strobe" report --repair last good.perfetto-trace

source "$home/tests/cli/first_steps.sh"

# verdicts_of FILE CHECK...: runs the wanted checks of a file of Python, each of which prints its faults.
verdicts_of() {
    local file=$1 name fault chosen=() judged=0
    shift
    for name; do ! wanted "$name" || chosen+=("$name"); done
    ((${#chosen[@]})) || return 0
    while IFS=$'\t' read -r name fault; do
        verdict "$name" "$fault"
        ((++judged))
    done < <(python3 "$home/tests/cli/$file" "$work" "$strobe" "$man" "${chosen[@]}" 2>err)
    ((judged == ${#chosen[@]})) || verdict "$file" "it judged $judged of ${#chosen[@]} checks: $(<err)"
}

man=$home/engine/cmd/man
source "$home/tests/cli/parts.sh"

# ---- bad files

# Each command that reads a session refuses this file, names it, and writes no file.
bad_session() {
    local name=$1 text=$2 file=$3
    wanted "$name" || return 0
    run "$strobe" report "$file"
    local fault
    judge_refusal "$text"
    verdict "report_$name" "$fault"
    run "$strobe" convert "$file" -o "$name.pftrace"
    judge_refusal "$text"
    [[ -e $name.pftrace ]] && fault="it left an output"
    verdict "convert_$name" "$fault"
}

: >empty
mkdir folder
head -c 100000 /dev/urandom >garbage
bytes=$(stat -c %s good.strobe)
bad_session missing_file 'nothing-here: ' nothing-here
bad_session empty_file 'empty: ' empty
bad_session folder 'folder: ' folder
bad_session garbage 'garbage: ' garbage
bad_session device '/dev/null: ' /dev/null
for keep in 1 7 8 100 4095 4096 5000 $((bytes / 2)) $((bytes - 1)); do
    head -c "$keep" good.strobe >cut
    bad_session "session_cut_to_$keep" 'cut: ' cut
    ((keep < 3864)) || is_refused "session_cut_to_${keep}_says_how_long" \
        "cut: end of file: the file has $keep bytes, its header states " "$strobe" report cut
done
cp good.strobe 'old version.strobe'
printf '\x63' | dd of='old version.strobe' bs=1 seek=8 conv=notrunc status=none
bad_session session_of_another_version 'old version.strobe: ' 'old version.strobe'
if wanted version_is_named; then
    run "$strobe" report 'old version.strobe'
    [[ $(<err) == *version* ]] && verdict version_is_named || verdict version_is_named "no word of versions: $(<err)"
fi
size=$(stat -c %s good.perfetto-trace)
for keep in 1 2 10 $((size - 5)) $((size - 1)); do   # at other positions the cut may be between two packets
    head -c "$keep" good.perfetto-trace >cut.pftrace
    is_refused "trace_cut_to_$keep" 'cut.pftrace: byte ' "$strobe" report cut.pftrace
done
cp good.perfetto-trace hit.pftrace
printf '\xff\xff\xff' | dd of=hit.pftrace bs=1 seek=$((size / 2)) conv=notrunc status=none
if wanted trace_with_damage; then
    run "$strobe" report hit.pftrace
    # The damaged byte may be in a text, where each value is valid.
    ((status == 0)) && verdict trace_with_damage || verdict trace_with_damage "$(refused 'hit.pftrace: byte ')"
fi

# ---- streams and logs of Matrix

printf 'ID@0 I4@10 O4@156 OD@1249 end=1249\n' >good.events
is_refused import_folder 'folder: ' "$strobe" import matrix-events folder
is_refused import_log_of_a_folder 'folder: ' "$strobe" import matrix-log folder
while IFS='|' read -r place text line; do
    printf '%s\n' "$line" >bad.events
    is_refused "import_of_${line// /_}" "bad.events:$place: expected $text" "$strobe" import matrix-events bad.events
done <<'END'
1:1|I or O|X4@10
1:2|D or a method's id|I@10
1:2|D or a method's id|I-1@10
1:2|D or a method's id|I1048576@10
1:3|@ and a time|I4
1:3|@ and a time|I4 @10
1:4|a time|ID@
1:4|a time|ID@8796093022208
1:5|a blank|ID@0I4@10
1:10|a time|ID@0 end=x
1:13|the end of the line|ID@0 end=10 OD@9
END
if wanted import_lines_before_a_bad_one; then
    { cat good.events good.events; echo ID; } | "$strobe" import matrix-events - >out 2>err
    fault="status $?: $(<err) $(<out)"
    [[ $fault == 'status 2: strobe: -:3:3: expected @ and a time '* && $(wc -l <out) == 2 ]] && fault=
    verdict import_lines_before_a_bad_one "$fault"
fi
if wanted import_answers_line_by_line; then
    fault=
    coproc importer { "$strobe" import matrix-events -; }
    for ((i = 0; i < 3; i++)); do
        cat good.events >&"${importer[1]}"
        read -r -t 20 answer <&"${importer[0]}" || fault="no answer to line $i"
        [[ $answer == *'"1,4,1,146"'*'"cost_ms": 1249,"key": "1048574|"}' ]] || fault="it said: $answer"
    done
    eval "exec ${importer[1]}>&-"
    wait "$importer_PID" 2>/dev/null
    verdict import_answers_line_by_line "$fault"
fi
if wanted import_line_of_a_million_events; then
    awk 'BEGIN { printf "ID@0"; for (i = 0; i < 500000; i++) printf " I%d@%d O%d@%d", i % 9 + 1, i, i % 9 + 1, i + 1;
                 print " OD@500000" }' | "$strobe" import matrix-events - >out 2>err
    fault=$(head -c 300 out err)
    [[ $(<out) == *'"0,1048574,1,500000","1,1,55556,55556"'*'"key": "1048574|"}' ]] && fault=
    verdict import_line_of_a_million_events "$fault"
fi
if wanted import_of_a_log; then
    # ID@0 I4@10 O4@156 OD@1249
    printf '\0\0\0\0\0\xf0\xff\xff\x0a\0\0\0\0\x20\0\x80\x9c\0\0\0\0\x20\0\0\xe1\x04\0\0\0\xf0\xff\x7f' >good.log
    printf '4,1,com.example.Feed scroll (I)V\n' >good.map
    run "$strobe" import matrix-log --mapping good.map good.log
    fault="status $status: $(<err) $(<out)"
    [[ $(<out) == *'"1,com.example.Feed scroll (I)V,1,146"]'*'"cost_ms": 1249,"key": "1048574|"}' ]] && fault=
    verdict import_of_a_log "$fault"
    run "$strobe" run "$home/fixtures/scenarios/cold_start.scn" --policy matrix -o matrixed
    fault="status $status: $(<err)"
    run "$strobe" import matrix-log --mapping matrixed/methodMapping.txt matrixed/matrix.log
    [[ $status == 0 && $(<out) == *'"0,android.os.Handler dispatchMessage (Landroid.os.Message;)V,1,'*'"1,'[A-Z]* &&
        $(<matrixed/ignoreMethodMapping.txt) == 'ignore methods:'* ]] && fault=
    verdict import_of_a_log_of_the_lab "$fault"
    head -c 31 good.log >cut.log
    is_refused import_of_a_cut_log 'cut.log: byte 24: expected a whole entry' "$strobe" import matrix-log cut.log
    printf '4,1,com.example.Feed\n' >bad.map
    is_refused import_by_a_bad_mapping 'bad.map:1: expected a class' \
        "$strobe" import matrix-log --mapping bad.map good.log
fi

# ---- names of files

if wanted blanks_in_names; then
    mkdir -p 'a folder'
    cp good.strobe 'a folder/the session.strobe'
    run "$strobe" convert 'a folder/the session.strobe' -o 'a folder/the trace.pftrace'
    fault=$(((status)) && cat err)
    cmp -s 'a folder/the trace.pftrace' good.perfetto-trace || fault+=' the trace differs'
    verdict blanks_in_names "$fault"
fi
is_refused escapes_in_a_name "bad?[31m: No such file" "$strobe" report $'bad\e[31m'
is_refused newline_in_a_name 'no?where' "$strobe" report 'no
where'

# ---- outputs

if wanted nothing_is_overwritten; then
    echo precious >kept
    run "$strobe" convert good.strobe -o kept
    fault=$(refused 'kept: exists already')
    [[ $(<kept) == precious ]] || fault+=' the file has changed'
    verdict nothing_is_overwritten "$fault"
    run "$strobe" convert good.strobe -q -f -o kept
    cmp -s kept good.perfetto-trace && verdict force_overwrites || verdict force_overwrites "status $status, $(<err)"
fi
if wanted output_that_cannot_be_replaced; then
    run "$strobe" convert cut -f -o kept
    cmp -s kept good.perfetto-trace && verdict a_failure_keeps_the_older_file ||
        verdict a_failure_keeps_the_older_file 'it is gone'
fi
if wanted output_through_links; then
    ln -s nowhere dangling
    run "$strobe" convert good.strobe -o dangling
    fault=$(refused 'dangling: ')
    [[ -L dangling ]] || fault+=' the link is gone'
    verdict a_link_to_nowhere_is_not_replaced "$fault"
    "$strobe" convert -q good.strobe -o - >piped.pftrace </dev/null
    cmp -s piped.pftrace good.perfetto-trace && verdict standard_output_may_be_a_file ||
        verdict standard_output_may_be_a_file 'the trace differs'
fi
is_refused folder_missing 'no/such/folder' "$strobe" convert good.strobe -o no/such/folder/x
is_refused output_is_a_folder 'folder' "$strobe" convert good.strobe -f -o folder
is_refused output_is_full '/dev/full: ' "$strobe" convert good.strobe -o /dev/full
for command in '--version' 'help' 'help record' 'report good.strobe' 'report --json good.strobe' \
    'report good.perfetto-trace' 'report --findings good.strobe' 'explore' 'explore SB.litmus' 'doctor' \
    'doctor --json' 'report --help' \
    'convert good.strobe -o -'; do
    wanted "full_output_of_$command" || continue
    # shellcheck disable=SC2086
    "$strobe" $command >/dev/full 2>err </dev/null
    status=$?
    : >out
    judge_refusal 'No space left'
    verdict "full_output_of_$command" "$fault"
    # shellcheck disable=SC2086
    "$strobe" $command >&- 2>err </dev/null
    status=$?
    judge_refusal ''
    verdict "closed_output_of_$command" "$fault"
    # shellcheck disable=SC2086
    { "$strobe" $command 2>err </dev/null; echo $? >status; } | true
    status=$(<status)
    # Short output may be written before the reader of the pipe exits. Otherwise SIGPIPE ends the command.
    [[ $status =~ ^(0|141)$ && ! -s err ]] && fault= || fault="status $status: $(<err)"
    verdict "pipe_of_$command" "$fault"
done
if wanted file_may_not_grow; then
    (ulimit -f 16 && exec "$strobe" convert good.strobe -o limited.json >out 2>err </dev/null)
    status=$?
    fault=$(refused 'limited.json: ')
    [[ -e limited.json ]] && fault+=' half a file is left'
    verdict file_may_not_grow "$fault"
fi
if wanted disk_full; then
    mkdir -p small
    if mount -t tmpfs -o size=16k none small 2>/dev/null; then
        run "$strobe" convert good.strobe -o small/x.json
        fault=$(refused 'No space left')
        [[ -n $(ls -A small) ]] && fault+=" left: $(ls -A small)"
        verdict disk_full "$fault"
        umount small
    else
        skip disk_full 'mounting a file system is not permitted here'
    fi
fi

# ---- explore

MP() {   # prints the litmus test MP with this memory order for the load of the flag
    cat <<END
C MP
{ [x] = 0; [y] = 0; }
P0 (int *x, atomic_int *y) {
  *x = 1;
  atomic_store_explicit(y, 1, memory_order_release);
}
P1 (int *x, atomic_int *y) {
  int r0 = atomic_load_explicit(y, $1);
  if (r0) { int r1 = *x; }
}
~exists (1:r0=1 /\ 1:r1=0)
END
}
mkdir -p 'the tests'
MP memory_order_acquire >'the tests/MP.litmus'
MP memory_order_relaxed >race.litmus
MP memory_order_sloppy >malformed.litmus
is_refused explore_unknown 'frobnicate: expected a program, a group or a file' "$strobe" explore frobnicate
is_refused explore_missing_file 'nothing.litmus: ' "$strobe" explore nothing.litmus
is_refused explore_malformed 'malformed.litmus:8:' "$strobe" explore malformed.litmus
is_refused explore_garbage 'garbage:1:' "$strobe" explore garbage
is_refused explore_folder 'folder: ' "$strobe" explore folder
is_refused explore_memory 'expected sc, tso, c11 or all' "$strobe" explore --memory arm SB.litmus
is_refused explore_strategy 'expected exhaustive, bounded, random or pct' "$strobe" explore --strategy lazy SB.litmus
is_refused explore_size 'expected nightly, or a number' "$strobe" explore --size huge SB.litmus
for option in --preemptions --depth --seconds -j; do
    is_refused "explore_${option//-/}" 'expected a number' "$strobe" explore $option x SB.litmus
done
is_refused explore_seed 'expected a whole number' "$strobe" explore --seed -1 SB.litmus
is_refused explore_save_of_nothing 'no program is named' "$strobe" explore --save x
is_refused explore_no_executions 'expected at least 1' "$strobe" explore --executions 0 SB.litmus
is_refused explore_all_and_one 'not both' "$strobe" explore --all SB.litmus
is_refused explore_saves_one 'for one program in one memory model' "$strobe" explore --memory all race.litmus --save x
is_refused explore_keeps_files 'garbage: exists already' "$strobe" explore race.litmus --save garbage
is_refused explore_full_disk '/dev/full: cannot write: No space left' "$strobe" explore race.litmus -f --save /dev/full
is_refused explore_missing_folder 'no/folder: ' "$strobe" explore race.litmus --save no/folder
is_refused replay_of_nothing 'nowhere: No such file' "$strobe" explore --replay nowhere
is_refused replay_of_a_folder 'folder: expected a file' "$strobe" explore --replay folder
is_refused replay_of_garbage 'garbage:1: expected strobe explore 1' "$strobe" explore --replay garbage
for processes in 1 2; do
    wanted "explore_interrupted_in_$processes" || continue
    env --default-signal=INT "$strobe" explore table/same table/two --size 9 -j $processes >out 2>err </dev/null &
    until_caught $! INT && kill -INT $!
    wait $!
    fault="$(cat err out | head -c 400)"
    [[ ! -s err && $(<out) == *'stopped: 0 of 2 explored to the end'*'0 passed, 0 failed' ]] && fault=
    verdict "explore_interrupted_in_$processes" "$fault"
done
if wanted explore_names_with_blanks; then
    run "$strobe" explore 'the tests/MP.litmus'
    fault="status $status: $(cat err out | head -c 300)"
    [[ $status == 0 && $(<out) == *'Observation MP Never 0 '* ]] && fault=
    verdict explore_names_with_blanks "$fault"
fi
if wanted explore_saves_and_replays; then
    run "$strobe" explore race.litmus --save 'the tests/a race'
    fault="status $status: $(<err)"
    [[ $status == 1 && $(<out) == *'data race'*"--replay 'the tests/a race' race.litmus"* ]] && fault=
    verdict explore_shows_a_race "$fault"
    sed -n '/^  step/,/^again/p' out | sed '$d' >shown
    run "$strobe" explore --replay 'the tests/a race' race.litmus
    fault="status $status: $(<err)"
    [[ $status == 1 && $(sed 1d out) == "$(<shown)" ]] && fault=
    verdict explore_replays_a_race "$fault"
    cp 'the tests/a race' saved
    is_refused replay_needs_the_test 'saved:2: expected the name of a program' "$strobe" explore --replay saved
    # When a line is cut off or damaged, the error names its number.
    for ((line = 1; line <= $(wc -l <saved); line++)); do
        ((line == 10)) && continue   # line 10 is the message, which may be any text
        head -n $((line - 1)) saved >cut
        is_refused "replay_cut_before_line_$line" "cut:$line: expected " "$strobe" explore --replay cut race.litmus
        sed "${line}s/.*/~/" saved >hit
        is_refused "replay_hit_in_line_$line" "hit:$line: expected " "$strobe" explore --replay hit race.litmus
    done
    sed 's/^0.0 store release 4 0x1 start/0.0 store release 4 0x1 1.0/; s/^1.0 load/1.0 update/' saved >hit
    is_refused replay_of_another_program 'hit:1' "$strobe" explore --replay hit race.litmus
fi

# ---- permissions

if wanted permissions; then
    nobody_can=$(setpriv --reuid=65534 --clear-groups test -x "$strobe" 2>/dev/null && echo yes)
    if (($(id -u) == 0)) && [[ -n $nobody_can ]]; then
        as_nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups)
        mkdir -m 755 closed
        chmod 600 good.strobe
        run "${as_nobody[@]}" "$strobe" report good.strobe
        verdict unreadable_session "$(refused 'good.strobe: Permission denied')"
        chmod 644 good.strobe
        run "${as_nobody[@]}" "$strobe" convert good.strobe -o closed/x
        verdict unwritable_folder "$(refused 'closed/x: Permission denied')"
        run "${as_nobody[@]}" "$strobe" record -o closed/x -- true
        verdict unwritable_folder_record "$(refused 'closed/x')"
        run "${as_nobody[@]}" "$strobe" explore race.litmus --save closed/x
        verdict unwritable_folder_explore "$(refused 'closed/x: cannot write: Permission denied')"
        chmod 600 race.litmus
        run "${as_nobody[@]}" "$strobe" explore race.litmus
        verdict unreadable_litmus "$(refused 'race.litmus: expected a litmus test: Permission denied')"
    else
        skip permissions 'needs root, setpriv, and a build that others may read'
    fi
fi

# ---- findings

cat >threads.txt <<'END'
----- pid 4711 at 2026-01-01 00:00:00 -----

"main" prio=5 tid=1 Blocked
  - waiting to lock <0x0a> (a java.lang.Object) held by thread 12

"worker" prio=5 tid=12 Blocked
  - waiting to lock <0x0b> (a java.lang.Object) held by thread 1
END
if wanted findings_of_a_deadlock; then
    run "$strobe" report --findings threads.txt
    fault="status $status: $(head -n 5 out err)"
    found='main (1) waits for worker (12) waits for main (1)'
    [[ $status == 0 && $(<out) == *'1 finding'*deadlock*"$found"* ]] && fault=
    verdict findings_of_a_deadlock "$fault"
fi
cat >events.txt <<'END'
strobe-watch 1 due
0 process 4711 my app
# what a hook of the app's wrote
1000 begin 1000 a.Handler
1500 stat 4711 (my (app) S 1 2 3 4 5 6 7 8 9 10 100 50 13 14 30 10 17 18 19 20 21 22
6000 signal 3 1000
6000 threads
"main" prio=5 tid=1 Blocked
  - waiting to lock <0x0a> held by thread 1
.
7000 end
7000 begin 1500 a.Next
7001 end
END
if wanted findings_of_events; then
    run "$strobe" report --findings events.txt
    fault="status $status: $(head -n 12 out err)"
    [[ $(<out) == *evil-method*priority*deadlock* && $(<out) == *sigquit-anr* ]] && fault=
    verdict findings_of_events "$fault"
fi
for line in '5 frobnicate' 'x begin - y' '5 signal 3' '5 loop round' '5 stat 1 (a' '5 threads' '5 nice 1 2' \
    '5 frame 6 0 0 0 0' '-1 app' 'nan app' '5 sched'; do
    printf 'strobe-watch 1\n1 app\n%s\n' "$line" >bad-events.txt
    is_refused "events_line_${line// /_}" 'bad-events.txt: line 3: expected ' "$strobe" report --findings bad-events.txt
done
printf 'strobe-watch 1 late\n' >bad-events.txt
is_refused events_head 'line 1: late: expected due' "$strobe" report --findings bad-events.txt
if wanted no_findings_say_what_was_seen; then
    run "$strobe" report --findings good.strobe
    fault="status $status: $(head -n 5 out err)"
    text=$(<out)
    [[ $status == 0 && $text == *'nothing found in '*' calls, '*'have shown:'*'--frames NAMES'* ]] && fault=
    verdict no_findings_say_what_was_seen "$fault"
fi

# ---- traces of other tracers

source "$home/tests/cli/imports.sh"

# ---- guarantees of the help texts

source "$home/tests/cli/pages.sh"
source "$home/tests/cli/completion.sh"
if wanted help_of_scenarios_is_a_page; then
    run "$strobe" help scenario
    cp out help-scenario
    fault="status $status: $(head -n 3 out)"
    [[ $status == 0 && $(<out) == *DECLARATIONS*OPERATIONS*FAULTS* ]] && fault=
    verdict help_of_scenarios_is_a_page "$fault"
fi
if wanted help_texts_fit_a_terminal; then
    long=$(awk 'length > 110 { print FILENAME ": " $0 }' help-*)
    verdict help_texts_fit_a_terminal "$long"
fi
if wanted version; then
    run "$strobe" --version
    [[ $status == 0 && $(<out) =~ ^strobe\ [0-9]+\.[0-9]+ ]] && verdict version || verdict version "$(<out)"
fi

# ---- JSON

if command -v python3 >/dev/null; then
    run "$strobe" report --json --top 0 good.strobe && cp out session.json
    verdict report_of_a_good_session "$( ((status)) && cat err)"
    run "$strobe" report --json --top 0 good.perfetto-trace && cp out trace.json
    verdict report_of_a_good_trace "$( ((status)) && cat err)"
    run "$strobe" report --json --top 0 deflated.perfetto-trace && cp out deflated.json
    run "$strobe" doctor --json true && cp out doctor.json
    run "$strobe" report --findings --json threads.txt && cp out findings.json
    verdicts_of check_json.py same_numbers self_times_add_up fields_are_in_the_man_pages formats_are_valid \
        names_that_are_no_utf8_stay_valid_json
else
    skip json 'python3 is not installed'
fi

# ---- pages and open

source "$home/tests/cli/html.sh"

# ---- doctor

if wanted doctor; then
    run "$strobe" doctor
    ready=$status
    ((ready <= 1)) && verdict doctor_of_the_machine || verdict doctor_of_the_machine "$(<err)"
    printf 'folder = /dumps\ntriggers = stall\nlast = 7s\n' >good.conf
    run "$strobe" doctor --flight good.conf
    [[ $(tr -s ' \n' ' ' <out) == *'ok flight recorder the last 7 s, at most 8192 KiB, to /dumps, on stall;'* ]] &&
        verdict doctor_of_a_flight_recorder || verdict doctor_of_a_flight_recorder "$(<out)"
    run "$strobe" doctor /nothing/here
    [[ $status == 1 && $(<out) == *'not found'* ]] && verdict doctor_of_nothing || verdict doctor_of_nothing "$(<out)"
    printf '#!/bin/sh\n' >script && chmod +x script
    run "$strobe" doctor ./script
    [[ $status == "$ready" && $(<out) == *'its interpreter /bin/sh'* ]] && verdict doctor_of_a_script ||
        verdict doctor_of_a_script "$(<out)"
    : >blank && chmod +x blank
    run "$strobe" doctor ./blank
    [[ $status == 1 && $(<out) == *'an empty file'* ]] && verdict doctor_of_an_empty_file ||
        verdict doctor_of_an_empty_file "$(<out)"
fi

echo "$passed passed, $failed failed, $skipped skipped"
((failed == 0))
