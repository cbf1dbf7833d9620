/* The score: a tracer's claim against the truth.
 *
 * Tracks are matched by (tid, generation); a claimed track without a true one claims wrongly, a true one without a
 * claimed one is claimed to be empty. At each instant of a thread's true life, its end not included, the truth is a
 * path of calls and the claim is another. Names are compared as text; a gap or a placeholder agrees with nothing but a
 * call of its name, and there is none. A call without length is open at no instant: it is counted in its method's
 * `calls`, no more. Two calls *agree* when they are open at the same instant and their paths from the outermost call
 * are equal. A call is *long* when it lasts at least twice the interval of its thread.
 *
 *   agreement            share of thread time at which both paths are equal
 *   agreement_resolved   the same after calls too short to be resolved are folded into their caller: a true call that
 *                        is not long, and a claimed one when all true calls that it agrees with are folded (a call that
 *                        never was stays, and disagrees); what agrees at the instant agrees folded or not. A folded
 *                        call keeps its place: A -> (b) -> C is not A -> C. Never less than the exact agreement
 *   agreement_running    agreement over the time that threads were on a core or wanted one: all but the time from the
 *                        begin of a call that blocked to its release (its end where nobody released it), off the cores
 *   recall, precision    of slices: long true calls that some claimed slice of the same path overlaps for at least half
 *                        of both; and long claimed slices (gaps left out) for which there is such a true call
 *   false_merges         claimed slices (not waits) that agree with calls of different messages: those begun in other
 *                        messages than the one it agrees with most, for twice the interval or more of time on a core.
 *                        (No sampler knows between two samples that the message has changed; who goes on to show the
 *                        old one when it must have been told has merged them. Calls begun outside of messages, before
 *                        and after one, are of two. Where the truth has no cores, all time counts.)
 *   false_splits         long true calls shown as more than one slice: slices belong to the first true call that they
 *                        agree with, so one that is late to end is no part of the next call
 *   blocked              true and claimed time in blocking calls that really blocked, nested ones counted once; the
 *                        error is that of each thread, so that errors of two threads don't cancel
 *   waker precision      of claimed wakers, those that are the true ones of a true wait of the same kind that overlaps
 *                        the claimed one. A claimed wait within another one of the thread is a part of that, and not
 *                        asked for, where no true one of its kind overlaps it: who was notified waits for the monitor
 *                        again before its wait is over, which is one wait to the app
 *   waker recall         of true wakers of blocks of at least `blocked_min_ns`, those claimed right, in that sense
 *   self, total          of a method: time at which it is the innermost call, and time at which it is on the path,
 *                        however often; of the claim within true lives only. Waits are methods of their own. While a
 *                        gap is the innermost call no method has the time
 *   bias of a method     claimed minus true self time, as a share of the thread time of the run
 *
 * Sums are integers of ns, ratios IEEE divisions: the same everywhere. Allocates; not thread-safe. */
#ifndef STROBE_SIM_SCORE_SCORE_H
#define STROBE_SIM_SCORE_SCORE_H

#include "sim/score/tracks.h"

struct sim_score_options {
    uint64_t interval_ns;       /* the tracer's interval for main threads ... */
    uint64_t other_interval_ns; /* ... and for others */
    uint64_t blocked_min_ns;    /* 0 = 100 us */
};

struct sim_method_score {
    uint32_t name;  /* in truth->names */
    uint64_t calls; /* true ones */
    uint64_t true_self_ns, true_total_ns, claimed_self_ns, claimed_total_ns;
};

struct sim_thread_score {
    uint32_t track; /* in the truth */
    uint64_t thread_ns, agree_ns, resolved_ns, running_ns, running_agree_ns;
    uint64_t true_blocked_ns, claimed_blocked_ns;
};

struct sim_score {
    uint64_t thread_ns, agree_ns, resolved_ns, running_ns, running_agree_ns;
    double agreement, agreement_resolved, agreement_running;      /* shares of nothing are 1, errors of nothing 0 */
    uint64_t true_calls, found_calls, claimed_calls, right_calls; /* long ones */
    double recall, precision;
    uint64_t false_merges, false_splits;
    uint64_t true_blocked_ns, claimed_blocked_ns;
    uint64_t blocked_wrong_ns; /* sum of |claimed - true| over threads */
    double blocked_error;      /* that, relative to the truth */
    uint64_t true_wakers, found_wakers, claimed_wakers, right_wakers;
    double waker_precision, waker_recall;
    double cpu_error, alloc_error, switch_error; /* sums of |claimed - true| relative to the truth, over threads whose
                                                    totals the claim knows; the worse of allocations and bytes */
    uint64_t samples, lost, bytes;
    double bytes_per_app_second;
    /* see view.h */
    uint64_t seen_ns, seen_agree_ns, unseen_ns;
    double agreement_seen, unseen;
    uint64_t timed_calls, call_error_sum_ns, call_error_most_ns;
    double call_error_ns;
    uint64_t methods_in, methods_out, code_bytes;
    /* see sim_score_costs */
    uint64_t app_cpu_ns, tracer_cpu_ns, held_ns;
    uint64_t work_ns; /* that the scenario's operations have asked for */
    double overhead;  /* (tracer's CPU in app threads and its own + time held) / app's CPU */
    struct sim_method_score *methods;
    size_t method_count; /* largest error of self time first; without those neither
                            called nor claimed */
    struct sim_thread_score *threads;
    size_t thread_count; /* in the truth's order */
};

/* STROBE_IO: out of memory; *out is empty then. */
enum strobe_status sim_score(const struct sim_tracks *truth, const struct sim_tracks *reconstruction,
                             const struct sim_score_options *options, struct sim_score *out);

/* What the run cost, as who ran it knows: fills in the CPU times and the overhead. */
void sim_score_costs(struct sim_score *s, uint64_t app_cpu_ns, uint64_t tracer_cpu_ns, uint64_t held_ns);

/* Fills in the ratios that follow from the sums. */
void sim_score_ratios(struct sim_score *s);

void sim_score_free(struct sim_score *s);

#endif
