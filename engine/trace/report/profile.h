/* Sums up a timeline: self and inclusive time of each method, time of each thread, the longest waits. The input is
 * nested slices, of one thread after the other or of several threads interleaved.
 *
 *   self        time in which a method is innermost: its slices without the slices directly in them. Waits, time off
 *               the processor and unseen time are slices themselves, so they are not self time of a method
 *   inclusive   time of the method's slices. A slice within another slice of the same method (recursion) adds nothing
 *   CPU         self and inclusive CPU time, if the timeline has it. It is that of slices or, if the caller sets
 *               has_shares, that of shares only (strobe_profile_cpu). A thread's CPU time is that of its slices
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
    uint64_t share; /* number of the last share added to it */
};

struct strobe_profile_thread {
    uint64_t first_ns, last_ns; /* begin of its first slice, end of its last */
    uint64_t cpu_ns;            /* CPU time used between them */
    uint64_t seen_ns, wait_ns;  /* parts of the time from first_ns to last_ns: in a method, in a wait, ... */
    uint64_t off_ns, gap_ns;    /* ... off the processor elsewhere, unseen */
    uint64_t slices, waits;
};

/* What ended a wait: unknown; another thread; a timeout or an interruption. */
enum strobe_profile_end { STROBE_END_UNKNOWN, STROBE_END_BY_THREAD, STROBE_END_BY_NOBODY };

/* One wait: a blocking call. */
struct strobe_profile_wait {
    uint64_t begin_ns, duration_ns, arg;
    uint32_t thread;
    uint32_t name;               /* of the wait */
    uint32_t method;             /* name of the slice around it; UINT32_MAX = none */
    enum strobe_profile_end end; /* set by the caller, with the waker's number */
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
    int has_shares;                      /* methods have the CPU time of shares, not of slices */
    uint64_t share_count;
    int failed; /* memory ran out */
};

/* Prepares a profile that keeps the `waits` longest waits. STROBE_IO: out of memory. */
enum strobe_status strobe_profile_open(struct strobe_profile *p, uint32_t waits);
void strobe_profile_close(struct strobe_profile *p);

/* Begins a slice. The caller numbers threads and names, both dense from 0. A name belongs to one class. */
void strobe_profile_begin(struct strobe_profile *p, uint32_t thread, uint32_t name, enum strobe_slice_class class,
                          uint64_t time_ns, uint64_t cpu_ns);

/* Ends the innermost open slice of the thread. If it is a wait among the longest so far, returns it, and the caller
 * sets its arg and unfinished; else returns NULL. */
struct strobe_profile_wait *strobe_profile_end(struct strobe_profile *p, uint32_t thread, uint64_t time_ns,
                                               uint64_t cpu_ns);

/* Adds CPU time of the method `names[0]`, called by `names[1]`, and so on: `count` names, at least one. */
void strobe_profile_cpu(struct strobe_profile *p, const uint32_t *names, size_t count, uint64_t cpu_ns);

/* Ends the open slices, at the last time of their thread. STROBE_IO: an earlier call ran out of memory. */
enum strobe_status strobe_profile_finish(struct strobe_profile *p);

#endif
