#include "tests/contract_mach/crew.h"

static struct crew_member crew[MACH_RULES_THREADS];
static unsigned crew_count;
const struct mach_rules_env *crew_env;

/* ---- answers of the kernels; rules.h has the sources ---- */

#define STATE(name) (1u << TH_STATE_##name)

static const struct crew_answers xnu_answers = {
    .computing_suspended = STATE(STOPPED) | STATE(WAITING),
    .waiting_suspended = STATE(STOPPED) | STATE(WAITING),
    .woken_suspended = STATE(STOPPED) | STATE(WAITING),
};
static const struct crew_answers gnu_answers = {
    .computing_suspended = STATE(STOPPED),
    .waiting_suspended = STATE(STOPPED),
    .woken_suspended = STATE(STOPPED),
};

const struct crew_answers *crew_answers(void)
{
    return crew_env->kernel == MACH_RULES_GNU ? &gnu_answers : &xnu_answers;
}

/* ---- code of the threads ---- */

static void compute_some(struct crew_member *m)
{
    for (volatile unsigned i = 0; i < 100; i++)
        continue;
    if (crew_env->work)
        crew_env->work();
    strobe_bump(&m->ticks, 1);
}

/* Rules check the return addresses of these two functions. The functions must therefore not be inlined, and must not
 * end in a tail call. */
__attribute__((noinline)) static void compute(struct crew_member *m)
{
    m->inner = (uintptr_t)__builtin_return_address(0);
    strobe_store_release(&m->at_work, 1);
    while (!strobe_load_relaxed(&m->quit))
        compute_some(m);
}

__attribute__((noinline)) static void call_compute(struct crew_member *m)
{
    m->outer = (uintptr_t)__builtin_return_address(0);
    compute(m);
    strobe_bump(&m->ticks, 1);
}

static void suspend_once(struct crew_member *m, thread_act_t whom)
{
    m->answer = thread_suspend(whom);
    strobe_store_release(&m->over, 1);
}

static void wait_once(struct crew_member *m)
{
    strobe_store_release(&m->at_work, 1);
    crew_env->wait();
    strobe_store_release(&m->over, 1);
}

static void run(void *arg)
{
    struct crew_member *m = arg;
    m->port = mach_thread_self();
    if (m->job == CREW_WAITS) {
        wait_once(m);
        return;
    }
    if (m->job != CREW_COMPUTES)
        strobe_store_release(&m->at_work, 1);
    if (m->job == CREW_SUSPENDS_ITSELF)
        suspend_once(m, m->port);
    if (m->job == CREW_SUSPENDS_FIRST)
        suspend_once(m, crew[0].port);
    call_compute(m);
    strobe_bump(&m->ticks, 1);
}

/* ---- start and end of threads ---- */

static struct crew_member *begin(struct crew_member *m, enum crew_job job)
{
    m->job = job;
    m->answer = KERN_SUCCESS;
    m->port = MACH_PORT_NULL;
    m->woken = false;
    strobe_store_relaxed(&m->ticks, 0);
    strobe_store_relaxed(&m->quit, 0);
    strobe_store_relaxed(&m->at_work, 0);
    strobe_store_relaxed(&m->over, 0);
    return m;
}

struct crew_member *crew_start(enum crew_job job)
{
    if (crew_count == MACH_RULES_THREADS)
        return NULL;
    struct crew_member *m = begin(&crew[crew_count], job);
    if (!crew_env->start(crew_count, run, m))
        return NULL;
    crew_count++;
    if (!crew_changes(&m->at_work, 0))
        return NULL;
    return m;
}

void crew_wake(struct crew_member *m)
{
    m->woken = true;
    crew_env->wake();
}

void crew_end_one(struct crew_member *m)
{
    strobe_store_relaxed(&m->quit, 1);
    while (thread_resume(m->port) == KERN_SUCCESS)
        continue;
    if (m->job == CREW_WAITS && !m->woken)
        crew_wake(m);
    crew_env->join((unsigned)(m - crew));
    m->job = CREW_ENDED;
}

void crew_end(void)
{
    for (unsigned i = 0; i < crew_count; i++) {
        if (crew[i].job != CREW_ENDED)
            crew_end_one(&crew[i]);
        mach_port_deallocate(mach_task_self(), crew[i].port);
    }
    crew_count = 0;
}

/* ---- tools ---- */

struct thread_basic_info crew_info(thread_act_t thread)
{
    struct thread_basic_info info;
    mach_msg_type_number_t count = THREAD_BASIC_INFO_COUNT;
    if (thread_info(thread, THREAD_BASIC_INFO, (thread_info_t)&info, &count) != KERN_SUCCESS) {
        info.run_state = 0;
        info.suspend_count = -1;
    }
    return info;
}

uint64_t crew_us(time_value_t t)
{
    return (uint64_t)(unsigned)t.seconds * 1000000u + (unsigned)t.microseconds;
}

uint64_t crew_cpu_us(thread_act_t thread)
{
    struct thread_basic_info info = crew_info(thread);
    return info.run_state ? crew_us(info.user_time) + crew_us(info.system_time) : 0;
}

bool crew_becomes(thread_act_t thread, unsigned states)
{
    for (unsigned ms = 0; ms < CREW_PATIENCE_MS; ms++) {
        if (1u << crew_info(thread).run_state & states)
            return true;
        crew_env->pass(1);
    }
    return false;
}

bool crew_changes(const strobe_a32 *counter, uint32_t was)
{
    for (unsigned ms = 0; ms < CREW_PATIENCE_MS; ms++) {
        if (strobe_load_acquire(counter) != was)
            return true;
        crew_env->pass(1);
    }
    return false;
}

bool crew_stays(const strobe_a32 *counter)
{
    uint32_t was = strobe_load_acquire(counter);
    crew_env->pass(CREW_LOOK_MS);
    return strobe_load_acquire(counter) == was;
}

const char *crew_stop(struct crew_member *m)
{
    if (thread_suspend(m->port) != KERN_SUCCESS)
        return "thread_suspend fails";
    return crew_becomes(m->port, crew_answers()->computing_suspended) ? NULL : "a suspended thread does not stop";
}

kern_return_t crew_registers_of(thread_act_t thread, crew_registers *out)
{
    mach_msg_type_number_t count = CREW_REGISTERS_COUNT;
    return thread_get_state(thread, CREW_FLAVOR, (thread_state_t)out, &count);
}
