/* Threads as the kernel keeps them: their names, how often they are suspended, and by which thread.
 *
 * The system below has only one stop for a thread. It is requested when the first suspension begins, and ended with the
 * last one. Suspensions are those of users, and the short stop for a thread_get_state of a running thread. */
#include "sim/fake/mach/kernel.h"

#include <string.h>

enum { THREADS = 1 << 14, BUCKETS = 1 << 12, HOLDERS = 8 };

struct fake_thread {
    uint64_t id; /* 0 = free */
    mach_port_name_t port;
    bool implied; /* libpthread's right is one of the port's rights */
    uint32_t suspends, stops, seen, next;
    uint64_t holders[HOLDERS];    /* threads that suspended it: the first ones of `suspends` */
    _Atomic uint32_t holds;       /* number of its suspensions of other threads */
    uint64_t cpu_then, wall_then; /* at the query that cpu_usage counts from */
    integer_t usage;
};

static struct fake_thread threads[THREADS]; /* [0] is unused */
static uint32_t buckets[BUCKETS], used = 1, first_free, sweep;
static uint64_t ids[THREADS];

static _Thread_local struct fake_thread *holder; /* of the calling thread, once it has suspended another thread */

void *fake_thread_local(void)
{
    return &holder;
}

/* ---- table of threads */

static uint32_t *thread_bucket(uint64_t id)
{
    return &buckets[id % BUCKETS];
}

static struct fake_thread *find_fake_thread(uint64_t id)
{
    uint32_t i = *thread_bucket(id);
    while (i && threads[i].id != id)
        i = threads[i].next;
    return i ? &threads[i] : NULL;
}

struct fake_thread *fake_thread_of(uint64_t id)
{
    struct fake_thread *t = find_fake_thread(id);
    if (t)
        return t;
    uint32_t i = first_free;
    if (i)
        first_free = threads[i].next;
    else if (used < THREADS)
        i = used++;
    else
        return NULL;
    t = &threads[i];
    memset(t, 0, sizeof *t);
    t->id = id;
    t->seen = sweep;
    t->implied = !fake_gnu;
    t->next = *thread_bucket(id);
    *thread_bucket(id) = i;
    if (t->implied)
        t->port = fake_port_new(FAKE_PORT_THREAD, t, 1);
    return t;
}

mach_port_name_t fake_thread_port(struct fake_thread *t)
{
    if (t->port == MACH_PORT_NULL)
        t->port = fake_port_new(FAKE_PORT_THREAD, t, 0);
    return t->port;
}

void fake_thread_unnamed(struct fake_thread *t)
{
    t->port = MACH_PORT_NULL;
    t->implied = false;
}

static void release_held_threads(uint64_t id)
{
    struct fake_thread *by = find_fake_thread(id);
    if (by)
        atomic_fetch_sub_explicit(&by->holds, 1, memory_order_relaxed);
}

static void drop_fake_thread(struct fake_thread *t)
{
    uint32_t *link = thread_bucket(t->id), i = (uint32_t)(t - threads);
    for (uint32_t k = 0; k < t->suspends && k < HOLDERS; k++)
        release_held_threads(t->holders[k]);
    if (t->port)
        fake_port_dies(t->port, t->implied);
    while (*link != i)
        link = &threads[*link].next;
    *link = t->next;
    fake_on->forget(t->id);
    t->id = 0;
    t->next = first_free;
    first_free = i;
}

void fake_thread_check_end(struct fake_thread *t)
{
    if (fake_on->where(t->id) == FAKE_MACH_GONE)
        drop_fake_thread(t);
}

uint32_t fake_threads_implied(void)
{
    uint32_t n = 0;
    for (uint32_t i = 1; i < used; i++)
        n += threads[i].id && threads[i].implied;
    return n;
}

void fake_threads_forget(void)
{
    for (uint32_t i = 1; i < used; i++)
        if (threads[i].id)
            drop_fake_thread(&threads[i]);
    holder = NULL;
}

/* Returns the thread of a name, which may have ended unnoticed, or the result of the call. With the lock held. */
static kern_return_t thread_of_port(mach_port_name_t name, struct fake_thread **t)
{
    struct fake_port p = fake_port_find(name);
    if (p.kind == FAKE_PORT_NONE || p.kind == FAKE_PORT_DEAD)
        return MACH_SEND_INVALID_DEST;
    *t = p.object;
    return p.kind == FAKE_PORT_THREAD ? KERN_SUCCESS : KERN_INVALID_ARGUMENT;
}

