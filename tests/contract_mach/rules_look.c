/* Rules about the state that a kernel reports of threads: run states, times, registers. */
#include "tests/contract_mach/crew.h"

static const char *runs(void)
{
    struct crew_member *m = crew_start(CREW_COMPUTES);
    REQUIRE(m && crew_becomes(m->port, 1u << TH_STATE_RUNNING));
    REQUIRE(crew_info(m->port).suspend_count == 0);
    REQUIRE(!(crew_info(m->port).flags & TH_FLAGS_IDLE));
    return NULL;
}

static const char *stops(void)
{
    struct crew_member *m = crew_start(CREW_COMPUTES);
    REQUIRE(m && thread_suspend(m->port) == KERN_SUCCESS);
    REQUIRE(crew_becomes(m->port, crew_answers()->computing_suspended));
    REQUIRE(thread_resume(m->port) == KERN_SUCCESS);
    REQUIRE(crew_becomes(m->port, 1u << TH_STATE_RUNNING));
    return NULL;
}

static const char *time_grows(void)
{
    struct crew_member *m = crew_start(CREW_COMPUTES);
    REQUIRE(m);
    uint64_t was = crew_cpu_us(m->port);
    for (unsigned ms = 0; crew_cpu_us(m->port) <= was; ms++) {
        REQUIRE(ms < CREW_PATIENCE_MS);
        crew_env->pass(1);
    }
    return NULL;
}

static const char *time_stands(void)
{
    struct crew_member *m = crew_start(CREW_COMPUTES);
    REQUIRE(m && !crew_stop(m));
    uint64_t was = crew_cpu_us(m->port);
    crew_env->pass(5 * CREW_LOOK_MS);
    REQUIRE(crew_cpu_us(m->port) == was);
    return NULL;
}

static const char *time_of_waiting(void)
{
    struct crew_member *m = crew_start(CREW_WAITS);
    REQUIRE(m && crew_becomes(m->port, 1u << TH_STATE_WAITING));
    uint64_t was = crew_cpu_us(m->port);
    crew_env->pass(5 * CREW_LOOK_MS);
    REQUIRE(crew_cpu_us(m->port) == was);
    return NULL;
}

static const char *info_too_little(void)
{
    struct crew_member *m = crew_start(CREW_COMPUTES);
    struct thread_basic_info info;
    mach_msg_type_number_t count = 1;
    REQUIRE(m && thread_info(m->port, THREAD_BASIC_INFO, (thread_info_t)&info, &count) == KERN_INVALID_ARGUMENT);
    return NULL;
}

static const char *info_unknown(void)
{
    struct crew_member *m = crew_start(CREW_COMPUTES);
    integer_t words[64];
    mach_msg_type_number_t count = 64;
    REQUIRE(m && thread_info(m->port, 9999, words, &count) == KERN_INVALID_ARGUMENT);
    return NULL;
}

static const char *ids_differ(void)
{
    struct crew_member *a = crew_start(CREW_COMPUTES), *b = crew_start(CREW_COMPUTES);
    struct thread_identifier_info of_a, of_b, again;
    mach_msg_type_number_t count = THREAD_IDENTIFIER_INFO_COUNT;
    REQUIRE(a && b);
    REQUIRE(!thread_info(a->port, THREAD_IDENTIFIER_INFO, (thread_info_t)&of_a, &count));
    REQUIRE(!thread_info(b->port, THREAD_IDENTIFIER_INFO, (thread_info_t)&of_b, &count));
    REQUIRE(of_a.thread_id && of_b.thread_id && of_a.thread_id != of_b.thread_id);
    REQUIRE(!crew_stop(a));
    REQUIRE(!thread_info(a->port, THREAD_IDENTIFIER_INFO, (thread_info_t)&again, &count));
    REQUIRE(again.thread_id == of_a.thread_id);
    return NULL;
}

static const char *extended_info_agrees(void)
{
    struct crew_member *m = crew_start(CREW_WAITS);
    struct thread_extended_info info;
    mach_msg_type_number_t count = THREAD_EXTENDED_INFO_COUNT;
    REQUIRE(m && crew_becomes(m->port, 1u << TH_STATE_WAITING));
    REQUIRE(!thread_info(m->port, THREAD_EXTENDED_INFO, (thread_info_t)&info, &count));
    REQUIRE(info.pth_run_state == TH_STATE_WAITING && count == THREAD_EXTENDED_INFO_COUNT);
    REQUIRE(info.pth_user_time + info.pth_system_time >= crew_cpu_us(m->port)); /* finer: in ns */
    count = THREAD_EXTENDED_INFO_COUNT - 1;
    REQUIRE(thread_info(m->port, THREAD_EXTENDED_INFO, (thread_info_t)&info, &count) == KERN_INVALID_ARGUMENT);
    return NULL;
}

