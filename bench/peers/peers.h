/* Other tracers, measured beside Strobe. These are parts of bench/peers/main.c, as those in bench.h are parts of
 * bench/main.c. The row of a tracer that is not available here states that. Main thread. */
#ifndef STROBE_BENCH_PEERS_PEERS_H
#define STROBE_BENCH_PEERS_PEERS_H

void peer_lttng_add(void);
void peer_lttng_rows(void);
void peer_uftrace_rows(void);

#endif