/* Does the same for a live thread, and returns where the thread is. */
static kern_return_t living_thread_of_port(mach_port_name_t name, struct fake_thread **t, enum fake_mach_where *where)
{
    kern_return_t answer = thread_of_port(name, t);
    if (answer != KERN_SUCCESS)
        return answer;
    *where = fake_on->where((*t)->id);
    if (*where != FAKE_MACH_GONE)
        return KERN_SUCCESS;
    drop_fake_thread(*t);
    return MACH_SEND_INVALID_DEST;
}

/* ---- names of threads */

mach_port_t mach_thread_self(void)
{
    static struct fake_call call = {.name = "mach_thread_self"};
    mach_port_t port = MACH_PORT_NULL;
    if (fake_kernel_enter(&call) == KERN_SUCCESS) {
        fake_on->lock();
        struct fake_thread *t = fake_thread_of(fake_on->self());
        port = t ? fake_thread_port(t) : MACH_PORT_NULL;
        fake_port_take(port);
        fake_on->unlock();
    }
    fake_on->leave();
    return port;
}

mach_port_name_t fake_thread_name_of(uint64_t id)
{
    fake_on->lock();
    struct fake_thread *t = fake_thread_of(id);
    mach_port_name_t port = t ? fake_thread_port(t) : MACH_PORT_NULL;
    fake_on->unlock();
    return port;
}

pthread_t pthread_from_mach_thread_np(mach_port_t thread)
{
    static struct fake_call call = {.name = "pthread_from_mach_thread_np"};
    struct fake_thread *t;
    pthread_t found = 0;
    if (fake_kernel_enter(&call) == KERN_SUCCESS) {
        fake_on->lock();
        if (thread_of_port(thread, &t) == KERN_SUCCESS)
            found = fake_on->pthread_of(t->id);
        fake_on->unlock();
    }
    fake_on->leave();
    return found;
}

/* Lists all live threads, gives each one more right, and removes the others. */
static kern_return_t list_task_threads(thread_act_array_t *out, mach_msg_type_number_t *count)
{
    vm_address_t at;
    uint32_t n = fake_on->threads(ids, THREADS), given = 0;
    kern_return_t answer = fake_vm_allocate(&at, n * sizeof(thread_act_t));
    if (answer != KERN_SUCCESS)
        return KERN_RESOURCE_SHORTAGE;
    thread_act_t *names = (thread_act_t *)at;
    sweep++;
    for (uint32_t i = 0; i < n; i++) {
        struct fake_thread *t = fake_thread_of(ids[i]);
        mach_port_name_t port = t ? fake_thread_port(t) : MACH_PORT_NULL;
        if (!port)
            continue;
        t->seen = sweep;
        fake_port_take(port);
        names[given++] = port;
    }
    for (uint32_t i = 1; i < used; i++)
        if (threads[i].id && threads[i].seen != sweep)
            drop_fake_thread(&threads[i]);
    *out = names;
    *count = given;
    return KERN_SUCCESS;
}

kern_return_t task_threads(task_t task, thread_act_array_t *out, mach_msg_type_number_t *count)
{
    static struct fake_call call = {.name = "task_threads"};
    kern_return_t answer = fake_kernel_enter(&call);
    if (answer == KERN_SUCCESS) {
        fake_on->lock();
        answer = fake_task_check(task, KERN_INVALID_ARGUMENT);
        if (answer == KERN_SUCCESS)
            answer = list_task_threads(out, count);
        fake_on->unlock();
    }
    return fake_kernel_leave(answer);
}

/* ---- stops */

static void stop_fake_thread(struct fake_thread *t)
{
    if (t->stops++ == 0)
        fake_on->stop(t->id);
}

static void resume_fake_thread(struct fake_thread *t)
{
    if (--t->stops == 0)
        fake_on->go(t->id);
}

static void notify_holder(const struct fake_thread *t, uint64_t by)
{
    if (fake_on->held)
        fake_on->held(t->id, by);
}

