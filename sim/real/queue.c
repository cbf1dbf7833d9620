/* Message queues and who loops over them, by the rules of virtual mode: a message has a time before which it is not
 * run; of those that are due the one of highest priority goes first; a frame goes before all else. Each wait for a
 * message is one poll, also when one is there already, so that the engine can tell messages apart by polls.
 *
 * Each looper polls an event of its own, as Android's do. A post writes to the event of the looper that has waited
 * longest, and only when a looper waits that has not been called yet and has something to do earlier than it knows. */
#include "sim/real/play.h"

#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- what is in it; with its lock held ---- */

static bool add(struct sim_real_queue *q, struct sim_real_message m)
{
    if (q->count == q->room) {
        uint32_t room = q->room ? q->room * 2 : 256;
        struct sim_real_message *at = sim_work_pages(room * sizeof *at);
        if (!at)
            return false;
        for (uint32_t i = 0; i < q->count; i++)
            at[i] = q->at[i];
        if (q->at)
            munmap(q->at, q->room * sizeof *at);
        q->at = at;
        q->room = room;
    }
    m.serial = ++q->serial;
    q->at[q->count++] = m;
    return true;
}

static bool goes_before(const struct sim_real_message *a, const struct sim_real_message *b)
{
    if (a->priority != b->priority)
        return a->priority > b->priority;
    return a->due_ns != b->due_ns ? a->due_ns < b->due_ns : a->serial < b->serial;
}

/* A display that ticks: a frame is due at its tick, and those that nobody took are not made up for. */
static bool take_frame(struct sim_real_queue *q, uint64_t now_ns, struct sim_real_message *out)
{
    uint64_t period = q->about->vsync_period_ns;
    if (!period || now_ns < q->next_frame_ns)
        return false;
    *out = (struct sim_real_message){.due_ns = q->next_frame_ns, .method = q->about->frame_method,
                                     .is_frame = true};
    q->next_frame_ns += ((now_ns - q->next_frame_ns) / period + 1) * period;
    return true;
}

static bool take(struct sim_real_queue *q, uint64_t now_ns, struct sim_real_message *out)
{
    uint32_t best = UINT32_MAX;
    if (take_frame(q, now_ns, out))
        return true;
    for (uint32_t i = 0; i < q->count; i++)
        if (q->at[i].due_ns <= now_ns && (best == UINT32_MAX || goes_before(&q->at[i], &q->at[best])))
            best = i;
    if (best == UINT32_MAX)
        return false;
    *out = q->at[best];
    q->at[best] = q->at[--q->count];
    return true;
}

static uint64_t next_due(const struct sim_real_queue *q)
{
    uint64_t next = q->about->vsync_period_ns ? q->next_frame_ns : UINT64_MAX;
    for (uint32_t i = 0; i < q->count; i++)
        next = q->at[i].due_ns < next ? q->at[i].due_ns : next;
    return next;
}

/* ---- posting; who waits is in a list, with the queue's lock held ---- */

static void join(struct sim_real_queue *q, struct sim_actor *a)
{
    struct sim_actor **at = &q->waiting;
    atomic_store(&a->notifier, 0);
    while (*at)
        at = &(*at)->next_waiter;
    a->next_waiter = NULL;
    *at = a;
}

static void leave(struct sim_real_queue *q, const struct sim_actor *a)
{
    struct sim_actor **at = &q->waiting;
    while (*at && *at != a)
        at = &(*at)->next_waiter;
    if (*at)
        *at = a->next_waiter;
}

/* Takes the looper out of the list that a message is to call, if one is. From then on it is called. */
static struct sim_actor *take_waiter(const struct sim_actor *a, struct sim_real_queue *q)
{
    struct sim_actor *b = q->waiting;
    if (b) {
        q->waiting = b->next_waiter;
        atomic_store(&b->notifier, sim_handoff_now(a));
    }
    return b;
}

