# Reports of parts of a session: a thread, a time, a function, allocations, lines. Sourced by run.sh.

if ! command -v python3 >/dev/null; then
    skip reports_of_parts 'no python3 here'
elif ! ${CC:-gcc} -std=c11 -D_GNU_SOURCE -O1 -g -fno-omit-frame-pointer -Wall -Wextra -Werror -pthread -o parts \
    "$home/tests/cli/parts.c" 2>err; then
    verdict program_of_parts_builds "$(<err)"
else
    "$strobe" record -q -f --no-convert -o parts.strobe -- ./parts >asked 2>err </dev/null || echo 0 >asked
    verdicts_of check_parts.py a_thread_alone_is_the_same_as_among_others parts_of_time_add_up \
        callers_add_up_to_their_function callees_lie_in_their_function allocations_go_to_who_allocates \
        allocations_of_parts_add_up lines_are_in_the_source on_and_off_cpu_add_up frames_know_their_source \
        fields_of_parts_are_in_the_man_page
    is_refused thread_of_no_name 'parts.strobe: no thread has the name or tid nobody' \
        "$strobe" report --thread nobody parts.strobe
    is_refused function_of_no_name 'parts.strobe: no function is called nothing' \
        "$strobe" report --of nothing parts.strobe
    is_refused from_behind_the_end 'parts.strobe: --from is behind its end' "$strobe" report --from 900s parts.strobe
    if wanted text_of_parts; then
        run "$strobe" report --of allocates --by alloc --lines --thread second --from 0 --to 900s parts.strobe
        fault="status $status: $(<err) $(<out)"
        [[ $status == 0 && $(<out) == *'only thread second'*'allocates: '*'Called by'*one_way*'allocated: '*'MB in '* &&
            $(<out) == *'Allocations by stack'*';allocates'*'Lines by samples'*'parts.c:'* ]] && fault=
        verdict text_of_parts "$fault"
    fi
fi
is_refused part_of_nothing_report 'later than --from' "$strobe" report --from 2s --to 1s good.strobe
is_refused report_time_without_unit 'expected a time' "$strobe" report --from 5 good.strobe
is_refused findings_of_a_thread '--thread does not go with --findings' \
    "$strobe" report --findings --thread x good.strobe
is_refused weight_of_json '--by is for the folded format' "$strobe" convert --by cpu good.strobe -o x.json
is_refused weight_of_colour 'expected wall, cpu, off-cpu or alloc' \
    "$strobe" convert --by colour good.strobe -o x.folded
for option in '--thread x' '--from 1ms' '--to 1ms' '--of x' --lines '--by alloc'; do
    # shellcheck disable=SC2086
    is_refused "trace_with_${option//[ -]/}" 'is a trace: -' "$strobe" report $option good.perfetto-trace
done
