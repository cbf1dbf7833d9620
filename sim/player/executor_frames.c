/* Executor with functions of frames.h and pthreads. A monitor is a recursive mutex, a permit is a semaphore. A thread
 * that collects holds a mutex. Meanwhile threads in managed code acquire this mutex before their next operation. */
#include "sim/player/play.h"

#include <errno.h>

/* ---- frames ---- */

static bool frames_exec_enter(struct sim_actor *a, const char *name)
{
    (void)a;
    (void)name;
    return true;
}

static void frames_exec_leave(struct sim_actor *a)
{
    (void)a;
}

struct sim_real_next sim_real_step(void *player)
{
    struct sim_next next = sim_real_next(player);
    if (next.kind != SIM_NEXT_CALL)
        return (struct sim_real_next){NULL, 0};
    return (struct sim_real_next){sim_real_frame_of(next.method), next.bytes};
}

static void frames_exec_perform(struct sim_actor *a)
{
    struct sim_real_next first = sim_real_step(a);
    if (first.call)
        first.call(a, first.bytes);
}

/* ---- locks, conditions ---- */

static void frames_exec_lock(struct sim_actor *a, struct sim_real_lock *l)
{
    (void)a;
    pthread_mutex_lock(&l->mutex);
}

static void frames_exec_unlock(struct sim_actor *a, struct sim_real_lock *l)
{
    (void)a;
    pthread_mutex_unlock(&l->mutex);
}

static void frames_exec_wait(struct sim_actor *a, struct sim_real_lock *l, uint32_t depth, uint64_t timeout_ns)
{
    struct timespec until = sim_work_time_in(timeout_ns);
    int result = 0;
    for (uint32_t i = 1; i < depth; i++)
        pthread_mutex_unlock(&l->mutex);
    while (!atomic_load(&a->notifier) && result != ETIMEDOUT) {
        sim_hand_off(a, &l->released); /* again after a spurious wake-up, which took the lock */
        result = timeout_ns ? pthread_cond_timedwait(&a->notified, &l->mutex, &until)
                            : pthread_cond_wait(&a->notified, &l->mutex);
    }
    for (uint32_t i = 1; i < depth; i++)
        pthread_mutex_lock(&l->mutex);
}

/* Wakes actor `b`. The actor joins the waiters before it sleeps, so it may not sleep yet. It sleeps once another thread
 * holds its lock. The function therefore waits until that is the case, or acquires the lock itself. */
static void frames_exec_wake(struct sim_actor *a, struct sim_actor *b)
{
    struct sim_real_lock *l = b->waits_with;
    bool took = false;
    for (;;) {
        const struct sim_actor *owner = atomic_load(&l->owner);
        took = owner != a && pthread_mutex_trylock(&l->mutex) == 0;
        if (took || (owner && owner != b))
            break;
        sim_work_yield();
    }
    pthread_cond_signal(&b->notified);
    if (took) {
        sim_hand_off(a, &l->released);
        pthread_mutex_unlock(&l->mutex);
    }
}

static bool frames_exec_park(struct sim_actor *a, uint64_t timeout_ns)
{
    return sim_real_sem_had(&a->parking, timeout_ns);
}

static void frames_exec_unpark(struct sim_actor *a, struct sim_actor *b)
{
    (void)a;
    sem_post(&b->parking);
}

/* ---- the collector, devices, messages ---- */

static void frames_exec_collect(struct sim_actor *a, uint64_t amount_ns)
{
    struct sim_real_play *p = a->play;
    sim_real_wait_begin(a, STROBE_KIND_MUTEX, atomic_load(&p->collecting));
    pthread_mutex_lock(&p->collector);
    sim_real_wait_end(a, sim_handed(&p->collected));
    atomic_store(&p->collecting, 1);
    sim_real_work(a, amount_ns);
    atomic_store(&p->collecting, 0);
    sim_hand_off(a, &p->collected);
    pthread_mutex_unlock(&p->collector);
}

void sim_real_wait_for_collector(struct sim_actor *a)
{
    struct sim_real_play *p = a->play;
    sim_real_wait_begin(a, STROBE_KIND_MUTEX, true);
    pthread_mutex_lock(&p->collector);
    sim_real_wait_end(a, sim_handed(&p->collected));
    sim_hand_off(a, &p->collected);
    pthread_mutex_unlock(&p->collector);
}

static void frames_exec_wait_for(struct sim_actor *a, enum sim_op_kind kind, uint64_t latency_ns)
{
    const struct sim_probe_policy *policy = a->probe_thread ? a->play->probe_policy : NULL;
    (void)kind;
    if (policy && policy->read_begin)
        policy->read_begin(a->probe_thread, sim_real_method_name(a));
    sim_real_wait_begin(a, STROBE_KIND_READ, true);
    sim_work_device(&a->device, latency_ns);
    sim_real_wait_end(a, 0);
    if (policy && policy->read_end)
        policy->read_end(a->probe_thread);
}

static void frames_exec_sleep_for(struct sim_actor *a, uint64_t ns)
{
    struct timespec t = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
    sim_real_wait_begin(a, STROBE_KIND_SLEEP, true);
    clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
    sim_real_wait_end(a, 0);
}

static void frames_exec_poll_queue(struct sim_actor *a, struct pollfd *p, const struct timespec *patience)
{
    sim_real_poll(a, p, patience);
}

const struct sim_executor sim_executor_frames = {
    .enter = frames_exec_enter,
    .perform = frames_exec_perform,
    .leave = frames_exec_leave,
    .lock = frames_exec_lock,
    .unlock = frames_exec_unlock,
    .wait = frames_exec_wait,
    .wake = frames_exec_wake,
    .park_kind = STROBE_KIND_SEM,
    .park = frames_exec_park,
    .unpark = frames_exec_unpark,
    .collect = frames_exec_collect,
    .wait_for = frames_exec_wait_for,
    .sleep = frames_exec_sleep_for,
    .poll = frames_exec_poll_queue,
};
