/* Message queues and their loopers, by the rules of virtual mode (sim/runtime/message_heap.h). A frame precedes all
 * messages. A looper polls once for each message, even when a message is due, so that the engine can separate messages
 * by polls. A poll with a due message does not wait.
 *
 * Each looper polls a private eventfd, as loopers of Android do. A post writes the event of the looper that has waited
 * longest, when both conditions hold:
 *
 *   - a looper waits whose event no earlier post has written
 *   - the new message has no delay, or is due before all others, so the looper would wake too late */
#include "sim/player/play.h"

#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- messages; with the queue's lock held ---- */

/* Makes room for one more message. Uses mmap, because the engine hooks the allocator. */
static bool messages_grow(struct sim_messages *q)
{
    enum { AT_FIRST = 256 };
    for (struct sim_message_heap *h; (h = sim_messages_full(q));) {
        uint32_t room = h->room ? h->room * 2 : AT_FIRST;
        struct sim_message *at = sim_work_pages(room * sizeof *at);
        if (!at)
            return false;
        if (h->at) {
            memcpy(at, h->at, h->count * sizeof *at);
            sim_work_free_pages(h->at, h->room * sizeof *at);
        }
        h->at = at;
        h->room = room;
    }
    return true;
}

/* Takes the frame that is due, if any. A frame is due at each tick of the display. Missed frames are dropped. */
static bool take_frame(struct sim_real_queue *q, uint64_t now_ns)
{
    uint64_t period = q->about->vsync_period_ns;
    if (!period || now_ns < q->next_frame_ns)
        return false;
    q->next_frame_ns += ((now_ns - q->next_frame_ns) / period + 1) * period;
    return true;
}

/* Returns the time at which the next message or frame is due; 0 = a message is due now. */
static uint64_t next_due(const struct sim_real_queue *q)
{
    uint64_t next = q->about->vsync_period_ns ? q->next_frame_ns : UINT64_MAX;
    const struct sim_message_heap *due = &q->messages.due, *later = &q->messages.later;
    if (due->count)
        return 0;
    return later->count && later->at[0].due_ns < next ? later->at[0].due_ns : next;
}

/* ---- posting; the list of waiting loopers is protected by the queue's lock ---- */

static void queue_add_waiter(struct sim_real_queue *q, struct sim_actor *a)
{
    struct sim_actor **at = &q->waiting;
    atomic_store(&a->notifier, 0);
    while (*at)
        at = &(*at)->next_waiter;
    a->next_waiter = NULL;
    *at = a;
}

static void queue_remove_waiter(struct sim_real_queue *q, const struct sim_actor *a)
{
    struct sim_actor **at = &q->waiting;
    while (*at && *at != a)
        at = &(*at)->next_waiter;
    if (*at)
        *at = a->next_waiter;
}

/* Removes the longest waiter from the list and sets its notifier. Returns NULL when no looper waits. The caller writes
 * the looper's event. */
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
    uint64_t now = sim_work_now_ns();
    struct sim_message m = {.due_ns = now + delay_ns, .method = op->method, .priority = op->priority};
    sim_spin_lock(&q->spin);
    bool calls = delay_ns == 0 || m.due_ns < next_due(q), added = messages_grow(&q->messages);
    if (added)
        sim_messages_put(&q->messages, m, now);
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

/* Notes the begin of message `id`, or with id 0 the end of the current message, and calls the probe for it. */
static void actor_set_message(struct sim_actor *a, uint32_t id, bool is_frame)
{
    if (a->probe_thread && !id)
        a->play->probe_policy->message_end(a->probe_thread, a->message);
    a->message = id;
    sim_notes_add(&a->notes, SIM_NOTE_MESSAGE, sim_work_now_ns(), id);
    if (a->probe_thread && id)
        a->play->probe_policy->message_begin(a->probe_thread, id, is_frame);
}

static struct timespec poll_timeout(uint64_t due_ns, uint64_t now_ns)
{
    uint64_t left = due_ns > now_ns ? due_ns - now_ns : 0;
    const uint64_t most = 3600ull * 1000000000u;
    left = left < most ? left : most;
    return (struct timespec){(time_t)(left / 1000000000u), (long)(left % 1000000000u)};
}

/* Result of queue_check. */
struct queue_state {
    uint64_t now_ns, due_ns;
};

/* Adds the looper to the waiters unless a message is due. The clock is read with the queue's lock held, so a message
 * without delay that was posted earlier is due. */
static struct queue_state queue_check(struct sim_actor *a, struct sim_real_queue *q)
{
    sim_spin_lock(&q->spin);
    struct queue_state l = {.now_ns = sim_work_now_ns()};
    l.due_ns = next_due(q);
    if (l.due_ns > l.now_ns)
        queue_add_waiter(q, a);
    sim_spin_unlock(&q->spin);
    return l;
}

static bool queue_take_message(struct sim_actor *a, struct sim_real_queue *q, uint32_t *method, bool *is_frame)
{
    struct sim_message m;
    sim_spin_lock(&q->spin);
    queue_remove_waiter(q, a);
    uint64_t now = sim_work_now_ns();
    *is_frame = take_frame(q, now);
    bool got = *is_frame || sim_messages_take(&q->messages, now, &m);
    sim_spin_unlock(&q->spin);
    if (got)
        *method = *is_frame ? q->about->frame_method : m.method;
    return got;
}

/* Polls the looper's event. Resets the event only when the poll reports it as written, as loopers of Android do. */
static void poll_event(struct sim_actor *a, const struct queue_state *l)
{
    uint64_t signalled;
    struct pollfd p = {.fd = a->event, .events = POLLIN};
    struct timespec patience = poll_timeout(l->due_ns, l->now_ns);
    a->play->executor->poll(a, &p, &patience);
    if (p.revents & POLLIN)
        syscall(SYS_read, a->event, &signalled, sizeof signalled);
}

bool sim_real_queue_next(struct sim_actor *a, struct sim_real_queue *q, uint32_t *method)
{
    bool first = true, got = false, is_frame = false;
    if (a->message)
        actor_set_message(a, 0, false);
    atomic_store(&a->notifier, 0);
    while (!got && !atomic_load_explicit(&a->play->over, memory_order_relaxed)) {
        struct queue_state l = queue_check(a, q);
        if (first)
            sim_real_wait_begin(a, STROBE_KIND_POLL, l.due_ns > l.now_ns);
        else if (l.due_ns > l.now_ns) /* another looper took the message */
            sim_real_wait_record(a);
        first = false;
        poll_event(a, &l);
        got = queue_take_message(a, q, method, &is_frame);
    }
    sim_real_wait_end(a, atomic_load(&a->notifier));
    if (got)
        actor_set_message(a, ++a->message_count, is_frame && a->play->scenario->methods[*method].managed);
    return got;
}