static void note_holder(struct fake_thread *t, uint64_t self)
{
    struct fake_thread *by = t->id == self ? NULL : fake_thread_of(self);
    if (by) {
        atomic_fetch_add_explicit(&by->holds, 1, memory_order_relaxed);
        holder = by;
    }
    if (t->suspends < HOLDERS)
        t->holders[t->suspends] = by ? self : 0;
    notify_holder(t, by ? self : 0);
}

/* Removes one suspension: one of the calling thread, if there is one, else the last. */
static void drop_holder(struct fake_thread *t, uint64_t self)
{
    uint32_t noted = t->suspends < HOLDERS ? t->suspends : HOLDERS, i = noted - 1;
    for (uint32_t k = 0; k < noted; k++)
        if (t->holders[k] == self)
            i = k;
    release_held_threads(t->holders[i]);
    memmove(&t->holders[i], &t->holders[i + 1], (noted - 1 - i) * sizeof t->holders[0]);
    t->holders[noted - 1] = 0;
    t->suspends--;
    notify_holder(t, noted > 1 ? t->holders[noted - 2] : 0);
}

/* Waits for a thread to stop, for as long as the selected kernel waits. */
static kern_return_t settle_fake_thread(uint64_t id)
{
    fake_on->settle(id, fake_gnu);
    fake_on->lock();
    struct fake_thread *t = find_fake_thread(id);
    if (t)
        fake_thread_check_end(t);
    t = find_fake_thread(id);
    fake_on->unlock();
    return t ? KERN_SUCCESS : MACH_SEND_INVALID_DEST;
}

kern_return_t thread_suspend(thread_act_t thread)
{
    static struct fake_call call = {.name = "thread_suspend"};
    struct fake_thread *t;
    uint64_t id = 0, self = fake_on->self();
    kern_return_t answer = fake_kernel_enter(&call);
    if (answer == KERN_SUCCESS) {
        fake_on->lock();
        answer = thread_of_port(thread, &t);
        if (answer == KERN_SUCCESS) {
            id = t->id;
            note_holder(t, self);
            t->suspends++;
            stop_fake_thread(t);
        }
        fake_on->unlock();
        if (answer == KERN_SUCCESS && id != self)
            answer = settle_fake_thread(id);
    }
    return fake_kernel_leave(answer);
}

kern_return_t thread_resume(thread_act_t thread)
{
    static struct fake_call call = {.name = "thread_resume"};
    struct fake_thread *t;
    enum fake_mach_where where;
    kern_return_t answer = fake_kernel_enter(&call);
    if (answer == KERN_SUCCESS) {
        fake_on->lock();
        answer = living_thread_of_port(thread, &t, &where);
        if (answer == KERN_SUCCESS && t->suspends == 0)
            answer = KERN_FAILURE;
        if (answer == KERN_SUCCESS) {
            drop_holder(t, fake_on->self());
            resume_fake_thread(t);
        }
        fake_on->unlock();
    }
    return fake_kernel_leave(answer);
}

uint32_t fake_mach_suspended(void)
{
    uint32_t n = 0;
    fake_into();
    fake_on->lock();
    for (uint32_t i = 1; i < used; i++)
        n += threads[i].id && threads[i].suspends && fake_on->where(threads[i].id) != FAKE_MACH_GONE;
    fake_on->unlock();
    fake_on->leave();
    return n;
}

uint32_t fake_mach_holds(void)
{
    return holder && holder->id == fake_on->self() ? atomic_load_explicit(&holder->holds, memory_order_relaxed) : 0;
}

static bool holds_suspension(uint64_t by, const struct fake_thread *t)
{
    for (uint32_t k = 0; k < t->suspends && k < HOLDERS; k++)
        if (t->holders[k] == by)
            return true;
    return false;
}

uint64_t fake_mach_held(void)
{
    uint64_t held = 0, self = fake_on->self();
    fake_into();
    fake_on->lock();
    for (uint32_t i = 1; i < used && !held; i++)
        if (threads[i].id && holds_suspension(self, &threads[i]))
            held = threads[i].id;
    fake_on->unlock();
    fake_on->leave();
    return held;
}

/* ---- registers */