static uint64_t living_us(void)
{
    struct task_thread_times_info times;
    mach_msg_type_number_t count = TASK_THREAD_TIMES_INFO_COUNT;
    kern_return_t kr = task_info(mach_task_self(), TASK_THREAD_TIMES_INFO, (task_info_t)&times, &count);
    return kr == KERN_SUCCESS ? crew_us(times.user_time) + crew_us(times.system_time) : 0;
}

static const char *task_time_grows(void)
{
    struct crew_member *m = crew_start(CREW_COMPUTES);
    REQUIRE(m);
    uint64_t was = living_us();
    for (unsigned ms = 0; living_us() <= was; ms++) {
        REQUIRE(ms < CREW_PATIENCE_MS);
        crew_env->pass(1);
    }
    return NULL;
}

/* ---- clock ---- */

static const char *clock_goes_on(void)
{
    struct crew_member *m = crew_start(CREW_COMPUTES);
    struct mach_timebase_info base;
    REQUIRE(mach_timebase_info(&base) == KERN_SUCCESS && base.numer && base.denom);
    REQUIRE(m && !crew_stop(m));
    uint64_t was = mach_absolute_time();
    for (int i = 0; i < 100; i++) {
        uint64_t now = mach_absolute_time();
        REQUIRE(now >= was);
        was = now;
    }
    crew_env->pass(CREW_LOOK_MS);
    REQUIRE((mach_absolute_time() - was) * base.numer >= (uint64_t)CREW_LOOK_MS * 900000 * base.denom);
    return NULL;
}

static const char *wait_lasts(void)
{
    uint64_t was = mach_absolute_time();
    crew_env->pass(CREW_LOOK_MS);
    uint64_t deadline = mach_absolute_time() + (mach_absolute_time() - was);
    REQUIRE(mach_wait_until(deadline) == KERN_SUCCESS);
    REQUIRE(mach_absolute_time() >= deadline);
    REQUIRE(mach_wait_until(deadline) == KERN_SUCCESS); /* the deadline has passed */
    return NULL;
}

/* ---- registers ---- */

/* Reads a frame record from the thread's stack. */
static bool record_at(uintptr_t fp, uintptr_t record[2])
{
    vm_size_t bytes = 2 * sizeof(uintptr_t), got = 0;
    return vm_read_overwrite(mach_task_self(), fp, bytes, (vm_address_t)record, &got) == KERN_SUCCESS && got == bytes;
}

/* Returns true when the chain of frame records has these two return addresses, one directly after the other. */
static bool chain_has(uintptr_t fp, uintptr_t inner, uintptr_t outer)
{
    uintptr_t record[2], before = 0;
    for (int i = 0; i < 64 && fp && record_at(fp, record); i++) {
        if (before == inner && record[1] == outer)
            return true;
        before = record[1];
        fp = record[0];
    }
    return false;
}

static const char *chain_leads_home(void)
{
    struct crew_member *m = crew_start(CREW_COMPUTES);
    crew_registers regs;
    REQUIRE(m);
    for (int i = 0; i < 20; i++) {
        REQUIRE(!crew_stop(m));
        REQUIRE(crew_registers_of(m->port, &regs) == KERN_SUCCESS);
        REQUIRE(crew_pc(&regs) && chain_has(crew_fp(&regs), m->inner, m->outer));
        REQUIRE(thread_resume(m->port) == KERN_SUCCESS);
        crew_env->pass(1);
    }
    return NULL;
}

static const char *registers_stand(void)
{
    struct crew_member *m = crew_start(CREW_COMPUTES);
    crew_registers first, later;
    REQUIRE(m && !crew_stop(m));
    REQUIRE(crew_registers_of(m->port, &first) == KERN_SUCCESS);
    crew_env->pass(CREW_LOOK_MS);
    REQUIRE(crew_registers_of(m->port, &later) == KERN_SUCCESS);
    for (unsigned i = 0; i < CREW_REGISTERS_COUNT; i++)
        REQUIRE(((const natural_t *)&first)[i] == ((const natural_t *)&later)[i]);
    return NULL;
}

