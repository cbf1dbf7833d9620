#!/bin/bash
# `strobe attach` stops a program of 50 threads for at most 5 ms.
#
#   B=DIR tests/attach/stop.sh
#
# takes: 2 s
# alone: it measures for how long a thread is stopped
set -u
cd "$(dirname "$0")/../.." || exit 2
. tests/support/suite.sh
. tests/attach/programs.sh

if (($(cut -d. -f1 /proc/loadavg) < $(nproc))); then
    begin "$own/states" sleep 50
    for ((i = 0; i < 9; i++)); do
        script -qec "'$strobe' attach -f -t 50ms -o '$work/a.perfetto-trace' $pid" /dev/null |
            grep -o 'stopped for [0-9.]* ms' | cut -d' ' -f3
    done >"$work/stops"
    ends_sound 'nine attaches'
    check 'a program of 50 threads is stopped for at most 5 ms at the begin (median)' awk -v median="$(
        sort -g "$work/stops" | sed -n 5p)" 'BEGIN { print median " ms"; exit !(median != "" && median <= 5) }'
else
    skip 'a program of 50 threads is stopped for at most 5 ms' 'the machine is busy'
fi

end_suite
