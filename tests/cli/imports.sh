# Imports of traces of other tracers. Sourced by run.sh.

imports=$home/fixtures/imports
mark='app-7 (7) [001] ...1 1.5: tracing_mark_write:'
printf '%s B|7|a b\n%s B|7\n%s E|7\n' "$mark" "$mark" "$mark" >good.ftrace
: >nothing
for kind in ftrace btrace2 rhea; do
    is_refused "import_${kind}_of_nothing" 'which file' "$strobe" import $kind -o x.json
    is_refused "import_${kind}_of_two" 'one file at a time' "$strobe" import $kind a b -o x.json
    is_refused "import_${kind}_to_nowhere" 'where to' "$strobe" import $kind good.ftrace
    is_refused "import_${kind}_missing" 'no where: No such file' "$strobe" import $kind 'no where' -o x.json
    is_refused "import_${kind}_folder" 'folder: ' "$strobe" import $kind folder -o x.json
    is_refused "import_${kind}_format" 'expected perfetto, chrome' "$strobe" import $kind good.ftrace -o x --format svg
    is_refused "import_${kind}_repair" 'expected last or enclosing' "$strobe" import $kind --repair x good.ftrace -o x
    is_refused "import_${kind}_deflated" '--deflate is for' "$strobe" import $kind good.ftrace -o x.json --deflate
    is_refused "import_${kind}_onto_itself" 'expected another file' "$strobe" import $kind -f good.ftrace -o good.ftrace
