/* The functions through which the fake Mach uses threads: real threads (pthreads.c), or the virtual kernel's fibers
 * (sim/player/virtual), which fake_mach_use_system installs before the first other call.
 *
 * A thread is in the kernel from enter to leave, and nothing stops it there. It stops at leave, or, outside the kernel,
 * at once. */
#ifndef STROBE_SIM_FAKE_MACH_SYSTEM_H
#define STROBE_SIM_FAKE_MACH_SYSTEM_H

#include "sim/fake/mach/fake.h"

#include <pthread.h>
#include <stdatomic.h>

/* Registers of this machine. */
#if defined(__aarch64__)
typedef arm_thread_state64_t fake_mach_registers;
#define FAKE_MACH_STATE       ARM_THREAD_STATE64
#define FAKE_MACH_STATE_COUNT ARM_THREAD_STATE64_COUNT
#else
typedef x86_thread_state64_t fake_mach_registers;
#define FAKE_MACH_STATE       x86_THREAD_STATE64
#define FAKE_MACH_STATE_COUNT x86_THREAD_STATE64_COUNT
#endif

/* Where a thread entered the kernel: the caller's registers that are needed to find its callers. */
struct fake_mach_place {
    uint64_t pc, sp, fp;
};

enum fake_mach_where {
    FAKE_MACH_GONE,   /* it has ended */
    FAKE_MACH_RUNS,   /* on a processor, or ready to run */
    FAKE_MACH_WAITS,  /* in the kernel, waiting */
    FAKE_MACH_STANDS, /* stopped */
};

/* Threads are identified by their thread_id, which is unique while the system is up, and not 0. */
struct fake_mach_system {
    uint64_t (*self)(void);
    uint64_t (*of_pthread)(pthread_t thread);          /* 0: it has ended */
    pthread_t (*pthread_of)(uint64_t id);              /* 0: unknown. With the lock held */
    uint32_t (*threads)(uint64_t *ids, uint32_t room); /* all live threads. With the lock held */
    void (*forget)(uint64_t id);                       /* the thread has ended and will not be used again. With the lock
                                                          held */
    enum fake_mach_where (*where)(uint64_t id);        /* this and the next three: with the lock held */
    uint64_t (*cpu_ns)(uint64_t id);                   /* 0 for a thread that has ended */
    uint64_t (*process_cpu_ns)(void);                  /* of all threads, including those that have ended */
    void (*name)(uint64_t id, char name[MAXTHREADNAMESIZE]);
    void (*set_name)(const char *name); /* of the calling thread; shorter than MAXTHREADNAMESIZE */
    void (*set_realtime)(uint64_t id);  /* the thread has a time constraint. With the lock held. NULL: not needed */

    /* stop requests a stop, also of the calling thread, and go lets the thread run again; both with the lock held.
     * settle waits until the thread is stopped, has ended, or is in the kernel (`out`: waits there, or has come out);
     * without the lock. */
    void (*stop)(uint64_t id);
    void (*go)(uint64_t id);
    void (*held)(uint64_t id, uint64_t by); /* records which thread's suspension the thread is stopped by, any one of
                                               several; 0: none. NULL: not needed */
    void (*settle)(uint64_t id, bool out);

    /* Returns the registers of a stopped thread, or those with which a thread entered the kernel. Returns false for
     * other threads. With the lock held. */
    bool (*registers)(uint64_t id, fake_mach_registers *out);

    void (*enter)(const struct fake_mach_place *from); /* the calling thread enters the kernel; nests */
    void (*waits)(bool waits);                         /* the calling thread waits in the kernel */
    void (*leave)(void);

    uint64_t (*now_ns)(void);
    void (*sleep_until_ns)(uint64_t at); /* this and the next: in the kernel */

    /* Sleeps while *word is `seen`, until `at` (UINT64_MAX: no limit), a wake-up, or a spurious wake-up. Returns false
     * when `at` is past. */
    bool (*sleep_on)(_Atomic uint32_t *word, uint32_t seen, uint64_t at);
    void (*wake)(_Atomic uint32_t *word); /* wakes all sleepers. Anywhere */

    void (*lock)(void); /* the fake's own state; in the kernel */
    void (*unlock)(void);
};

FAKE_MACH_API void fake_mach_use_system(const struct fake_mach_system *system);
extern const struct fake_mach_system fake_mach_pthreads;

#endif
