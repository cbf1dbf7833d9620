/* The score: a tracer's reconstructed timeline against the truth.
 *
 * Tracks are matched by (tid, generation). A reconstructed track without a true one is wrong for its whole length. A
 * true track without a reconstructed one is compared with an empty track. A thread is scored over its true life, the
 * end excluded. At each instant of it, the truth and the reconstruction are one path of calls each.
 *
 *   - Names are compared as text. The truth contains no gaps or placeholders, so they never agree.
 *   - A call without length is open at no instant. It counts in its method's `calls` only.
 *   - Two calls *agree* when they are open at the same instant and their paths from the outermost call are equal.
 *   - A call is *long* when it lasts at least twice the interval of its thread.
 *
 * The members named `claimed_...` hold numbers of the reconstruction; the JSON uses the same names.
 *
 *   agreement            share of thread time at which both paths are equal
 *   agreement_resolved   the same after short calls are folded into their callers. A true call is folded when it is
 *                        not long. A reconstructed call is folded when all true calls that it agrees with are
 *                        folded. A call that agrees with no true call is not folded, and disagrees. Paths that are
 *                        equal without folding agree in any case. A folded call keeps its place: A -> (b) -> C is
 *                        not A -> C. Never less than `agreement`
 *   agreement_running    agreement over the time that threads were on a core or wanted one. This leaves out the time
 *                        off the cores from the begin of a call that blocked to its release (to its end where no
 *                        thread released it)
 *   recall               share of long true calls that a reconstructed slice of the same path overlaps for at least
 *                        half of both
 *   precision            share of long reconstructed slices (without gaps) for which there is such a true call
 *   false_merges         reconstructed slices (not waits) that merge calls of different messages. Such a slice
 *                        agrees with calls of other messages than the one that it agrees with most, for at least
 *                        twice the interval of time on a core. (No sampler can see between two samples that the
 *                        message changed. Calls begun outside of messages, before and after one, count as two
 *                        messages. Where the truth has no cores, all time counts)
 *   false_splits         long true calls shown as more than one slice. A slice belongs to the first true call that
 *                        it agrees with, so a slice that ends late is no part of the next call
 *   blocked              true and reconstructed time in blocking calls that blocked; nested ones count once. The
 *                        error is summed over threads, so errors of two threads do not cancel
 *   waker precision      share of reconstructed wakers that are the wakers of a true wait of the same kind that
 *                        overlaps the reconstructed wait. A reconstructed wait inside another one of the thread is
 *                        left out when no true wait of its kind overlaps it: a notified thread waits for the monitor
 *                        again before its wait ends, which the app sees as one wait
 *   waker recall         share of the true wakers of blocks of at least `blocked_min_ns` that the reconstruction has
 *   false_running        share of thread time in which the thread was blocked, and the reconstruction shows it
 *                        computing: the innermost call is a method, and the thread is not shown as off its processor.
 *                        Blocked: see agreement_running
 *   waits_named          share of the time that is off the processor on both sides, whose name in the reconstruction
 *                        is that of a system call that a true wait makes then ("[futex]"; wait_calls.h). The other
 *                        time has no name ("[off cpu]") or a wrong one
 *   self, total          of a method: time at which it is the innermost call, and time at which it is on the path,
 *                        once or more often. The reconstruction counts within true lives only. Waits are methods of
 *                        their own kind. While a gap is the innermost call, or the thread is shown as off its
 *                        processor, no method gets the self time
 *   bias of a method     reconstructed minus true self time, as a share of the thread time of the run
 *
 * A share whose denominator is 0 is 1; agreement_seen, unseen (view.h) and the overhead are then 0. An error relative
 * to 0 is 0 when there is no error, else 1.
 *
 * Sums are integers of ns and ratios are IEEE divisions, so the results are the same on every machine. Allocates; not
 * thread-safe. */
#ifndef STROBE_SIM_SCORE_SCORE_H
#define STROBE_SIM_SCORE_SCORE_H

#include "sim/score/tracks.h"

struct sim_score_options {
    uint64_t interval_ns;       /* the tracer's interval for main threads ... */
    uint64_t other_interval_ns; /* ... and for others */
    uint64_t blocked_min_ns;    /* 0: 100 us */
};

enum { SIM_BLOCKED_LEAST_PART = 100 };

struct sim_method_score {
    uint32_t name;  /* in truth->names */
    uint64_t calls; /* in the truth */
    uint64_t true_self_ns, true_total_ns, claimed_self_ns, claimed_total_ns;
};

struct sim_thread_score {
    uint32_t track; /* in the truth */
    uint64_t thread_ns, agree_ns, resolved_ns, running_ns, running_agree_ns;
    uint64_t starved_wrong_ns; /* time without agreement after the thread's last time on a processor, in which it waited
                                  for a processor. No sample that the thread takes itself can show this place */
    uint64_t true_blocked_ns, claimed_blocked_ns;
};

struct sim_score {
    uint64_t thread_ns, agree_ns, resolved_ns, running_ns, running_agree_ns, starved_wrong_ns;
    double agreement, agreement_resolved, agreement_running;      /* 1 when there is no such time */
    uint64_t true_calls, found_calls, claimed_calls, right_calls; /* long calls only */
    double recall, precision;
    uint64_t false_merges, false_splits;
    uint64_t true_blocked_ns, claimed_blocked_ns;
    uint64_t blocked_wrong_ns; /* sum of |claimed - true| over threads */
    double blocked_error;      /* that, relative to the truth, or to 1 / SIM_BLOCKED_LEAST_PART of thread_ns where the
                                  truth is less: a run in which hardly a thread blocks has no other scale */
    uint64_t true_wakers, found_wakers, claimed_wakers, right_wakers;
    double waker_precision, waker_recall;
    double cpu_error, alloc_error, switch_error; /* sums of |reconstructed - true| relative to the truth, over the
                                                    threads whose totals the reconstruction knows. alloc_error: the
                                                    larger of that of allocations and that of bytes */
    uint64_t false_running_ns;
    double false_running;
    uint64_t unhooked_ns, named_ns;
    double waits_named;
    uint64_t samples, lost, bytes;
    double bytes_per_app_second;
    /* see view.h */
    uint64_t seen_ns, seen_agree_ns, unseen_ns;
    double agreement_seen, unseen;
    uint64_t timed_calls, call_error_sum_ns, call_error_most_ns;
    double call_error_ns;
    uint64_t methods_in, methods_out, code_bytes;
    /* see sim_score_costs. held_ns: time for which the tracer held app threads suspended while they would have run */
    uint64_t app_cpu_ns, tracer_cpu_ns, held_ns;
    uint64_t work_ns; /* CPU time that the scenario's operations asked for */
    double overhead;  /* (tracer's CPU in app threads and its own + time held) / app's CPU */
    struct sim_method_score *methods;
    size_t method_count; /* by error of self time, largest first; without methods that neither side called */
    struct sim_thread_score *threads;
    size_t thread_count; /* in the truth's order */
};

/* STROBE_IO: out of memory; *out is empty then. */
enum strobe_status sim_score(const struct sim_tracks *truth, const struct sim_tracks *reconstruction,
                             const struct sim_score_options *options, struct sim_score *out);

/* Sets the cost of the run: fills in the CPU times and the overhead. */
void sim_score_costs(struct sim_score *s, uint64_t app_cpu_ns, uint64_t tracer_cpu_ns, uint64_t held_ns);

/* Fills in the ratios that follow from the sums. */
void sim_score_ratios(struct sim_score *s);

void sim_score_free(struct sim_score *s);

#endif
