/* The LTTng-UST event that is measured: 40 bytes of payload, as the fields of a sample. LTTng-UST includes this file
 * several times (lttng-ust(3)). */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER strobe_peer

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "bench/peers/lttng_event.h"

#ifdef LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ
#undef STROBE_BENCH_PEERS_LTTNG_EVENT_H
#endif
#ifndef STROBE_BENCH_PEERS_LTTNG_EVENT_H
#define STROBE_BENCH_PEERS_LTTNG_EVENT_H

#include <lttng/tracepoint.h>
#include <stdint.h>

LTTNG_UST_TRACEPOINT_EVENT(strobe_peer, sample,
                           LTTNG_UST_TP_ARGS(uint64_t, cpu, uint64_t, arg, uint64_t, stack, uint64_t, message, uint64_t,
                                             count),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint64_t, cpu, cpu)
                                                   lttng_ust_field_integer(uint64_t, arg, arg)
                                                       lttng_ust_field_integer(uint64_t, stack, stack)
                                                           lttng_ust_field_integer(uint64_t, message, message)
                                                               lttng_ust_field_integer(uint64_t, count, count)))

#endif

#include <lttng/tracepoint-event.h>
