/* What the fake Mach asks of the threads it runs on: real ones (pthreads.c), or the virtual kernel's fibers
 * (sim/player/virtual), put in place by fake_mach_use_system before the first other call.
 *
 * A thread is in the kernel from enter to leave: nothing stops it there. It stops at leave, or, when it is outside, at
 * once. */
#ifndef STROBE_SIM_FAKE_MACH_SYSTEM_H
#define STROBE_SIM_FAKE_MACH_SYSTEM_H

#include "sim/fake/mach/fake.h"

#include <pthread.h>
#include <stdatomic.h>

/* Registers as this machine has them. */
#if defined(__aarch64__)
typedef arm_thread_state64_t fake_mach_registers;
#define FAKE_MACH_STATE       ARM_THREAD_STATE64
#define FAKE_MACH_STATE_COUNT ARM_THREAD_STATE64_COUNT
#else
typedef x86_thread_state64_t fake_mach_registers;
#define FAKE_MACH_STATE       x86_THREAD_STATE64
#define FAKE_MACH_STATE_COUNT x86_THREAD_STATE64_COUNT
#endif

/* Where a thread went into the kernel: the caller's registers, as far as its callers can be found by them. */
struct fake_mach_place {
    uint64_t pc, sp, fp;
};

enum fake_mach_where {
    FAKE_MACH_GONE,   /* it has ended */
    FAKE_MACH_RUNS,   /* on a processor, or ready for one */
    FAKE_MACH_WAITS,  /* in the kernel, for something */
    FAKE_MACH_STANDS, /* stopped */
};

/* Threads are known by their thread_id: unique as long as the system is up, not 0. */
struct fake_mach_system {
    uint64_t (*self)(void);
    uint64_t (*of_pthread)(pthread_t thread);          /* 0: it has ended */
    pthread_t (*pthread_of)(uint64_t id);              /* 0: not known. With the lock held */
    uint32_t (*threads)(uint64_t *ids, uint32_t room); /* all that live. With the lock held */
    void (*forget)(uint64_t id);                       /* it has ended; nobody will ask for it. With the lock held */
    enum fake_mach_where (*where)(uint64_t id);        /* this and the next three: with the lock held */
    uint64_t (*cpu_ns)(uint64_t id);                   /* 0 of one that has ended */
    uint64_t (*process_cpu_ns)(void);                  /* of all threads, those that have ended too */
    void (*name)(uint64_t id, char name[MAXTHREADNAMESIZE]);

    /* stop asks, which may be of the caller itself, and go lets it run again: with the lock held. settle waits until
     * the thread stands, has ended, or is in the kernel (`out`: waits there, or has come out): without the lock. */
    void (*stop)(uint64_t id);
    void (*go)(uint64_t id);
    void (*held)(uint64_t id, uint64_t by); /* whose suspension it stands by, or is about to, of several
                                               anyone's; 0: nobody's. NULL: it is not asked for */
    void (*settle)(uint64_t id, bool out);

    /* Of one that stands, or is in the kernel: those with which it went in. false: of no other. With the lock held. */
    bool (*registers)(uint64_t id, fake_mach_registers *out);

    void (*enter)(const struct fake_mach_place *from); /* the caller, into the kernel; nests */
    void (*waits)(bool waits);                         /* the caller, in the kernel: for something */
    void (*leave)(void);

    uint64_t (*now_ns)(void);
    void (*sleep_until_ns)(uint64_t at); /* this and the next: in the kernel */

    /* Sleeps while *word is `seen`, until `at` (UINT64_MAX: never) or woken, or for no reason. false: `at` is past. */
    bool (*sleep_on)(_Atomic uint32_t *word, uint32_t seen, uint64_t at);
    void (*wake)(_Atomic uint32_t *word); /* all who sleep on it. Anywhere */

    void (*lock)(void); /* the fake's own state; in the kernel */
    void (*unlock)(void);
};

FAKE_MACH_API void fake_mach_use_system(const struct fake_mach_system *system);
extern const struct fake_mach_system fake_mach_pthreads;

#endif
