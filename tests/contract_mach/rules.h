/* One table of Mach rules: what the backend relies on, and what every kernel under it keeps: the lab's fake (sim/mach),
 * the emulated core's host (tests/emulate), and a real kernel, GNU Mach (tests/gnumach). A rule that holds on GNU Mach
 * and not on the fake shows a bug of the fake.
 *
 * Uses Mach calls only, by the names of <mach/mach.h>: no C library, nothing of 64 bits' own. What a kernel has no call
 * for is asked of the environment.
 *
 * Kernels differ in some answers. XNU can't be run here: what is expected of it is read from its source, and is what
 * the fake and the emulator's host promise.
 *
 *   what                                      XNU                  GNU Mach          source: XNU; GNU Mach
 *   run_state, computing, then suspended      WAITING or STOPPED   STOPPED           [1] [2]; [5]
 *   run_state, waiting, then suspended        WAITING or STOPPED   STOPPED           [1] [2]; [5] [6]
 *   run_state, and its wait is over since     WAITING or STOPPED   STOPPED           [1] [2]; [5]
 *   a thread that has ended, its name left    TERMINATED, then     INVALID_DEST      [2] [3]; [7]
 *                                             INVALID_DEST
 *   thread_id, names of threads               thread_info          none              [1]; [8]
 *   vm_read_overwrite                         a call               vm_read, whole    [4]; [9]
 *                                                                  pages
 *   time constraint                           thread_policy_set    none              [10]; [8]
 *
 *   [1] osfmk/kern/thread.c, retrieve_thread_basic_info: RUNNING before STOPPED before WAITING; STOPPED means
 *       thread_stop, which thread_suspend does not use; thread_info_internal
 *   [2] osfmk/kern/thread_act.c, thread_hold and thread_suspended: a suspended thread waits to be released
 *   [3] osfmk/kern/ipc_tt.c, ipc_thread_disable: the port dies when the thread has been reaped
 *   [4] osfmk/vm/vm_user.c, vm_read_overwrite
 *   [5] kern/thread.c, thread_info: RUNNING before STOPPED before WAITING; STOPPED means suspended
 *   [6] kern/thread.c, thread_suspend and thread_dowait
 *   [7] kern/ipc_tt.c, ipc_thread_terminate
 *   [8] mach/thread_info.h, mach/mach.defs, mach/mach4.defs: no such flavor, no such call
 *   [9] vm/vm_user.c, vm_read
 *   [10] osfmk/kern/thread_policy.c */
#ifndef STROBE_CONTRACT_MACH_RULES_H
#define STROBE_CONTRACT_MACH_RULES_H

#include <mach/mach.h>
#include <stdbool.h>

enum mach_rules_kernel { MACH_RULES_XNU = 1, MACH_RULES_GNU = 2 };

enum { MACH_RULES_THREADS = 4, MACH_RULES_ANY = MACH_RULES_XNU | MACH_RULES_GNU };

/* What rules ask of where they run. None may be NULL but `work`. All code on a thread's stack keeps frame pointers. */
struct mach_rules_env {
    enum mach_rules_kernel kernel;            /* whose answers are expected where kernels differ */

    /* Starts the slot's thread (0 .. MACH_RULES_THREADS - 1), which calls f(arg) and then ends. false: can't. */
    bool (*start)(unsigned slot, void (*f)(void *), void *arg);

    /* Returns when that thread, whose function has returned or is about to, has ended for the kernel as well. Frees the
     * slot. */
    void (*join)(unsigned slot);

    /* The caller sleeps for at least so many ms; others run. */
    void (*pass)(unsigned ms);

    /* The caller waits in the kernel until `wake`. One at a time. */
    void (*wait)(void);

    /* Ends the wait under way, or the next at once when none is. Any thread. */
    void (*wake)(void);

    /* Called again and again by threads that compute, where that by itself takes no time. */
    void (*work)(void);

    void (*print)(const char *text);
    vm_size_t page_bytes;
};

struct mach_rule {
    const char *name;                         /* states a property */
    const char *(*check)(void);               /* see crew.h; by mach_rules_check */
    unsigned kernels;                         /* bits of enum mach_rules_kernel that have what it is about */
};

/* The rules by number, from 0. NULL: there are no more. */
const struct mach_rule *mach_rules_at(unsigned index);

/* Checks one: NULL when it holds, otherwise what was wrong. Threads that it started are ended. One at a time. */
const char *mach_rules_check(const struct mach_rule *rule, const struct mach_rules_env *env);

/* Counts of a run of all rules. */
struct mach_rules_result { unsigned passed, failed, skipped; };

/* Checks all and prints a line for each. */
struct mach_rules_result mach_rules_run(const struct mach_rules_env *env);

#endif