/* A running thread is stopped for the time of the query. */
static kern_return_t get_state(mach_port_name_t name, fake_mach_registers *out)
{
    struct fake_thread *t;
    enum fake_mach_where where = FAKE_MACH_RUNS;
    fake_on->lock();
    kern_return_t answer = living_thread_of_port(name, &t, &where);
    uint64_t id = answer == KERN_SUCCESS ? t->id : 0;
    bool still = where != FAKE_MACH_RUNS || id == fake_on->self(), known = id && still && fake_on->registers(id, out);
    if (id && !known)
        stop_fake_thread(t);
    fake_on->unlock();
    if (!id || known)
        return answer;
    fake_on->settle(id, true);
    fake_on->lock();
    known = fake_on->registers(id, out);
    t = find_fake_thread(id);
    if (t)
        resume_fake_thread(t);
    bool gone = fake_on->where(id) == FAKE_MACH_GONE;
    fake_on->unlock();
    return known ? KERN_SUCCESS : gone ? KERN_TERMINATED : KERN_ABORTED;
}

kern_return_t thread_get_state(thread_act_t thread, thread_state_flavor_t flavor, thread_state_t state,
                               mach_msg_type_number_t *count)
{
    static struct fake_call call = {.name = "thread_get_state"};
    fake_mach_registers registers;
    kern_return_t answer = fake_kernel_enter(&call);
    if (answer == KERN_SUCCESS && (flavor != FAKE_MACH_STATE || *count < FAKE_MACH_STATE_COUNT)) {
        struct fake_thread *t;
        enum fake_mach_where where;
        fake_on->lock();
        answer = living_thread_of_port(thread, &t, &where);
        fake_on->unlock();
        answer = answer == KERN_SUCCESS ? KERN_INVALID_ARGUMENT : answer;
    }
    if (answer == KERN_SUCCESS)
        answer = get_state(thread, &registers);
    if (answer == KERN_SUCCESS) {
        memcpy(state, &registers, sizeof registers);
        *count = FAKE_MACH_STATE_COUNT;
    }
    return fake_kernel_leave(answer);
}

/* ---- information about a thread */

static integer_t run_state(const struct fake_thread *t, enum fake_mach_where where)
{
    switch (where) {
    case FAKE_MACH_STANDS: return fake_gnu ? TH_STATE_STOPPED : TH_STATE_WAITING;
    case FAKE_MACH_WAITS: return fake_gnu && t->suspends ? TH_STATE_STOPPED : TH_STATE_WAITING;
    case FAKE_MACH_GONE: return TH_STATE_HALTED;
    default: return TH_STATE_RUNNING;
    }
}

time_value_t fake_time_value(uint64_t ns)
{
    return (time_value_t){(integer_t)(ns / 1000000000), (integer_t)(ns / 1000 % 1000000)};
}

/* Returns thousandths of a processor, since a query that is at least this old. The kernel's value is never current,
 * either. */
static integer_t thread_usage(struct fake_thread *t, uint64_t cpu)
{
    const uint64_t LEAST_NS = 20000000;
    uint64_t now = fake_on->now_ns();
    if (now - t->wall_then >= LEAST_NS) {
        t->usage = t->wall_then ? (integer_t)((cpu - t->cpu_then) * 1000 / (now - t->wall_then)) : 0;
        t->cpu_then = cpu;
        t->wall_then = now;
    }
    return t->usage;
}

static _Atomic integer_t said_state, said_flags;

void fake_mach_say(integer_t state, integer_t flags)
{
    atomic_store(&said_state, state);
    atomic_store(&said_flags, flags);
}

/* The machine below splits another thread's time into user and system only by its tick, so all time counts as user
 * time. */
static void fill_thread_basic_info(struct fake_thread *t, enum fake_mach_where where, struct thread_basic_info *out)
{
    uint64_t cpu = fake_on->cpu_ns(t->id);
    integer_t said = atomic_load_explicit(&said_state, memory_order_relaxed);
    *out = (struct thread_basic_info){.user_time = fake_time_value(cpu),
                                      .cpu_usage = thread_usage(t, cpu),
                                      .policy = FAKE_POLICY_TIMESHARE,
                                      .suspend_count = (integer_t)t->suspends,
                                      .flags = atomic_load_explicit(&said_flags, memory_order_relaxed),
                                      .run_state = said ? said : run_state(t, where)};
}

