/* Rules about suspending and resuming threads. */
#include "tests/contract_mach/crew.h"

static const char *no_progress(void)
{
    struct crew_member *m = crew_start(CREW_COMPUTES);
    REQUIRE(m && crew_changes(&m->ticks, 0));
    REQUIRE(!crew_stop(m));
    REQUIRE(crew_stays(&m->ticks));
    return NULL;
}

static const char *goes_on(void)
{
    struct crew_member *m = crew_start(CREW_COMPUTES);
    REQUIRE(m && !crew_stop(m));
    uint32_t was = strobe_load_relaxed(&m->ticks);
    REQUIRE(thread_resume(m->port) == KERN_SUCCESS);
    REQUIRE(crew_changes(&m->ticks, was));
    return NULL;
}

static const char *nests(void)
{
    struct crew_member *m = crew_start(CREW_COMPUTES);
    REQUIRE(m && !crew_stop(m) && !crew_stop(m));
    uint32_t was = strobe_load_relaxed(&m->ticks);
    REQUIRE(thread_resume(m->port) == KERN_SUCCESS);
    REQUIRE(crew_stays(&m->ticks));
    REQUIRE(thread_resume(m->port) == KERN_SUCCESS);
    REQUIRE(crew_changes(&m->ticks, was));
    return NULL;
}

static const char *nests_deeply(void)
{
    enum { DEEP = 100 };
    struct crew_member *m = crew_start(CREW_COMPUTES);
    REQUIRE(m);
    for (int i = 1; i <= DEEP; i++) {
        REQUIRE(thread_suspend(m->port) == KERN_SUCCESS);
        REQUIRE(crew_info(m->port).suspend_count == i);
    }
    for (int i = DEEP - 1; i >= 0; i--) {
        REQUIRE(thread_resume(m->port) == KERN_SUCCESS);
        REQUIRE(crew_info(m->port).suspend_count == i);
    }
    REQUIRE(thread_resume(m->port) == KERN_FAILURE);
    return NULL;
}

static const char *resume_of_running(void)
{
    struct crew_member *m = crew_start(CREW_COMPUTES);
    REQUIRE(m && thread_resume(m->port) == KERN_FAILURE);
    REQUIRE(crew_info(m->port).suspend_count == 0);
    uint32_t was = strobe_load_relaxed(&m->ticks);
    REQUIRE(crew_changes(&m->ticks, was));
    return NULL;
}

static const char *resume_leaves_no_credit(void)
{
    struct crew_member *m = crew_start(CREW_COMPUTES);
    REQUIRE(m && thread_resume(m->port) == KERN_FAILURE);
    REQUIRE(!crew_stop(m));
    REQUIRE(crew_stays(&m->ticks));
    return NULL;
}

static const char *others_run_on(void)
{
    struct crew_member *m = crew_start(CREW_COMPUTES), *other = crew_start(CREW_COMPUTES);
    REQUIRE(m && other && !crew_stop(m));
    uint32_t was = strobe_load_relaxed(&other->ticks);
    REQUIRE(crew_changes(&other->ticks, was));
    return NULL;
}

static const char *two_suspenders(void)
{
    struct crew_member *m = crew_start(CREW_COMPUTES), *other = crew_start(CREW_SUSPENDS_FIRST);
    REQUIRE(m && other && crew_changes(&other->over, 0));
    REQUIRE(other->answer == KERN_SUCCESS);
    REQUIRE(!crew_stop(m));
    REQUIRE(crew_info(m->port).suspend_count == 2);
    REQUIRE(thread_resume(m->port) == KERN_SUCCESS);
    REQUIRE(crew_stays(&m->ticks));
    uint32_t was = strobe_load_relaxed(&m->ticks);
    REQUIRE(thread_resume(m->port) == KERN_SUCCESS);
    REQUIRE(crew_changes(&m->ticks, was));
    return NULL;
}

static const char *suspends_itself(void)
{
    struct crew_member *m = crew_start(CREW_SUSPENDS_ITSELF);
    REQUIRE(m && crew_becomes(m->port, crew_answers()->computing_suspended));
    REQUIRE(crew_info(m->port).suspend_count == 1);
    REQUIRE(crew_stays(&m->over) && !strobe_load_acquire(&m->over));
    REQUIRE(thread_resume(m->port) == KERN_SUCCESS);
    REQUIRE(crew_changes(&m->over, 0));
    REQUIRE(m->answer == KERN_SUCCESS);
    return NULL;
}

