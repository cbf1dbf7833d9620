/* What the fake Mach asks of the threads it runs on: real ones (pthreads.c), or the virtual kernel's fibers
 * (sim/virtual/mach.c), put in place by fake_mach_use_system before the first other call. */
#ifndef STROBE_SIM_MACH_SYSTEM_H
#define STROBE_SIM_MACH_SYSTEM_H

#include "sim/mach/fake.h"

/* A thread as the system has it: opaque, valid until the fake is told that it has ended. */
struct fake_mach_system {
    uint64_t (*self)(void);                                  /* thread_id of the caller: unique, not 0 */
    bool (*stop)(uint64_t id);                               /* asks it to stop; it does when it next is outside the
                                                                kernel. false: it has ended */
    bool (*stopped)(uint64_t id);                            /* it has */
    void (*go)(uint64_t id);
    bool (*registers)(uint64_t id, x86_thread_state64_t *out);   /* of a stopped one; or of one that waits in the
                                                                    kernel: those with which it went in */
    uint64_t (*cpu_ns)(uint64_t id);
    bool (*runs)(uint64_t id);                               /* on a processor, or ready for one */
    uint64_t (*now_ns)(void);
    void (*sleep_until_ns)(uint64_t at);
    bool (*read)(uint64_t address, void *out, size_t bytes); /* all or nothing, without a fault */
    uint32_t (*threads)(uint64_t *ids, uint32_t room);       /* all that live */
    void (*lock)(void);                                      /* the fake's own state: never held across a call above
                                                                that waits */
    void (*unlock)(void);
};

FAKE_MACH_API void fake_mach_use_system(const struct fake_mach_system *system);
extern const struct fake_mach_system fake_mach_pthreads;

#endif
