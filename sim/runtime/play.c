/* Operations that call, loop, choose and throw. play_wait.c has those that wait. */
#include "engine/util/array.h"
#include "sim/runtime/draws.h"
#include "sim/runtime/player.h"

#include <stdlib.h>

enum {
    IDLE_ROUND_NS = 1000, /* duration of a round of FOREVER that took no time: time must advance */
    SPIN_LEAST_NS = 100,
};

uint64_t sim_player_now(const struct sim_player *p)
{
    uint64_t now = sim_now(), latest = p->run->truth.failed ? 0 : p->run->truth.tracks[p->v.track].end_ns;
    return now > latest ? now : latest;
}

void sim_play_work(struct sim_player *p, uint64_t ns)
{
    p->run->work_ns += ns;
    sim_compute(ns);
}

/* ---- activations ---- */

static struct sim_act *player_push_act(struct sim_player *p, enum sim_act_kind kind, uint32_t block)
{
    if (!strobe_array_reserve(&p->acts, &p->act_room, p->act_count + 1)) {
        sim_world_fail(p->world, STROBE_IO, NULL, "out of memory");
        return NULL;
    }
    const struct sim_block *b = &p->world->scenario->blocks[block];
    struct sim_act *a = &p->acts[p->act_count++];
    *a = (struct sim_act){.kind = kind, .next = b->first, .first = b->first, .end = b->first + b->count, .op = p->v.op};
    return a;
}

/* ---- calls ---- */

/* Returns the return address of the current call: 0 for the outermost. */
static uint64_t player_return_site(const struct sim_player *p)
{
    const struct sim_vthread *v = &p->v;
    return v->frame_count ? sim_call_site(&p->world->code[v->frames[v->frame_count - 1].method], v->op) : 0;
}

/* Pushes a method's frame and records the call in the truth. False: the stack is full, and the run ends. */
static bool player_enter_method(struct sim_player *p, uint32_t method)
{
    struct sim_vthread *v = &p->v;
    const struct sim_code *c = &p->world->code[method];
    if (!sim_frame_fits(v, c->frame_bytes + 16)) {
        sim_world_fail(p->world, STROBE_BAD_INPUT, &p->world->scenario->ops[v->op], "a call within the stack's 1 MiB");
        return false;
    }
    sim_frame_push(v, method, player_return_site(p), c->frame_bytes, c->frameless);
    v->fresh = true;
    sim_track_call(&p->run->truth, v->track, sim_player_now(p), c->name, SIM_CALL_METHOD);
    struct sim_tracer *tracer = p->run->tracer;
    if (tracer && tracer->method_in)
        tracer->method_in(tracer, v, method);
    return true;
}

/* How a method is left. THROWN (by an exception) and EXITED (the thread ends inside it) pass no exit. */
enum leaving { RETURNED, THROWN, EXITED };

static void player_leave_acts(struct sim_player *p, uint64_t frames, enum leaving how)
{
    struct sim_tracer *tracer = p->run->tracer;
    bool reports_exit = how == RETURNED && tracer && tracer->method_out, thrown = how == THROWN;
    uint64_t now = sim_player_now(p);
    for (; frames; frames--) {
        if (reports_exit) {
            tracer->method_out(tracer, &p->v, p->v.frames[p->v.frame_count - 1].method);
            now = sim_player_now(p);
        }
        sim_frame_pop(&p->v);
        sim_track_return(&p->run->truth, p->v.track, now, thrown);
    }
    p->v.fresh = false;
}

static void player_call(struct sim_player *p, uint32_t method, uint64_t deep)
{
    uint64_t done = 0;
    if (deep == 0)
        return;
    while (done < deep && player_enter_method(p, method))
        done++;
    const struct sim_code *c = &p->world->code[method];
    if (p->world->failed || !player_push_act(p, SIM_ACT_BODY, p->world->scenario->methods[method].block)) {
        player_leave_acts(p, done, EXITED);
        return;
    }
    struct sim_act *a = &p->acts[p->act_count - 1];
    a->next = a->first = c->first;
    a->end = c->end;
    a->count = done;
}

/* ---- the ends of blocks ---- */

