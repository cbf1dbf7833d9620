/* Other tracers, measured beside us; parts of bench/peers/main.c as bench.h's are of bench/main.c. Each says so in its
 * row when it is not to be had here. Main thread. */
#ifndef STROBE_BENCH_PEERS_PEERS_H
#define STROBE_BENCH_PEERS_PEERS_H

void peer_lttng_add(void);
void peer_lttng_rows(void);
void peer_uftrace_rows(void);

#endif