static const char *stands_for_long(void)
{
    struct crew_member *m = crew_start(CREW_COMPUTES);
    REQUIRE(m && !crew_stop(m));
    for (int i = 0; i < 10; i++)
        REQUIRE(crew_stays(&m->ticks));
    return NULL;
}

static const char *no_port(void)
{
    REQUIRE(thread_suspend(MACH_PORT_NULL) == MACH_SEND_INVALID_DEST);
    REQUIRE(thread_resume(MACH_PORT_NULL) == MACH_SEND_INVALID_DEST);
    return NULL;
}

static const char *no_thread(void)
{
    REQUIRE(thread_suspend(mach_task_self()) == KERN_INVALID_ARGUMENT);
    REQUIRE(thread_resume(mach_task_self()) == KERN_INVALID_ARGUMENT);
    return NULL;
}

/* ---- in the kernel ---- */

static struct crew_member *start_waiting(void)
{
    struct crew_member *m = crew_start(CREW_WAITS);
    return m && crew_becomes(m->port, 1u << TH_STATE_WAITING) ? m : NULL;
}

static const char *waits(void)
{
    struct crew_member *m = start_waiting();
    REQUIRE(m && crew_info(m->port).suspend_count == 0);
    REQUIRE(crew_stays(&m->over) && !strobe_load_acquire(&m->over));
    return NULL;
}

static const char *waiting_is_stopped(void)
{
    struct crew_member *m = start_waiting();
    REQUIRE(m && thread_suspend(m->port) == KERN_SUCCESS);
    REQUIRE(crew_becomes(m->port, crew_answers()->waiting_suspended));
    REQUIRE(crew_info(m->port).suspend_count == 1);
    return NULL;
}

static const char *wait_ends_no_return(void)
{
    struct crew_member *m = start_waiting();
    REQUIRE(m && thread_suspend(m->port) == KERN_SUCCESS);
    crew_wake(m);
    REQUIRE(crew_stays(&m->over) && !strobe_load_acquire(&m->over));
    REQUIRE(crew_becomes(m->port, crew_answers()->woken_suspended));
    REQUIRE(thread_resume(m->port) == KERN_SUCCESS);
    REQUIRE(crew_changes(&m->over, 0));
    return NULL;
}

static const char *wait_goes_on(void)
{
    struct crew_member *m = start_waiting();
    REQUIRE(m && thread_suspend(m->port) == KERN_SUCCESS && thread_resume(m->port) == KERN_SUCCESS);
    REQUIRE(crew_becomes(m->port, 1u << TH_STATE_WAITING));
    REQUIRE(crew_stays(&m->over) && !strobe_load_acquire(&m->over));
    crew_wake(m);
    REQUIRE(crew_changes(&m->over, 0));
    return NULL;
}

const struct mach_rule rules_of_suspending[] = {
    {"a suspended thread makes no progress", no_progress, MACH_RULES_ANY},
    {"a resumed thread goes on", goes_on, MACH_RULES_ANY},
    {"two suspends take two resumes", nests, MACH_RULES_ANY},
    {"the suspend count says how many suspends are left", nests_deeply, MACH_RULES_ANY},
    {"resume of a thread that runs is KERN_FAILURE and changes nothing", resume_of_running, MACH_RULES_ANY},
    {"a resume too many is not saved for the next suspend", resume_leaves_no_credit, MACH_RULES_ANY},
    {"others run on while a thread stands", others_run_on, MACH_RULES_ANY},
    {"suspends by two threads count both", two_suspenders, MACH_RULES_ANY},
    {"a thread that suspends itself stands until another resumes it", suspends_itself, MACH_RULES_ANY},
    {"a suspended thread stands however long nobody resumes it", stands_for_long, MACH_RULES_ANY},
    {"suspend and resume of no port are MACH_SEND_INVALID_DEST", no_port, MACH_RULES_ANY},
    {"suspend and resume of a port of no thread are KERN_INVALID_ARGUMENT", no_thread, MACH_RULES_ANY},
    {"a thread that waits in the kernel is WAITING", waits, MACH_RULES_ANY},
    {"a thread that is suspended while it waits counts as suspended", waiting_is_stopped, MACH_RULES_ANY},
    {"a suspended thread whose wait ends does not come back before it is resumed", wait_ends_no_return, MACH_RULES_ANY},
    {"suspend and resume end no wait", wait_goes_on, MACH_RULES_ANY},
    {NULL, NULL, 0},
};