/* Leaves the innermost activation, at its end or from within. */
static void player_drop_act(struct sim_player *p, enum leaving how)
{
    struct sim_act a = p->acts[p->act_count - 1];
    const struct sim_scenario *s = p->world->scenario;
    const struct sim_op *op = s->op_count ? &s->ops[a.op] : NULL; /* a thread may have no operations */
    if (a.kind == SIM_ACT_BODY)
        player_leave_acts(p, a.count, how);
    else if (a.kind == SIM_ACT_LOCKED) {
        p->v.op = a.op;
        sim_play_unlock(p, op);
    } else if (a.kind == SIM_ACT_LOOP)
        p->world->queues[op->object].loopers--;
    p->act_count--;
}

static void player_next_message(struct sim_player *p, const struct sim_act *loop)
{
    uint32_t method;
    p->v.op = loop->op;
    sim_play_next_message(p, p->world->scenario->ops[loop->op].object, &method);
    player_call(p, method, 1);
}

/* Handles the end of the innermost block. */
static void player_finish_block(struct sim_player *p)
{
    struct sim_act *a = &p->acts[p->act_count - 1];
    switch (a->kind) {
    case SIM_ACT_REPEAT:
        if (--a->count == 0)
            p->act_count--;
        a->next = a->first;
        break;
    case SIM_ACT_FOREVER:
        if (sim_now() == p->forever_ns)
            sim_play_work(p, IDLE_ROUND_NS);
        p->forever_ns = sim_now();
        a->next = a->first;
        break;
    case SIM_ACT_LOOP: player_next_message(p, a); break;
    default: player_drop_act(p, RETURNED);
    }
}

static void player_throw(struct sim_player *p)
{
    struct sim_tracer *tracer = p->run->tracer;
    if (tracer && tracer->method_throw)
        tracer->method_throw(tracer, &p->v, p->v.frames[p->v.frame_count - 1].method);
    while (p->act_count && p->acts[p->act_count - 1].kind != SIM_ACT_CATCH)
        player_drop_act(p, THROWN);
    if (p->act_count == 0)
        return;
    uint32_t op = p->acts[--p->act_count].op;
    p->v.op = op;
    player_push_act(p, SIM_ACT_PLAIN, p->world->scenario->ops[op].other_block);
}

static void leave_all(struct sim_player *p)
{
    while (p->act_count)
        player_drop_act(p, EXITED);
}

/* ---- operations ---- */

static void player_compute(struct sim_player *p, uint64_t ns)
{
    struct sim_vthread *v = &p->v;
    if (ns == 0)
        return;
    v->ends_with_compute = p->world->last_of_body[v->op];
    sim_play_work(p, ns);
    v->ends_with_compute = false;
}

static void player_allocate(struct sim_player *p, uint64_t bytes)
{
    p->v.allocations++;
    p->v.alloc_bytes += bytes;
    p->kept++;
    sim_report_point(p, STROBE_KIND_ALLOC, bytes);
}

static void player_free_last(struct sim_player *p, uint64_t count)
{
    for (; count && p->kept; count--, p->kept--)
        sim_report_point(p, STROBE_KIND_FREE, 0);
}

static void player_lock(struct sim_player *p, const struct sim_op *op)
{
    if (sim_play_lock(p, op))
        player_push_act(p, SIM_ACT_LOCKED, op->block);
}

static void spin(struct sim_player *p, const struct sim_op *op, uint64_t amount)
{
    while (!sim_mutex_trylock(&p->world->mutexes[op->object]))
        sim_play_work(p, amount ? amount : SPIN_LEAST_NS);
    p->held++;
    player_push_act(p, SIM_ACT_LOCKED, op->block);
}

static void player_repeat_block(struct sim_player *p, const struct sim_op *op, uint64_t rounds)
{
    struct sim_act *a = rounds ? player_push_act(p, SIM_ACT_REPEAT, op->block) : NULL;
    if (a)
        a->count = rounds;
}

static void player_loop(struct sim_player *p, const struct sim_op *op)
{
    struct sim_message_queue *q = &p->world->queues[op->object];
    if (!player_push_act(p, SIM_ACT_LOOP, 0))
        return;
    q->loopers++;
    if (!sim_queue_begin(q))
        sim_world_fail(p->world, STROBE_IO, NULL, "out of memory");
}

static void player_spawn(struct sim_player *p, uint32_t spec)
{
    uint64_t ns = (uint64_t)p->run->options.costs.start_call;
    if (ns)
        sim_compute_in_kernel(ns);
    sim_world_spawn(p->world, spec, &p->v);
    sim_leave_kernel();
    sim_report_point(p, STROBE_KIND_THREAD, 0);
}