static void fill_thread_extended_info(struct fake_thread *t, enum fake_mach_where where,
                                      struct thread_extended_info *out)
{
    uint64_t cpu = fake_on->cpu_ns(t->id);
    *out = (struct thread_extended_info){.pth_user_time = cpu,
                                         .pth_cpu_usage = thread_usage(t, cpu),
                                         .pth_policy = FAKE_POLICY_TIMESHARE,
                                         .pth_run_state = run_state(t, where),
                                         .pth_curpri = 31,
                                         .pth_priority = 31,
                                         .pth_maxpriority = 63};
    fake_on->name(t->id, out->pth_name);
}

static kern_return_t thread_report(struct fake_thread *t, enum fake_mach_where where, thread_flavor_t flavor,
                                   thread_info_t out, mach_msg_type_number_t *count)
{
    union {
        struct thread_basic_info basic;
        struct thread_identifier_info identifier;
        struct thread_extended_info extended;
    } info;
    mach_msg_type_number_t needs = flavor == THREAD_BASIC_INFO        ? THREAD_BASIC_INFO_COUNT
                                   : flavor == THREAD_IDENTIFIER_INFO ? THREAD_IDENTIFIER_INFO_COUNT
                                   : flavor == THREAD_EXTENDED_INFO   ? THREAD_EXTENDED_INFO_COUNT
                                                                      : 0;
    if (needs == 0 || *count < needs)
        return KERN_INVALID_ARGUMENT;
    if (flavor == THREAD_BASIC_INFO)
        fill_thread_basic_info(t, where, &info.basic);
    else if (flavor == THREAD_EXTENDED_INFO)
        fill_thread_extended_info(t, where, &info.extended);
    else
        info.identifier = (struct thread_identifier_info){.thread_id = t->id};
    memcpy(out, &info, needs * sizeof(natural_t));
    *count = needs;
    return KERN_SUCCESS;
}

kern_return_t thread_info(thread_act_t thread, thread_flavor_t flavor, thread_info_t out, mach_msg_type_number_t *count)
{
    static struct fake_call call = {.name = "thread_info"};
    struct fake_thread *t;
    enum fake_mach_where where;
    kern_return_t answer = fake_kernel_enter(&call);
    if (answer == KERN_SUCCESS) {
        fake_on->lock();
        answer = living_thread_of_port(thread, &t, &where);
        if (answer == KERN_SUCCESS)
            answer = thread_report(t, where, flavor, out, count);
        fake_on->unlock();
    }
    return fake_kernel_leave(answer);
}

/* ---- policy */

/* Checks a time constraint as XNU does (osfmk/kern/thread_policy.c): a computation of 50 us to 50 ms, within its
 * constraint. */
static kern_return_t check_policy(thread_policy_flavor_t flavor, const void *policy, mach_msg_type_number_t count)
{
    struct thread_time_constraint_policy p;
    if (flavor != THREAD_TIME_CONSTRAINT_POLICY || count < THREAD_TIME_CONSTRAINT_POLICY_COUNT)
        return KERN_INVALID_ARGUMENT;
    memcpy(&p, policy, sizeof p);
    bool fits =
        p.constraint >= p.computation && p.computation >= fake_ticks(50000) && p.computation <= fake_ticks(50000000);
    return fits ? KERN_SUCCESS : KERN_INVALID_ARGUMENT;
}

kern_return_t thread_policy_set(thread_t thread, thread_policy_flavor_t flavor, thread_policy_t policy,
                                mach_msg_type_number_t count)
{
    static struct fake_call call = {.name = "thread_policy_set"};
    struct fake_thread *t;
    kern_return_t answer = fake_kernel_enter(&call);
    if (answer == KERN_SUCCESS) {
        fake_on->lock();
        answer = thread_of_port(thread, &t);
        if (answer == KERN_SUCCESS)
            answer = check_policy(flavor, policy, count);
        if (answer == KERN_SUCCESS && fake_on->set_realtime)
            fake_on->set_realtime(t->id);
        fake_on->unlock();
    }
    return fake_kernel_leave(answer);
}

void fake_mach_in_kernel(bool in, bool waits)
{
    if (!in) {
        fake_on->waits(false);
        fake_on->leave();
        return;
    }
    fake_into();
    fake_on->waits(waits);
}