done
is_refused import_empty_ftrace 'nothing: is empty, expected ftrace text' "$strobe" import ftrace nothing -o x.json
is_refused import_no_ftrace 'lines: line 1: expected ftrace text' "$strobe" import ftrace lines -o x.json
is_refused import_pid_of_none 'holds no mark of process 8' "$strobe" import ftrace --pid 8 good.ftrace -o x.json
is_refused import_pid_zero 'expected a process id' "$strobe" import ftrace --pid 0 good.ftrace -o x.json
is_refused import_marks 'expected auto, plain or rhea' "$strobe" import ftrace --marks x good.ftrace -o x.json
printf '%s wild\n' "$mark" >unmarked.ftrace
is_refused import_without_marks 'contains no call' "$strobe" import ftrace unmarked.ftrace -o x.json
is_refused import_empty_log 'nothing: ends within its header' "$strobe" import btrace2 nothing -o x.json
is_refused import_no_log 'lines: byte 0: version ' "$strobe" import btrace2 lines -o x.json
is_refused import_mapping_missing 'nowhere: ' "$strobe" import btrace2 --mapping nowhere good.ftrace -o x.json
is_refused import_log_to_a_pipe 'expected the name of a file' "$strobe" import ftrace good.ftrace -o - --format btrace2
is_refused import_system_begin 'expected a time' "$strobe" import btrace2 --system-begin 5 nothing -o x.json
if wanted import_says_what_is_wrong_and_goes_on; then
    cp good.ftrace 'with blanks.ftrace'
    printf '%s C|7|n|12' "$mark" >>'with blanks.ftrace'
    run "$strobe" import ftrace 'with blanks.ftrace' -o 'out of it.folded'
    fault="status $status: $(<err) $(<'out of it.folded')"
    [[ $fault == "status 0: with blanks.ftrace: incomplete markers, skipped; the first is in line 2: 1
with blanks.ftrace: lines that are cut off, skipped: 1 " ]] && fault=
    verdict import_says_what_is_wrong_and_goes_on "$fault"
    echo kept >kept.json
    is_refused import_onto_another 'kept.json: exists already; --force overwrites it' \
        "$strobe" import ftrace good.ftrace -o kept.json
    run "$strobe" import ftrace good.ftrace --replace -o kept.json
    [[ $status == 0 && $(<kept.json) == *'"name":"a b"'* ]] && verdict import_replaces ||
        verdict import_replaces "status $status: $(<kept.json)"
fi
if wanted import_by_either_policy; then
    fault=
    for policy in last:450:50 enclosing:400:140; do
        IFS=: read -r name outer inner <<<"$policy"
        "$strobe" import ftrace -q --repair "$name" "$imports/rheatrace.ftrace" -o - --format folded >out 2>err
        top='example.shop UI;com.example.shop.MainActivity.onCreate'
        [[ ! -s err ]] && grep -qx "$top $outer" out &&
            grep -qx "$top;com.example.shop.Cart.load;com.example.shop.Cart.parse $inner" out ||
            fault+="$name: $(<out) $(<err)"
    done
    verdict import_by_either_policy "$fault"
fi
if wanted import_there_and_back; then
    # A conversion from text to a log and back keeps the calls, and loses the names of threads.
    "$strobe" import ftrace -q "$imports/rheatrace.ftrace" -o here.btrace2
    fault=
    for made in '' .mapping; do
        fault+=$(cmp here.btrace2$made "$imports/shop.btrace2$made" 2>&1)
    done
    "$strobe" import btrace2 -q here.btrace2 --mapping here.btrace2.mapping -o back.ftrace
    "$strobe" import ftrace -q back.ftrace -o back.folded
    "$strobe" import ftrace -q - -o there.folded <"$imports/rheatrace.ftrace"
    for way in back there; do
        sed -E 's/^[^;]*;//; s/read:[^;]* /read /' $way.folded | sort >$way.paths
    done
    cmp -s back.paths there.paths || fault+=$(diff back.paths there.paths)
    [[ $(wc -l <back.paths) == 7 ]] || fault+=" $(wc -l <back.paths) paths"
    verdict import_there_and_back "$fault"
fi
is_refused import_no_rhea 'lines: no line `ID|TRACE_START|TIME|PID|...` in its ' "$strobe" import rhea lines -o x.json
printf 'rheapk1\0\1\0\0\0\20' >damaged.ring
is_refused import_damaged_ring "damaged.ring: a ring's file whose head is damaged" \
    "$strobe" import rhea damaged.ring -o x.json
printf 'dt\nver|3\n' >headless.profilo
is_refused import_headless_profilo 'headless.profilo: expected an empty line after its head of 2 lines' \
    "$strobe" import rhea headless.profilo -o x.json
is_refused import_rhea_deflated_profilo '--deflate is for' \
    "$strobe" import rhea "$imports/rheatrace.log" --deflate --format profilo -o x.profilo
if wanted import_rhea_by_either_policy; then
    # The calls are those of the ftrace text. Events before the start are omitted.
    fault=
    { echo 'not yet'; cat "$imports/rheatrace.log"; } >early.log
    for policy in last enclosing; do
        "$strobe" import ftrace -q --repair $policy "$imports/rheatrace.ftrace" -o - -f --format folded |
            sed -E 's/^[^;]*;//' | grep -v read: | sort >expected
        "$strobe" import rhea --repair $policy early.log -o - --format folded 2>err | sed -E 's/^[^;]*;//' | sort >got
        grep -q 'onCreate;com.example.shop.Cart.load;com.example.shop.Cart.parse ' got || fault+="$policy: $(<got)"
        fault+=$(diff <(grep Cart expected) <(grep Cart got))
        [[ $(<err) == *'early.log: lines before TRACE_START, left out: 1'* ]] || fault+="$(<err)"
    done
    verdict import_rhea_by_either_policy "$fault"
fi
if wanted import_rhea_there_and_back; then
    fault=
    "$strobe" import rhea -q "$imports/rheatrace.log" -o there.profilo --format profilo
    "$strobe" import rhea -q there.profilo -o back.folded -f
    "$strobe" import rhea -q - -o there.folded -f <"$imports/rheatrace.log"
    cmp -s back.folded there.folded || fault+=$(diff back.folded there.folded 2>&1)
    [[ $(wc -l <back.folded) -ge 5 && $(head -n 1 there.profilo) == dt ]] || fault+=" $(<back.folded)"
    verdict import_rhea_there_and_back "$fault"
fi
if wanted import_says_which_events_are_left_out; then
    # A Perfetto trace holds all events; other outputs name those that they do not hold.
    run "$strobe" import ftrace "$imports/sched.ftrace" -o system.json
    fault="status $status: $(<err)"
    [[ $fault == "status 0: $imports/sched.ftrace: left out: sched_switch 7, sched_waking 2, clock_set_rate 1, "* &&
        $(wc -l <err) == 1 ]] && fault=
    run "$strobe" import ftrace "$imports/sched.ftrace" -o system.pftrace
    kept="$imports/sched.ftrace: not understood, kept as text: 1 event of 1 kind: my_event 1"
    [[ $status == 0 && $(<err) == "$kept" ]] || fault+="status $status: $(<err)"
    run "$strobe" import ftrace -q "$imports/sched.ftrace" -fo system.json
    [[ $status == 0 && ! -s err ]] || fault+="quiet: $(<err)"
    verdict import_says_which_events_are_left_out "$fault"
fi
if wanted import_of_all_events_is_as_merged; then
    # Ids of sequences differ, which have the same length.
    run "$strobe" import ftrace -q "$imports/sched.ftrace" -o imported.pftrace
    run "$strobe" merge -q --system "$imports/sched.ftrace" -o merged.pftrace
    "$strobe" import ftrace -q - -o piped-import.pftrace <"$imports/sched.ftrace"
    fault=
    cmp -s imported.pftrace piped-import.pftrace || fault='a pipe gives another trace'
    (($(stat -c %s imported.pftrace) == $(stat -c %s merged.pftrace))) || fault+=' not as long as the merged one'
    run "$strobe" import ftrace -q --deflate "$imports/sched.ftrace" -o deflated.pftrace
    (($(stat -c %s deflated.pftrace) < $(stat -c %s imported.pftrace))) || fault+=' not deflated'
    is_refused import_of_all_onto_another 'imported.pftrace: exists already; --force overwrites it' \
        "$strobe" import ftrace "$imports/sched.ftrace" -o imported.pftrace
    verdict import_of_all_events_is_as_merged "$fault"
fi
if wanted import_to_a_session; then
    run "$strobe" import ftrace -q "$imports/rheatrace.ftrace" -o imported.strobe
    "$strobe" import ftrace -q "$imports/rheatrace.ftrace" -o imported.folded
    "$strobe" convert -q imported.strobe -o converted.folded
    cmp -s imported.folded converted.folded && fault= || fault="status $status: $(<err) $(<converted.folded)"
    run "$strobe" report --verbose imported.strobe
    [[ $(<out) == *'calls: 8, 0 of them'*'The accounting is consistent'* ]] || fault+=$(<out)
    verdict import_to_a_session "$fault"
fi
if wanted import_without_names; then
    printf '1,1,- x\n' >other.map
    run "$strobe" import btrace2 --mapping other.map "$imports/shop.btrace2" -o nameless.json -f
    [[ $status == 0 && $(<err) == *"is the mapping this build's?"* ]] && verdict import_without_names ||
        verdict import_without_names "status $status: $(<err)"
fi
