/* Adds up a timeline: self and inclusive time of each method, time of each thread, the longest waits. Fed with nested
 * slices, of one thread after the other or of several by turns.
 *
 *   self        time in which a method is innermost: its slices less those directly in them. Waits, time off the
 *               processor and unseen time are slices of their own, so they are no method's self time
 *   inclusive   time of the method's slices; those that lie within another of the same method (recursion) add nothing
 *   CPU         the same two, by the threads' CPU clocks, where the timeline has them: of slices, or where the caller
 *               sets has_shares of shares alone (strobe_profile_cpu). A thread's CPU time is that of its slices
 *
 * Reading half: allocates. One thread at a time. */
#ifndef STROBE_TRACE_REPORT_PROFILE_H
#define STROBE_TRACE_REPORT_PROFILE_H

#include "engine/base/status.h"
#include "engine/trace/model/sink.h"

#include <stddef.h>
#include <stdint.h>

struct strobe_profile_method {
    uint64_t self_ns, total_ns, self_cpu_ns, total_cpu_ns;
    uint64_t slices;
    enum strobe_slice_class class;
    uint64_t share; /* number of the share that was last added to it */
};

struct strobe_profile_thread {
    uint64_t first_ns, last_ns; /* begin of its first slice, end of its last */
    uint64_t cpu_ns;            /* CPU time used between them */
    uint64_t seen_ns, wait_ns;  /* parts of it: in a method, in a wait, ... */
    uint64_t off_ns, gap_ns;    /* ... off the processor elsewhere, unseen */
    uint64_t slices, waits;
};

/* Who or what ended a wait. */
enum strobe_profile_end { STROBE_END_UNKNOWN, STROBE_END_BY_THREAD, STROBE_END_BY_NOBODY };

/* One wait, a blocking call. */
struct strobe_profile_wait {
    uint64_t begin_ns, duration_ns, arg;
    uint32_t thread;
    uint32_t name;               /* of the wait */
    uint32_t method;             /* the slice it lies in; UINT32_MAX when none */
    enum strobe_profile_end end; /* the caller's to set, and with it the waker's number */
    uint32_t waker;
    int unfinished;
};

struct strobe_profile {
    struct strobe_profile_method *methods; /* by name number */
    uint32_t method_count;
    struct strobe_profile_thread *threads; /* by thread number */
    uint32_t thread_count;
    struct strobe_profile_wait *waits; /* the longest ones, longest first */
    uint32_t wait_count, wait_max;
    uint64_t unmatched;                  /* ends without a begin, and begins without an end */
    struct strobe_profile_stack *stacks; /* open slices of each thread */
    int has_shares;                      /* methods have the CPU time of shares, and none of slices */
    uint64_t share_count;
    int failed; /* memory ran out */
};

/* Prepares a profile that keeps the `waits` longest waits. STROBE_IO: out of memory. */
enum strobe_status strobe_profile_open(struct strobe_profile *p, uint32_t waits);
void strobe_profile_close(struct strobe_profile *p);

/* A slice begins. Numbers of threads and names are the caller's, dense from 0; a name is of one class. */
void strobe_profile_begin(struct strobe_profile *p, uint32_t thread, uint32_t name, enum strobe_slice_class class,
                          uint64_t time_ns, uint64_t cpu_ns);

/* The innermost open slice of the thread ends. Returns the wait that this was when it is one of the longest so far,
 * else NULL: its arg and unfinished are the caller's to set. */
struct strobe_profile_wait *strobe_profile_end(struct strobe_profile *p, uint32_t thread, uint64_t time_ns,
                                               uint64_t cpu_ns);

/* CPU time of the method `names[0]`, which `names[1]` has called, and so on: `count` names, at least one. */
void strobe_profile_cpu(struct strobe_profile *p, const uint32_t *names, size_t count, uint64_t cpu_ns);

/* Ends what is still open, each thread at the last time it showed; STROBE_IO when memory has run out on the way. */
enum strobe_status strobe_profile_finish(struct strobe_profile *p);

#endif