static void call_looper(struct sim_actor *a, const struct sim_op *op, const struct sim_actor *looper)
{
    sim_real_wait_begin(a, STROBE_KIND_WRITE, false);
    bool called = eventfd_write(looper->event, 1) == 0;
    sim_real_wait_end(a, 0);
    if (!called)
        sim_real_fail(a->play, op, "an event counter that can be written");
}

void sim_real_queue_put(struct sim_actor *a, const struct sim_op *op, uint64_t delay_ns)
{
    struct sim_real_queue *q = &a->play->queues[op->object];
    struct sim_real_message m = {.due_ns = sim_work_now_ns() + delay_ns, .method = op->method,
                                 .priority = op->priority};
    sim_spin_lock(&q->spin);
    bool calls = delay_ns == 0 || m.due_ns < next_due(q), added = add(q, m);
    const struct sim_actor *looper = calls ? take_waiter(a, q) : NULL;
    sim_spin_unlock(&q->spin);
    if (!added)
        sim_real_fail(a->play, op, "room for messages");
    if (looper)
        call_looper(a, op, looper);
}

/* ---- looping ---- */

void sim_real_queue_begin_loop(struct sim_actor *a, struct sim_real_queue *q)
{
    uint64_t period = q->about->vsync_period_ns;
    if (a->event < 0)
        a->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (a->event < 0)
        sim_real_fail(a->play, NULL, "one more event counter");
    sim_spin_lock(&q->spin);
    if (period && !q->next_frame_ns) {
        uint64_t since = sim_work_now_ns() - a->play->begin_ns;
        q->next_frame_ns = a->play->begin_ns + (since / period + 1) * period;
    }
    sim_spin_unlock(&q->spin);
}

/* 0: the one before has been run. */
static void set_message(struct sim_actor *a, uint32_t id, bool is_frame)
{
    if (a->witness && !id)
        a->play->witness->message_end(a->witness, a->message);
    a->message = id;
    sim_note(&a->notes, SIM_NOTE_MESSAGE, sim_work_now_ns(), id);
    if (a->witness && id)
        a->play->witness->message_begin(a->witness, id, is_frame);
}

static struct timespec until(uint64_t due_ns, uint64_t now_ns)
{
    uint64_t left = due_ns > now_ns ? due_ns - now_ns : 0;
    const uint64_t most = 3600ull * 1000000000u;
    left = left < most ? left : most;
    return (struct timespec){(time_t)(left / 1000000000u), (long)(left % 1000000000u)};
}

bool sim_real_queue_next(struct sim_actor *a, struct sim_real_queue *q, uint32_t *method)
{
    struct sim_real_message m = {0};
    bool first = true, got = false;
    if (a->message)
        set_message(a, 0, false);
    while (!got && !atomic_load_explicit(&a->play->over, memory_order_relaxed)) {
        uint64_t signalled, now = sim_work_now_ns();
        sim_spin_lock(&q->spin);
        uint64_t due = next_due(q);
        join(q, a);
        sim_spin_unlock(&q->spin);
        struct pollfd p = {.fd = a->event, .events = POLLIN};
        struct timespec patience = until(due, now);
        if (first)
            sim_real_wait_begin(a, STROBE_KIND_POLL, due > now);
        else if (due > now)   /* another looper was faster */
            sim_real_wait_goes_on(a);
        first = false;
        a->play->stage->poll(a, &p, &patience);
        syscall(SYS_read, a->event, &signalled, sizeof signalled);
        sim_spin_lock(&q->spin);
        leave(q, a);
        got = take(q, sim_work_now_ns(), &m);
        sim_spin_unlock(&q->spin);
    }
    sim_real_wait_end(a, atomic_load(&a->notifier));
    if (!got)
        return false;
    set_message(a, ++a->message_count, m.is_frame && a->play->scenario->methods[m.method].managed);
    *method = m.method;
    return true;
}
