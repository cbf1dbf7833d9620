/* LTTng-UST's tracepoint, disabled and enabled. It is enabled when a session runs that has enabled the event; see
 * peers.sh. */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "bench/peers/lttng_event.h"

#include "bench/bench.h"
#include "bench/peers/peers.h"

#include <stdlib.h>
#include <unistd.h>

enum { BATCH = 1000, WAIT_MS = 3000 };

static void emit(struct gbench_state *s, const void *arg)
{
    (void)arg;
    while (gbench_loop(s))
        for (uint64_t i = 0; i < BATCH; i++)
            lttng_ust_tracepoint(strobe_peer, sample, i, i, i, i, 1);
}

/* Waits until the event is enabled. The session daemon enables it through a thread of the library, a little after
 * the program starts. */
static int enabled(void)
{
    for (int i = 0; i < WAIT_MS; i++) {
        if (lttng_ust_tracepoint_enabled(strobe_peer, sample))
            return 1;
        usleep(1000);
    }
    return 0;
}

void peer_lttng_add(void)
{
    if (getenv("STROBE_PEER_LTTNG") && enabled())
        gbench_add(&(struct gbench_spec){.name = "peer/lttng", .run = emit, .batch = BATCH});
}

void peer_lttng_rows(void)
{
    double theirs = gbench_median_ns("peer/lttng");
    if (theirs > 0)
        bench_row_ratio("record write with clock, 1 thread", "ns", gbench_median_ns("ring/1"),
                        "LTTng-UST tracepoint, 40 bytes", theirs, 0.3);
    else
        bench_row_skipped("LTTng-UST tracepoint, 40 bytes", "SKIPPED: no LTTng session could be started");
}
