#!/bin/bash
# Measures Strobe beside other tracers: peers.sh BENCH-PEERS WORKLOAD-PG JSON
#
# Starts a separate LTTng session daemon and an overwriting session with the peer's event, and ends both. A tracer that
# is not available is named, and skipped in the table.
set -u
program=$1 workload=$2 json=$3
scratch=$(mktemp -d)
daemon=
finish() {
    if [[ -n $daemon ]]; then
        lttng --no-sessiond destroy strobe-peer >/dev/null 2>&1
        kill "$daemon" 2>/dev/null
        wait "$daemon" 2>/dev/null
    fi
    rm -rf "$scratch"
}
trap finish EXIT

start_lttng() {
    command -v lttng-sessiond >/dev/null && command -v lttng >/dev/null || return 1
    pgrep -x lttng-sessiond >/dev/null && { echo 'peers: another lttng-sessiond runs: it is left alone'; return 1; }
    export LTTNG_HOME=$scratch
    lttng-sessiond --no-kernel >"$scratch/sessiond.log" 2>&1 &
    daemon=$!
    for _ in {1..50}; do
        lttng --no-sessiond list >/dev/null 2>&1 && break
        sleep 0.1
    done
    {
        lttng --no-sessiond create strobe-peer --snapshot --output="$scratch/out" &&
            lttng --no-sessiond enable-channel -u --overwrite --subbuf-size=1M --num-subbuf=4 c &&
            lttng --no-sessiond enable-event -u -c c strobe_peer:sample &&
            lttng --no-sessiond start
    } >"$scratch/lttng.log" 2>&1 || { cat "$scratch/lttng.log" "$scratch/sessiond.log"; return 1; }
}

if start_lttng; then
    export STROBE_PEER_LTTNG=1
else
    echo 'peers: SKIPPED: LTTng-UST: no session could be started (packages lttng-tools and liblttng-ust-dev)'
fi
if command -v uftrace >/dev/null; then
    export STROBE_PEER_UFTRACE_WORKLOAD=$workload STROBE_PEER_UFTRACE_FOLDER=$scratch/uftrace
else
    echo 'peers: SKIPPED: uftrace (package uftrace)'
fi
"$program" "$json"