static void call_native(struct sim_player *p, const struct sim_op *op)
{
    sim_report_point(p, STROBE_KIND_JNI, op->object);
    player_call(p, op->object, 1);
}

static void player_play_op(struct sim_player *p, const struct sim_op *op)
{
    uint64_t amount = sim_draw_amount(op, &p->random);
    switch (op->kind) {
    case SIM_OP_COMPUTE: player_compute(p, amount); break;
    case SIM_OP_CALL: player_call(p, op->object, 1); return;
    case SIM_OP_RECURSE: player_call(p, op->object, amount); return;
    case SIM_OP_REPEAT: player_repeat_block(p, op, amount); break;
    case SIM_OP_FOREVER:
        p->forever_ns = sim_now();
        player_push_act(p, SIM_ACT_FOREVER, op->block);
        break;
    case SIM_OP_CHOOSE:
        player_push_act(p, SIM_ACT_PLAIN,
                        p->world->scenario->arms[sim_draw_arm(p->world->scenario, op, &p->random)].block);
        break;
    case SIM_OP_ALLOC: player_allocate(p, amount); break;
    case SIM_OP_FREE: player_free_last(p, amount); break;
    case SIM_OP_LOCK:
    case SIM_OP_MONITOR:
    case SIM_OP_READ_LOCK:
    case SIM_OP_WRITE_LOCK: player_lock(p, op); break;
    case SIM_OP_CLOCK: sim_report_point(p, STROBE_KIND_CLOCK, 0); break;
    case SIM_OP_JNI: call_native(p, op); return;
    case SIM_OP_POST: sim_play_post(p, op, amount); break;
    case SIM_OP_LOOP: player_loop(p, op); break;
    case SIM_OP_THROW: player_throw(p); break;
    case SIM_OP_CATCH: player_push_act(p, SIM_ACT_CATCH, op->block); break;
    case SIM_OP_GC: sim_play_collect(p, amount); break;
    case SIM_OP_SPAWN: player_spawn(p, op->object); break;
    case SIM_OP_EXIT: leave_all(p); break;
    case SIM_OP_SPIN: spin(p, op, amount); break;
    case SIM_OP_FAULT: sim_faults_arm(p->run->faults, op->object); break;
    default: sim_play_wait_op(p, op, amount);
    }
    p->v.fresh = false;
}

static void pay(struct sim_vthread *v)
{
    uint64_t ns = v->owes_ns;
    v->owes_ns = 0;
    sim_tracer_charge(v, ns);
}

static void play_all(struct sim_player *p)
{
    const struct sim_op *ops = p->world->scenario->ops;
    while (p->act_count && !p->world->failed) {
        struct sim_act *a = &p->acts[p->act_count - 1];
        if (a->next == a->end) {
            player_finish_block(p);
            continue;
        }
        p->v.op = a->next++;
        if (p->v.owes_ns)
            pay(&p->v);
        if (p->world->collecting)
            sim_play_safepoint(p);
        player_play_op(p, &ops[p->v.op]);
    }
}

static void begin_life(struct sim_player *p)
{
    struct sim_tracks *truth = &p->run->truth;
    uint64_t now = sim_player_now(p);
    p->v.life = SIM_LIFE_IN_CODE;
    p->v.cpu_ns = sim_cpu_ns(p->v.thread);
    if (truth->failed)
        return;
    truth->tracks[p->v.track].begin_ns = now;
    sim_track_core(truth, p->v.track, now, p->v.core);
}

void sim_player_main(void *arg)
{
    struct sim_player *p = arg;
    struct sim_vthread *v = &p->v;
    struct sim_tracer *tracer = p->run->tracer;
    uint64_t self = sim_what(SIM_WHAT_THREAD, v->thread->serial);
    if (tracer && tracer->thread_begin)
        tracer->thread_begin(tracer, v);
    begin_life(p);
    player_call(p, p->world->scenario->threads[v->spec].entry, 1);
    play_all(p);
    if (p->world->failed)
        return;
    sim_track_end(&p->run->truth, v->track, sim_player_now(p));
    v->cpu_ns = sim_run_own_cpu_ns(v);
    v->life = SIM_LIFE_AFTER;
    sim_report_release(p, self, STROBE_RELEASE_ALL);
    if (tracer && tracer->thread_end)
        tracer->thread_end(tracer, v);
    v->ended = true;
    sim_stack_give(&p->world->stacks, v);
}
