# The first steps of a user, sourced by run.sh: names of outputs without a format, files that are neither session nor
# trace, mistyped words, pipes whose reader ends. Needs good.strobe and good.perfetto-trace.

# ---- formats by ending

formats='expected .perfetto-trace, .pftrace, .perfetto or .pb (perfetto), .json or .json-trace (chrome)'
for name in x.svg x.gz x.perfetto-trace.gz x.strobe 'a folder.json/x.svg'; do
    is_refused "convert_to_${name// /_}" "$formats" "$strobe" convert good.strobe -o "$name"
    is_refused "record_to_${name// /_}" "$formats" "$strobe" record -o "$name" -- true
done
is_refused import_to_svg "$formats" "$strobe" import ftrace "$home/fixtures/imports/rheatrace.ftrace" -o x.svg
if wanted refused_endings_leave_nothing; then
    verdict refused_endings_leave_nothing "$(ls -d x.svg* x.gz* x.perfetto* x.strobe* 2>/dev/null)"
fi
if wanted perfetto_by_ending; then
    fault=
    for name in by.pftrace by.perfetto by.pb by.perfetto-trace without_ending .hidden 'dotted.folder/plain'; do
        mkdir -p dotted.folder
        run "$strobe" convert -q good.strobe -o "$name"
        cmp -s "$name" good.perfetto-trace || fault+=" $name: $(<err)"
    done
    verdict perfetto_by_ending "$fault"
fi
if wanted format_forces_an_ending; then
    run "$strobe" convert -q good.strobe -o forced.svg --format perfetto
    cmp -s forced.svg good.perfetto-trace && verdict format_forces_an_ending ||
        verdict format_forces_an_ending "status $status: $(<err)"
fi

# ---- files that are neither session nor trace

neither='not a Strobe session or a Perfetto trace'
printf '\n\na text that begins with empty lines\n' >empty_lines
printf '{"traceEvents": []}\n' >chrome.json
for file in /bin/ls lines empty_lines chrome.json; do
    is_refused "report_of_${file##*/}" "$file: $neither" "$strobe" report "$file"
done

# ---- mistyped words

while read -r typed meant; do
    is_refused "command_$typed" "no such command: $typed; did you mean $meant?" "$strobe" "$typed"
    is_refused "help_of_$typed" "no such command: $typed; did you mean $meant?" "$strobe" help "$typed"
done <<'END'
recrod record
reprot report
convrt convert
explroe explore
comp compare
END
while read -r command typed meant; do
    is_refused "option_$typed" "no such option: $typed; did you mean $meant?" "$strobe" "$command" "$typed"
done <<'END'
record --intervall --interval
record --no-covnert --no-convert
report --jsno --json
convert --defalte --deflate
convert --forrmat=x --format
run --polcy --policy
END
if wanted far_words_have_no_suggestion; then
    fault=
    for word in frobnicate x zzz; do
        run "$strobe" $word
        fault+=$(grep 'did you mean' err)
    done
    verdict far_words_have_no_suggestion "$fault"
fi
if wanted help_lists_recording_first; then
    run "$strobe" help
    order=$(awk '/^  strobe / { printf "%s ", $2 }' out)
    fault="order: $order"
    [[ $order == 'record attach capture report convert '*'run compare explore learn ' ]] &&
        [[ $(<out) == *'The lab'*'  strobe run '* ]] && fault=
    verdict help_lists_recording_first "$fault"
fi

# ---- pipes whose reader has ended

# ends_quietly NAME ARGUMENT...: the command ends by SIGPIPE and prints nothing.
ends_quietly() {
    local name=$1
    shift
    wanted "$name" || return 0
    # The reader has ended before the first byte is written.
    local fault unread
    exec {unread}> >(:)
    wait $!
    "$strobe" "$@" >&$unread 2>err </dev/null
    fault="status $?: $(<err)"
    exec {unread}>&-
    [[ $fault == "status 141: " ]] && fault=
    verdict "$name" "$fault"
}
ends_quietly report_into_a_closed_pipe report --top 0 good.strobe
ends_quietly report_json_into_a_closed_pipe report --json good.strobe
ends_quietly report_of_trace_into_a_closed_pipe report good.perfetto-trace
ends_quietly findings_into_a_closed_pipe report --findings good.strobe
ends_quietly convert_into_a_closed_pipe convert good.strobe -o -
ends_quietly folded_into_a_closed_pipe convert good.strobe -o - --format folded
ends_quietly import_into_a_closed_pipe import ftrace -q "$home/fixtures/imports/rheatrace.ftrace" -o - --format folded
ends_quietly help_into_a_closed_pipe help record
ends_quietly doctor_into_a_closed_pipe doctor true
if wanted report_into_head; then
    "$strobe" report --top 0 good.strobe 2>err </dev/null | head -n 1 >out
    [[ ! -s err && $(wc -l <out) == 1 ]] && verdict report_into_head || verdict report_into_head "$(<err)"
fi

# ---- accounting of events

if wanted bookkeeping_is_one_line; then
    run "$strobe" report good.strobe
    fault="$(grep -nE 'sampler:|gated|threads stood' out)"
    lines=$(grep -c '^[0-9]* samples, .*; the accounting is consistent (--verbose: details)$' out)
    ((lines == 1)) || fault+=" $lines lines of accounting"
    verdict bookkeeping_is_one_line "$fault"
    run "$strobe" report --verbose good.strobe
    fault="status $status: $(head -n 3 out err)"
    [[ $(<out) == *gated*'sampler: '*'The accounting is consistent'* ]] && fault=
    verdict bookkeeping_is_there_when_asked_for "$fault"
fi
is_refused verbose_findings '--verbose does not go with --findings' "$strobe" report --findings --verbose good.strobe
