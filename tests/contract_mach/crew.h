/* The threads that rules try their calls on, and small tools for rules. */
#ifndef STROBE_CONTRACT_MACH_CREW_H
#define STROBE_CONTRACT_MACH_CREW_H

#include "engine/base/atomic.h"
#include "tests/contract_mach/rules.h"

/* What a thread of the crew does. */
enum crew_job {
    CREW_COMPUTES,        /* counts up `ticks`, until it is asked to quit */
    CREW_WAITS,           /* waits in the kernel once, then ends */
    CREW_SUSPENDS_ITSELF, /* once, then computes */
    CREW_SUSPENDS_FIRST,  /* suspends the first of the crew once, then computes */
    CREW_ENDED,
};

struct crew_member {
    enum crew_job job;
    strobe_a32 ticks, quit;
    strobe_a32 at_work;     /* it does its job now, has its port and frames in place */
    strobe_a32 over;        /* it is back from its wait, or from the call that suspended it */
    kern_return_t answer;   /* of the call that its job made */
    bool woken;             /* its wait was ended */
    thread_act_t port;      /* a right of its own, given back when the rule is over */
    uintptr_t inner, outer; /* return addresses that lie on its stack while it computes: into the function that
                               called the one which computes, and into that one's caller */
};

/* Starts the next; returns when it is at work. NULL: can't. */
struct crew_member *crew_start(enum crew_job job);

/* The threads end, also suspended ones; rights are given back. */
void crew_end(void);

/* One thread ends; its port is kept. */
void crew_end_one(struct crew_member *m);

/* Ends its wait. */
void crew_wake(struct crew_member *m);

extern const struct mach_rules_env *crew_env;

/* What differs between kernels: bits 1 << run_state that may be reported of a thread. */
struct crew_answers {
    unsigned computing_suspended, waiting_suspended, woken_suspended;
};
const struct crew_answers *crew_answers(void);

enum { CREW_PATIENCE_MS = 4000, CREW_LOOK_MS = 20 }; /* until it is given up; as long as nothing may happen */

/* Basic info; run_state 0 when the call fails. */
struct thread_basic_info crew_info(thread_act_t thread);
uint64_t crew_us(time_value_t t);
uint64_t crew_cpu_us(thread_act_t thread);

/* Waits until the thread's run state is among `states` (bits). false: not in time. */
bool crew_becomes(thread_act_t thread, unsigned states);

/* Waits until the counter is another than `was`. false: not in time. */
bool crew_changes(const strobe_a32 *counter, uint32_t was);

/* Whether the counter stays as it is for a while. */
bool crew_stays(const strobe_a32 *counter);

/* Suspends it and waits until it has stopped. NULL, or what went wrong. */
const char *crew_stop(struct crew_member *m);

/* Registers of this machine. */
#if defined(__aarch64__)
typedef arm_thread_state64_t crew_registers;
enum { CREW_FLAVOR = ARM_THREAD_STATE64 };
static inline uintptr_t crew_pc(const crew_registers *r)
{
    return (uintptr_t)r->__pc;
}
static inline uintptr_t crew_fp(const crew_registers *r)
{
    return (uintptr_t)r->__fp;
}
#else
typedef x86_thread_state64_t crew_registers;
enum { CREW_FLAVOR = x86_THREAD_STATE64 };
static inline uintptr_t crew_pc(const crew_registers *r)
{
    return (uintptr_t)r->__rip;
}
static inline uintptr_t crew_fp(const crew_registers *r)
{
    return (uintptr_t)r->__rbp;
}
#endif

enum { CREW_REGISTERS_COUNT = sizeof(crew_registers) / sizeof(natural_t) };

/* As thread_get_state. */
kern_return_t crew_registers_of(thread_act_t thread, crew_registers *out);

/* Ends a rule, when something does not hold. */
#define REQUIRE(holds)                                                                                                 \
    do {                                                                                                               \
        if (!(holds))                                                                                                  \
            return "does not hold: " #holds;                                                                           \
    } while (0)

/* Each file of rules ends with an entry of name NULL. */
extern const struct mach_rule rules_of_suspending[], rules_of_looking[], rules_of_memory[], rules_of_ports[];

#endif