static const char *registers_of_waiting(void)
{
    struct crew_member *m = crew_start(CREW_WAITS);
    crew_registers first, later;
    REQUIRE(m && crew_becomes(m->port, 1u << TH_STATE_WAITING));
    REQUIRE(thread_suspend(m->port) == KERN_SUCCESS);
    REQUIRE(crew_registers_of(m->port, &first) == KERN_SUCCESS);
    crew_wake(m);
    crew_env->pass(CREW_LOOK_MS);
    REQUIRE(crew_registers_of(m->port, &later) == KERN_SUCCESS);
    REQUIRE(crew_pc(&first) == crew_pc(&later) && crew_fp(&first) == crew_fp(&later));
    return NULL;
}

static const char *state_too_little(void)
{
    struct crew_member *m = crew_start(CREW_COMPUTES);
    crew_registers regs;
    mach_msg_type_number_t count = CREW_REGISTERS_COUNT - 1;
    REQUIRE(m && !crew_stop(m));
    REQUIRE(thread_get_state(m->port, CREW_FLAVOR, (thread_state_t)&regs, &count) == KERN_INVALID_ARGUMENT);
    return NULL;
}

static const char *state_unknown(void)
{
    struct crew_member *m = crew_start(CREW_COMPUTES);
    natural_t words[256];
    mach_msg_type_number_t count = 256;
    REQUIRE(m && !crew_stop(m));
    REQUIRE(thread_get_state(m->port, 9999, words, &count) == KERN_INVALID_ARGUMENT);
    return NULL;
}

static const char *state_count(void)
{
    struct crew_member *m = crew_start(CREW_COMPUTES);
    natural_t words[256];
    mach_msg_type_number_t count = 256;
    REQUIRE(m && !crew_stop(m));
    REQUIRE(thread_get_state(m->port, CREW_FLAVOR, words, &count) == KERN_SUCCESS);
    REQUIRE(count == CREW_REGISTERS_COUNT);
    return NULL;
}

static const char *looks_leave_it_suspended(void)
{
    struct crew_member *m = crew_start(CREW_COMPUTES);
    crew_registers regs;
    REQUIRE(m && !crew_stop(m));
    for (int i = 0; i < 10; i++)
        REQUIRE(crew_registers_of(m->port, &regs) == KERN_SUCCESS);
    REQUIRE(crew_info(m->port).suspend_count == 1);
    REQUIRE(crew_stays(&m->ticks));
    return NULL;
}

const struct mach_rule rules_of_looking[] = {
    {"a thread that computes is RUNNING and not idle", runs, MACH_RULES_ANY},
    {"a suspended thread stops in a while, a resumed one is RUNNING in a while", stops, MACH_RULES_ANY},
    {"CPU time grows while a thread computes", time_grows, MACH_RULES_ANY},
    {"CPU time does not grow while a thread stands", time_stands, MACH_RULES_ANY},
    {"CPU time does not grow while a thread waits", time_of_waiting, MACH_RULES_ANY},
    {"info with too little room is KERN_INVALID_ARGUMENT", info_too_little, MACH_RULES_ANY},
    {"info of an unknown flavor is KERN_INVALID_ARGUMENT", info_unknown, MACH_RULES_ANY},
    {"thread ids differ, and stay", ids_differ, MACH_RULES_XNU},
    {"extended info has the state and time of basic info", extended_info_agrees, MACH_RULES_XNU},
    {"the task's time grows while a thread of it computes", task_time_grows, MACH_RULES_ANY},
    {"time goes on while a thread stands, and never back", clock_goes_on, MACH_RULES_ANY},
    {"a wait until a time lasts until then, and not at all when it is over", wait_lasts, MACH_RULES_ANY},
    {"frame records from a stopped thread's registers lead to its callers", chain_leads_home,
     MACH_RULES_ANY | MACH_RULES_FRAMES},
    {"registers of a suspended thread stay as they are", registers_stand, MACH_RULES_ANY},
    {"registers of a thread that was suspended in a wait are those it began it with", registers_of_waiting,
     MACH_RULES_ANY},
    {"registers with too little room are KERN_INVALID_ARGUMENT", state_too_little, MACH_RULES_ANY},
    {"registers of an unknown flavor are KERN_INVALID_ARGUMENT", state_unknown, MACH_RULES_ANY},
    {"registers come with the count of what was filled", state_count, MACH_RULES_ANY},
    {"looking at registers leaves the suspend count as it is", looks_leave_it_suspended, MACH_RULES_ANY},
    {NULL, NULL, 0},
};
