#!/bin/bash
# `strobe attach` stops a program of 50 threads for at most 5 ms.
#
#   B=DIR tests/attach/stop.sh
#
# takes: 5 s
# alone: it measures for how long a thread is stopped
set -u
cd "$(dirname "$0")/../.." || exit 2
. tests/support/suite.sh
. tests/attach/programs.sh

# A stop takes longer when it waits for a processor. The least of 21 is judged, so that other programs on the machine
# do not matter: a stop that is too long by itself is so 21 times.
begin "$own/states" sleep 50
for ((i = 0; i < 21; i++)); do
    script -qec "'$strobe' attach -f -t 50ms -o '$work/a.perfetto-trace' $pid" /dev/null |
        grep -o 'stopped for [0-9.]* ms' | cut -d' ' -f3
done | sort -g >"$work/stops"
ends_sound '21 attaches'
check 'a program of 50 threads is stopped for at most 5 ms at the begin (the least of 21)' awk '
    NR == 1 { least = $1 } { all = all " " $1 } END { print all " ms"; exit !(NR == 21 && least <= 5) }' "$work/stops"

end_suite
