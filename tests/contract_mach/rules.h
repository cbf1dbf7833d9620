/* One table of Mach rules: what the backend relies on, and what every kernel under it keeps: the lab's fake
 * (sim/fake/mach), the emulated core's host (tests/emulate), and a real kernel, GNU Mach (tests/gnumach). A rule that
 * holds on GNU Mach and not on the fake shows a bug of the fake.
 *
 * Uses Mach calls only, by the names of <mach/mach.h>: no C library, nothing of 64 bits' own. What a kernel has no call
 * for is asked of the environment.
 *
 * Kernels differ in some answers. XNU can't be run here: what is expected of it is read from its source, and is what
 * the emulator's host guarantees; the fake answers as either (fake_mach_kernel).
 *
 *   what                                   XNU                       GNU Mach                  in XNU; in GNU Mach
 *   thread_suspend returns when the        is off its processor:     has stopped, or waits     [1]; [7]
 *     thread                               may be RUNNING yet        (rule: in a while)
 *   run_state, computing, then suspended   WAITING, or STOPPED       STOPPED                   [2] [3]; [6]
 *   run_state, waiting, then suspended     WAITING, or STOPPED       STOPPED                   [2] [3]; [6]
 *   run_state, and its wait is over since  WAITING, or STOPPED       STOPPED                   [2] [3]; [6]
 *   suspended in a wait that can't be      UNINTERRUPTIBLE           the caller waits, too     [2]; [7] (no rule)
 *     interrupted
 *   a thread that has ended, its name      KERN_TERMINATED (37),     MACH_SEND_INVALID_DEST    [4]; [8]
 *     still held                           then INVALID_DEST         (TERMINATED is 26)
 *   registers of the calling thread        returned                  KERN_INVALID_ARGUMENT     [5]; [9] (no rule)
 *   deallocating a name that is none       KERN_INVALID_NAME, and    KERN_INVALID_NAME, and    [10]; [11]
 *                                          a guard exception where   a line on the console
 *                                          the task asked for it
 *   thread_id, names of threads            thread_info               none                      [2]; [12]
 *   vm_read_overwrite                      a call                    vm_read of whole pages    [13]; [14]
 *   time constraint                        thread_policy_set         none                      [15]; [12] (no rule)
 *
 *   XNU       [1] osfmk/kern/sched_prim.c, thread_wait
 *             [2] osfmk/kern/thread.c, retrieve_thread_basic_info: RUNNING, UNINTERRUPTIBLE, STOPPED, WAITING,
 *                 whichever is true first; thread_info_internal
 *             [3] osfmk/kern/thread_act.c, thread_hold, thread_apc_ast: who is suspended waits to be released; STOPPED
 *                 is reported only while thread_get_state reads it (thread_stop)
 *             [4] osfmk/kern/thread_act.c, thread_suspend and others; thread.c, thread_terminate_self; ipc_tt.c
 *             [5] osfmk/kern/thread_act.c, thread_get_state_internal
 *             [10] osfmk/ipc/mach_port.c, mach_port_deallocate; [13] osfmk/vm/vm_user.c, vm_read_overwrite
 *             [15] osfmk/kern/thread_policy.c, thread_policy_set
 *   GNU Mach  [6] kern/thread.c, thread_info: as in XNU, but STOPPED is what thread_hold makes of a thread
 *             [7] kern/thread.c, thread_suspend, thread_dowait
 *             [8] kern/ipc_tt.c, ipc_thread_terminate; mach/kern_return.h
 *             [9] kern/thread.c, thread_get_state
 *             [11] ipc/mach_port.c, mach_port_deallocate; [12] mach/thread_info.h, mach/mach.defs, mach/mach_host.defs
 *             [14] vm/vm_user.c, vm_read
 *
 * What runs here agrees with these sources: all rules hold on Debian's GNU Mach 1.8 (tests/gnumach). */
#ifndef STROBE_CONTRACT_MACH_RULES_H
#define STROBE_CONTRACT_MACH_RULES_H

#include <mach/mach.h>
#include <stdbool.h>

enum mach_rules_kernel { MACH_RULES_XNU = 1, MACH_RULES_GNU = 2 };

enum {
    MACH_RULES_THREADS = 4,
    MACH_RULES_ANY = MACH_RULES_XNU | MACH_RULES_GNU,
    MACH_RULES_FRAMES = 4, /* the rule reads stacks by a stopped thread's registers */
};

/* What rules ask of where they run. None is NULL but `work`. All code on a thread's stack keeps frame pointers. */
struct mach_rules_env {
    enum mach_rules_kernel kernel; /* whose answers are expected where kernels differ */

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

    /* Registers don't fit the stack: the race detector has threads stop later than requested, in code of its own
     * without frame pointers. */
    bool no_frames;

    void (*print)(const char *text);
    vm_size_t page_bytes;
};

struct mach_rule {
    const char *name;           /* states a property */
    const char *(*check)(void); /* see crew.h; by mach_rules_check */
    unsigned kernels;           /* bits: enum mach_rules_kernel that has what it is about; _FRAMES */
};

/* The rules by number, from 0. NULL: there are no more. */
const struct mach_rule *mach_rules_at(unsigned index);

/* Checks one: NULL when it holds, otherwise what was wrong. Threads that it started are ended. One at a time. */
const char *mach_rules_check(const struct mach_rule *rule, const struct mach_rules_env *env);

/* Counts of a run of all rules. */
struct mach_rules_result {
    unsigned passed, failed, skipped;
};

/* Checks all and prints a line for each. */
struct mach_rules_result mach_rules_run(const struct mach_rules_env *env);

#endif
