/* The crew: the threads to which rules apply their calls, and helper functions for rules. */
#ifndef STROBE_CONTRACT_MACH_CREW_H
#define STROBE_CONTRACT_MACH_CREW_H

#include "engine/base/atomic.h"
#include "tests/contract_mach/rules.h"

/* The work of a thread of the crew. */
enum crew_job {
    CREW_COMPUTES,        /* counts up `ticks` until `quit` is set */
    CREW_WAITS,           /* waits in the kernel once, then ends */
    CREW_SUSPENDS_ITSELF, /* once, then computes */
    CREW_SUSPENDS_FIRST,  /* suspends the first thread of the crew once, then computes */
    CREW_ENDED,
};

struct crew_member {
    enum crew_job job;
    strobe_a32 ticks, quit;
    strobe_a32 at_work;     /* 1: the thread does its job, and `port`, `inner` and `outer` are set */
    strobe_a32 over;        /* 1: the thread's wait, or the call that suspended a thread, has returned */
    kern_return_t answer;   /* result of the call that the job made */
    bool woken;             /* crew_wake has ended its wait */
    thread_act_t port;      /* a right that the crew owns until the end of the rule */
    uintptr_t inner, outer; /* return addresses on its stack while it computes: the address to which the computing
                               function returns, and the address to which its caller returns */
};

/* Starts the next thread, and returns when it is at work. NULL: the thread could not be started. */
struct crew_member *crew_start(enum crew_job job);

/* Ends all threads, also suspended ones, and releases their rights. */
void crew_end(void);

/* Ends one thread and keeps its port. */
void crew_end_one(struct crew_member *m);

/* Ends the thread's wait. */
void crew_wake(struct crew_member *m);

extern const struct mach_rules_env *crew_env;

/* Answers that differ between kernels: the run states that may be reported of a thread, as bits 1 << run_state. */
struct crew_answers {
    unsigned computing_suspended, waiting_suspended, woken_suspended;
};
const struct crew_answers *crew_answers(void);

enum {
    CREW_PATIENCE_MS = 4000, /* timeout of the waits below */
    CREW_LOOK_MS = 20,       /* time during which a stopped thread must not advance */
};

/* Returns the thread's basic info, with run_state 0 when the call fails. */
struct thread_basic_info crew_info(thread_act_t thread);
uint64_t crew_us(time_value_t t);
uint64_t crew_cpu_us(thread_act_t thread);

/* Waits until the thread's run state is one of `states`, bits 1 << run_state. Returns false on timeout. */
bool crew_becomes(thread_act_t thread, unsigned states);

/* Waits until the counter differs from `was`. Returns false on timeout. */
bool crew_changes(const strobe_a32 *counter, uint32_t was);

/* Returns true when the counter does not change for CREW_LOOK_MS. */
bool crew_stays(const strobe_a32 *counter);

/* Suspends the thread and waits until it has stopped. Returns NULL, or a text that states the failure. */
const char *crew_stop(struct crew_member *m);

/* The registers of this machine. */
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

/* Calls thread_get_state. */
kern_return_t crew_registers_of(thread_act_t thread, crew_registers *out);

/* Fails the rule when `holds` is false. */
#define REQUIRE(holds)                                                                                                 \
    do {                                                                                                               \
        if (!(holds))                                                                                                  \
            return "does not hold: " #holds;                                                                           \
    } while (0)

/* The entry after the last rule of each array has name NULL. */
extern const struct mach_rule rules_of_suspending[], rules_of_looking[], rules_of_memory[], rules_of_ports[];

#endif
