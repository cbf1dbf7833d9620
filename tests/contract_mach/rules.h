/* Table of Mach rules: the behaviour of Mach that the backend relies on. The rules run on the lab's fake
 * (sim/fake/mach), on the host of an emulated core (tests/emulate) and on a real kernel, GNU Mach (tests/gnumach). A
 * rule that holds on GNU Mach and not on the fake shows a bug of the fake.
 *
 * The rules use only Mach calls, under the names of <mach/mach.h>. They use no C library, and they also run on 32-bit
 * machines. The environment provides the operations for which a kernel has no call.
 *
 * Kernels differ in some answers. XNU cannot be run here. The answers expected of it come from its source, and the
 * emulator's host gives the same ones. The fake can answer as either kernel (fake_mach_kernel).
 *
 *   subject                                XNU                       GNU Mach                  in XNU; in GNU Mach
 *   thread_suspend returns when the        is off its processor:     has stopped, or waits     [1]; [7]
 *     thread                               may still be RUNNING      (rule: after a while)
 *   run_state, computing, then suspended   WAITING, or STOPPED       STOPPED                   [2] [3]; [6]
 *   run_state, waiting, then suspended     WAITING, or STOPPED       STOPPED                   [2] [3]; [6]
 *   the same, after its wait has ended     WAITING, or STOPPED       STOPPED                   [2] [3]; [6]
 *   suspended in a wait that cannot be     UNINTERRUPTIBLE           the caller waits, too     [2]; [7] (no rule)
 *     interrupted
 *   a thread that has ended, with a        KERN_TERMINATED (37),     MACH_SEND_INVALID_DEST    [4]; [8]
 *     right to it still held               then INVALID_DEST         (TERMINATED is 26)
 *   registers of the calling thread        returned                  KERN_INVALID_ARGUMENT     [5]; [9] (no rule)
 *   deallocating a name that does not      KERN_INVALID_NAME, and    KERN_INVALID_NAME, and    [10]; [11]
 *     exist                                a guard exception when    a line on the console
 *                                          the task requested it
 *   thread_id, names of threads            thread_info               none                      [2]; [12]
 *   vm_read_overwrite                      exists                    vm_read of whole pages    [13]; [14]
 *   time constraint                        thread_policy_set         none                      [15]; [12] (no rule)
 *
 *   XNU       [1] osfmk/kern/sched_prim.c, thread_wait
 *             [2] osfmk/kern/thread.c, retrieve_thread_basic_info: the first true one of RUNNING, UNINTERRUPTIBLE,
 *                 STOPPED, WAITING; thread_info_internal
 *             [3] osfmk/kern/thread_act.c, thread_hold, thread_apc_ast: a suspended thread waits for its release.
 *                 STOPPED is reported only while thread_get_state reads the thread (thread_stop)
 *             [4] osfmk/kern/thread_act.c, thread_suspend and others; thread.c, thread_terminate_self; ipc_tt.c
 *             [5] osfmk/kern/thread_act.c, thread_get_state_internal
 *             [10] osfmk/ipc/mach_port.c, mach_port_deallocate; [13] osfmk/vm/vm_user.c, vm_read_overwrite
 *             [15] osfmk/kern/thread_policy.c, thread_policy_set
 *   GNU Mach  [6] kern/thread.c, thread_info: as in XNU, except that thread_hold makes a thread STOPPED
 *             [7] kern/thread.c, thread_suspend, thread_dowait
 *             [8] kern/ipc_tt.c, ipc_thread_terminate; mach/kern_return.h
 *             [9] kern/thread.c, thread_get_state
 *             [11] ipc/mach_port.c, mach_port_deallocate; [12] mach/thread_info.h, mach/mach.defs, mach/mach_host.defs
 *             [14] vm/vm_user.c, vm_read
 *
 * All rules hold on Debian's GNU Mach 1.8 (tests/gnumach). */
#ifndef STROBE_CONTRACT_MACH_RULES_H
#define STROBE_CONTRACT_MACH_RULES_H

#include <mach/mach.h>
#include <stdbool.h>

enum mach_rules_kernel { MACH_RULES_XNU = 1, MACH_RULES_GNU = 2 };

enum {
    MACH_RULES_THREADS = 4,
    MACH_RULES_ANY = MACH_RULES_XNU | MACH_RULES_GNU,
    MACH_RULES_FRAMES = 4, /* the rule walks the stack from a stopped thread's registers */
};

/* The environment of the rules. Only `work` may be NULL. All code on a thread's stack must keep frame pointers. */
struct mach_rules_env {
    enum mach_rules_kernel kernel; /* the kernel whose answers are expected */

    /* Starts the thread of the slot (0 .. MACH_RULES_THREADS - 1). It calls f(arg) and then ends. Returns false when no
     * thread can be started. */
    bool (*start)(unsigned slot, void (*f)(void *), void *arg);

    /* Waits until that thread has ended, also in the kernel's view, and frees the slot. The thread's function has
     * returned or is about to return. */
    void (*join)(unsigned slot);

    /* Sleeps for at least `ms`, while other threads run. */
    void (*pass)(unsigned ms);

    /* Waits in the kernel until `wake`. One thread at a time. */
    void (*wait)(void);

    /* Ends the wait in progress. Without one, it ends the next wait at once. Any thread. */
    void (*wake)(void);

    /* Computing threads call it repeatedly. Needed where computation by itself takes no time. */
    void (*work)(void);

    /* True when a stopped thread's registers do not match its stack. Under the race detector a thread stops later than
     * requested, in the detector's code, which has no frame pointers. */
    bool no_frames;

    void (*print)(const char *text);
    vm_size_t page_bytes;
};

struct mach_rule {
    const char *name;           /* states a property */
    const char *(*check)(void); /* called by mach_rules_check; see crew.h */
    unsigned kernels;           /* bits: enum mach_rules_kernel to which the rule applies; MACH_RULES_FRAMES */
};

/* Returns the rule of this index, from 0; NULL after the last one. */
const struct mach_rule *mach_rules_at(unsigned index);

/* Checks a rule and ends the threads that it started. Returns NULL when the rule holds, else a text that states the
 * failure. One call at a time. */
const char *mach_rules_check(const struct mach_rule *rule, const struct mach_rules_env *env);

/* The result of mach_rules_run. */
struct mach_rules_result {
    unsigned passed, failed, skipped;
};

/* Checks all rules and prints a line for each. */
struct mach_rules_result mach_rules_run(const struct mach_rules_env *env);

#endif
