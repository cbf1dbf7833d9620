/* Message queues and their loopers, like Android's. A message has a time before which it does not run. Of the due
 * messages the one with the highest priority goes first. Each wait for a message is one poll, also when a message is
 * already there. */
#include "engine/util/array.h"
#include "sim/runtime/player.h"

#include <limits.h>
#include <stdlib.h>

/* ---- queues ---- */

static void message_queue_out_of_memory(struct sim_message_queue *q)
{
    sim_world_fail(q->world, STROBE_IO, NULL, "out of memory");
}

static bool message_heap_grow(struct sim_messages *q)
{
    for (struct sim_message_heap *h; (h = sim_messages_full(q));)
        if (!strobe_array_reserve(&h->at, &h->room, h->room + 1))
            return false;
    return true;
}

bool sim_queue_take(struct sim_message_queue *q, uint64_t now_ns, struct sim_message *out)
{
    return sim_messages_take(&q->messages, now_ns, out);
}

uint64_t sim_queue_next_ns(const struct sim_message_queue *q)
{
    return q->messages.later.count ? q->messages.later.at[0].due_ns : UINT64_MAX;
}

/* Wakes a sleeping looper when the message is due, or when it is earlier than all others, so that the looper sleeps
 * less long. */
void sim_queue_post(struct sim_message_queue *q, struct sim_message m, struct sim_vthread *from)
{
    uint64_t now = sim_now();
    bool due = m.due_ns <= now, first = m.due_ns < sim_queue_next_ns(q);
    if (!message_heap_grow(&q->messages)) {
        message_queue_out_of_memory(q);
        return;
    }
    sim_messages_put(&q->messages, m, now);
    if (q->waiting <= q->woken || (!due && !first))
        return;
    q->woken++;
    if (from && due)
        sim_report_release(from->player, sim_what(SIM_WHAT_QUEUE, q->number),
                           q->loopers > 1 ? STROBE_RELEASE_ONE : STROBE_RELEASE_TARGET);
    if (from)
        sim_play_call_looper(from->player, &q->wake);
    else
        sim_sem_post(&q->wake);
}

void sim_play_post(struct sim_player *p, const struct sim_op *op, uint64_t delay_ns)
{
    struct sim_message m = {.due_ns = sim_now() + delay_ns, .method = op->method, .priority = op->priority};
    sim_queue_post(&p->world->queues[op->object], m, &p->v);
}

/* ---- frames ---- */

/* A tick of the display: posts a frame before all other messages, unless the previous frame still waits. */
static void post_frame_at_tick(void *ctx)
{
    struct sim_message_queue *q = ctx;
    uint64_t now = sim_now();
    if (q->loopers && !q->frame_pending) {
        q->frame_pending = true;
        sim_queue_post(q, (struct sim_message){.due_ns = now, .method = q->about->frame_method, .priority = INT_MAX},
                       NULL);
    }
    if (sim_at(q->world->run->kernel, now + q->about->vsync_period_ns, post_frame_at_tick, q) != STROBE_OK)
        message_queue_out_of_memory(q);
}

static void do_nothing(void *ctx)
{
    (void)ctx;
}

/* Idle loopers are no deadlock. When the first looper starts, this adds an event at the end of the run, for which the
 * loopers wait. */
static bool schedule_end_event(struct sim_world *w)
{
    if (w->loops)
        return true;
    w->loops = true;
    return sim_at(w->run->kernel, w->scenario->duration_ns, do_nothing, NULL) == STROBE_OK;
}

bool sim_queue_begin(struct sim_message_queue *q)
{
    uint64_t period = q->about->vsync_period_ns;
    if (!schedule_end_event(q->world))
        return false;
    if (!period || q->ticks)
        return true;
    q->ticks = true;
    return sim_at(q->world->run->kernel, (sim_now() / period + 1) * period, post_frame_at_tick, q) == STROBE_OK;
}

/* ---- loopers ---- */

/* Sets the current message, in the tracer first: a signal may interrupt it before it has recorded the message, but
 * cannot interrupt the truth. */
static void player_set_message(struct sim_player *p, uint32_t id)
{
    struct sim_tracer *tracer = p->run->tracer;
    p->v.message = id;
    if (tracer && tracer->message)
        tracer->message(tracer, &p->v, id);
    sim_track_message(&p->run->truth, p->v.track, sim_player_now(p), id);
}

/* Ends the current message. */
static void player_end_message(struct sim_player *p)
{
    struct sim_tracer *tracer = p->run->tracer;
    if (tracer && tracer->message_end)
        tracer->message_end(tracer, &p->v, p->v.message);
    player_set_message(p, 0);
}

static void player_begin_message(struct sim_player *p, uint32_t queue, const struct sim_message *m, bool is_frame)
{
    struct sim_tracer *tracer = p->run->tracer;
    player_set_message(p, ++p->message_count);
    struct sim_loop_message loop_message = {
        .id = p->v.message, .queue = queue, .method = m->method, .due_ns = m->due_ns, .is_frame = is_frame};
    struct sim_loop_turn turn = {.begin_ns = sim_player_now(p),
                                 .due_ns = m->due_ns,
                                 .id = loop_message.id,
                                 .queue = queue,
                                 .name = p->world->code[m->method].name,
                                 .is_frame = is_frame};
    sim_track_loop(&p->run->truth, p->v.track, &turn);
    if (tracer && tracer->message_begin)
        tracer->message_begin(tracer, &p->v, &loop_message);
}

void sim_play_next_message(struct sim_player *p, uint32_t queue, uint32_t *method)
{
    struct sim_message_queue *q = &p->world->queues[queue];
    struct sim_message m;
    enum sim_wake how = SIM_WAKE_NONE;
    if (p->v.message)
        player_end_message(p);
    sim_wait_begin(p, STROBE_KIND_POLL, sim_what(SIM_WHAT_QUEUE, queue));
    uint64_t now = sim_now();
    while (!sim_queue_take(q, now, &m)) {
        uint64_t next = sim_queue_next_ns(q);
        q->waiting++;
        enum sim_wake wake = sim_sem_wait(&q->wake, next == UINT64_MAX ? next : next - now);
        q->waiting--;
        q->woken -= wake != SIM_WAKE_TIMEOUT && wake != SIM_WAKE_INTERRUPT;
        how = wake == SIM_WAKE_NONE ? how : wake;
        now = sim_now();
    }
    sim_wait_end(p, how);
    bool is_frame = m.priority == INT_MAX && m.method == q->about->frame_method;
    if (is_frame)
        q->frame_pending = false;
    player_begin_message(p, queue, &m, is_frame);
    *method = m.method;
}
