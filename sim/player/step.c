/* Plays a thread's operations one after another, on the actor's stack of activations (struct sim_level). Calls of
 * methods return to the executor, which makes a real frame for each method. The thread's real stack is therefore the
 * stack of its methods. */
#include "sim/player/play.h"
#include "sim/runtime/draws.h"

#include <stdlib.h>

enum {
    STACK_BYTES = 1 << 20, /* as in virtual mode */
    RECORD_BYTES = 64,     /* smallest frame, with the return address of the call */
    IDLE_ROUND_NS = 1000,  /* time of a round of `forever` that would take less; as in virtual mode */
};

/* Results of this file's functions. step_none: the operation was played, and the next one follows. */
enum { SIM_NEXT_NONE = SIM_NEXT_THROW + 1 };
static const struct sim_next step_return = {.kind = SIM_NEXT_RETURN}, step_throw = {.kind = SIM_NEXT_THROW},
                             step_none = {.kind = (enum sim_next_kind)SIM_NEXT_NONE};

static const struct sim_op *op_at(const struct sim_actor *a, uint32_t number)
{
    return &a->play->scenario->ops[number];
}

static struct sim_level *top_level(struct sim_actor *a)
{
    return &a->levels[a->level_count - 1];
}

static struct sim_level *actor_push_level(struct sim_actor *a, enum sim_level_kind kind, uint32_t op, uint32_t block)
{
    if (!sim_real_room(a, &a->levels, a->level_count, &a->level_room, sizeof *a->levels)) {
        a->leaving = true;
        return NULL;
    }
    const struct sim_block *b = &a->play->scenario->blocks[block];
    struct sim_level *l = &a->levels[a->level_count++];
    *l = (struct sim_level){.kind = kind, .next = b->first, .first = b->first, .end = b->first + b->count, .op = op};
    return l;
}

/* ---- calls ---- */

/* Returns the level of the innermost method. */
static const struct sim_level *body_of(const struct sim_actor *a)
{
    uint32_t i = a->level_count - 1;
    while (a->levels[i].kind != SIM_LEVEL_BODY)
        i--;
    return &a->levels[i];
}

const char *sim_real_method_name(const struct sim_actor *a)
{
    return a->play->scenario->methods[body_of(a)->op].name;
}

/* Calls a probe if the innermost method has probes. */
static void actor_call_probe(const struct sim_actor *a, void (*probe)(void *thread, uint32_t id, uint32_t depth))
{
    const struct sim_level *body = body_of(a);
    uint32_t id = a->play->probes[body->op];
    if (id)
        probe(a->probe_thread, id, (uint32_t)(body - a->levels));
}

/* Calls a method that calls itself `deeper` times before its first operation. */
static struct sim_next actor_call(struct sim_actor *a, uint32_t method, uint64_t deeper, const struct sim_op *op)
{
    const struct sim_method *m = &a->play->scenario->methods[method];
    size_t bytes = (m->frame_bytes + 15) & ~(size_t)15;
    if (a->stack_bytes + bytes + RECORD_BYTES > STACK_BYTES) {
        sim_real_fail(a->play, op, "a call within the stack's 1 MiB");
        a->leaving = true;
        return step_none;
    }
    struct sim_level *l = actor_push_level(a, SIM_LEVEL_BODY, method, m->block);
    if (!l)
        return step_none;
    l->count = deeper;
    a->stack_bytes += bytes + RECORD_BYTES;
    sim_notes_add(&a->notes, SIM_NOTE_CALL, sim_work_now_ns(), method);
    if (a->probe_thread)
        actor_call_probe(a, a->play->probe_policy->enter);
    return (struct sim_next){SIM_NEXT_CALL, method, bytes};
}

static struct sim_next leave_method(struct sim_actor *a, bool thrown)
{
    const struct sim_method *m = &a->play->scenario->methods[top_level(a)->op];
    if (a->probe_thread && !thrown && !a->leaving)
        actor_call_probe(a, a->play->probe_policy->leave);
    a->stack_bytes -= ((m->frame_bytes + 15) & ~(size_t)15) + RECORD_BYTES;
    a->level_count--;
    sim_notes_add(&a->notes, SIM_NOTE_RETURN, sim_work_now_ns(), thrown);
    return step_return;
}

/* Calls the innermost method once more, when calls of itself remain. */
static struct sim_next recurse(struct sim_actor *a)
{
    struct sim_level *l = top_level(a);
    uint64_t deeper = l->count - 1;
    uint32_t method = l->op;
    l->count = 0;
    l->next = l->end;
    return actor_call(a, method, deeper, NULL);
}

/* ---- ends of blocks ---- */

static struct sim_next actor_next_message(struct sim_actor *a, const struct sim_level *loop)
{
    const struct sim_op *op = op_at(a, loop->op);
    uint32_t method;
    if (!sim_real_queue_next(a, &a->play->queues[op->object], &method)) {
        a->leaving = true;
        return step_none;
    }
    return actor_call(a, method, 0, op);
}

static struct sim_next actor_finish_block(struct sim_actor *a)
{
    struct sim_level *l = top_level(a);
    switch (l->kind) {
    case SIM_LEVEL_BODY: return leave_method(a, false);
    case SIM_LEVEL_REPEAT:
        if (--l->count == 0)
            a->level_count--;
        l->next = l->first;
        return step_none;
    case SIM_LEVEL_FOREVER:
        if (sim_work_now_ns() - a->forever_ns < IDLE_ROUND_NS)
            sim_real_work(a, IDLE_ROUND_NS);
        a->forever_ns = sim_work_now_ns();
        l->next = l->first;
        return step_none;
    case SIM_LEVEL_LOCKED:
        a->level_count--;
        sim_real_wait_unlock(a, op_at(a, l->op));
        return step_none;
    case SIM_LEVEL_LOOP: return actor_next_message(a, l);
    case SIM_LEVEL_PLAIN:
    case SIM_LEVEL_CATCH: a->level_count--; return step_none;
    }
    return step_return;
}

/* Leaves the innermost level because of an exception or the thread's end. */
static struct sim_next actor_unwind_level(struct sim_actor *a)
{
    struct sim_level l = *top_level(a);
    if (l.kind == SIM_LEVEL_BODY)
        return leave_method(a, a->throwing);
    a->level_count--;
    if (l.kind == SIM_LEVEL_LOCKED) {
        sim_real_wait_unlock(a, op_at(a, l.op));
    } else if (l.kind == SIM_LEVEL_CATCH && !a->leaving) {
        a->throwing = false;
        actor_push_level(a, SIM_LEVEL_PLAIN, l.op, op_at(a, l.op)->other_block);
    }
    return step_none;
}

/* ---- operations ---- */

static bool actor_is_managed(const struct sim_actor *a)
{
    return a->level_count && a->play->scenario->methods[body_of(a)->op].managed;
}

static void actor_allocate(struct sim_actor *a, uint64_t bytes)
{
    const struct sim_executor *executor = a->play->executor;
    if (!sim_real_room(a, &a->kept, a->kept_count, &a->kept_room, sizeof *a->kept))
        return;
    struct sim_kept k = {.managed = executor->allocate && actor_is_managed(a)};
    k.object = k.managed ? executor->allocate(a, &bytes) : malloc(bytes);
    a->kept[a->kept_count] = k;
    a->kept_count += k.object != NULL;
    sim_real_add(&a->allocations, 1);
    sim_real_add(&a->alloc_bytes, bytes);
}

static void actor_free_last(struct sim_actor *a, uint64_t count)
{
    for (; count && a->kept_count; count--) {
        struct sim_kept k = a->kept[--a->kept_count];
        if (k.managed)
            a->play->executor->release(a, k.object);
        else
            free(k.object);
    }
}

void sim_real_free_kept(struct sim_actor *a)
{
    actor_free_last(a, a->kept_count);
}

static void actor_read_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
}

static void actor_repeat_block(struct sim_actor *a, const struct sim_op *op, uint32_t number, uint64_t rounds)
{
    struct sim_level *l = rounds ? actor_push_level(a, SIM_LEVEL_REPEAT, number, op->block) : NULL;
    if (l)
        l->count = rounds;
}

static void actor_spawn(struct sim_actor *a, uint32_t spec)
{
    struct sim_real_play *p = a->play;
    atomic_fetch_add(&p->living, 1);
    sim_real_start(p, spec, sim_real_next_index(p, spec), a, NULL);
}

static struct sim_next actor_play_op(struct sim_actor *a, uint32_t number)
{
    const struct sim_op *op = op_at(a, number);
    const struct sim_scenario *s = a->play->scenario;
    uint64_t amount = sim_draw_amount(op, &a->random);
    switch (op->kind) {
    case SIM_OP_COMPUTE: sim_real_work(a, amount); break;
    case SIM_OP_CALL:
    case SIM_OP_JNI: return actor_call(a, op->object, 0, op);
    case SIM_OP_RECURSE: return amount ? actor_call(a, op->object, amount - 1, op) : step_none;
    case SIM_OP_REPEAT: actor_repeat_block(a, op, number, amount); break;
    case SIM_OP_FOREVER:
        a->forever_ns = sim_work_now_ns();
        actor_push_level(a, SIM_LEVEL_FOREVER, number, op->block);
        break;
    case SIM_OP_CHOOSE:
        actor_push_level(a, SIM_LEVEL_PLAIN, number, s->arms[sim_draw_arm(s, op, &a->random)].block);
        break;
    case SIM_OP_ALLOC: actor_allocate(a, amount); break;
    case SIM_OP_FREE: actor_free_last(a, amount); break;
    case SIM_OP_LOCK:
    case SIM_OP_MONITOR:
    case SIM_OP_READ_LOCK:
    case SIM_OP_WRITE_LOCK:
        sim_real_wait_lock(a, op);
        actor_push_level(a, SIM_LEVEL_LOCKED, number, op->block);
        break;
    case SIM_OP_SPIN:
        if (sim_real_wait_spin(a, op, amount))
            actor_push_level(a, SIM_LEVEL_LOCKED, number, op->block);
        break;
    case SIM_OP_CLOCK: actor_read_clock(); break;
    case SIM_OP_POST: sim_real_queue_put(a, op, amount); break;
    case SIM_OP_LOOP:
        sim_real_queue_begin_loop(a, &a->play->queues[op->object]);
        actor_push_level(a, SIM_LEVEL_LOOP, number, 0);
        break;
    case SIM_OP_THROW:
        if (a->probe_thread)
            actor_call_probe(a, a->play->probe_policy->throws);
        a->throwing = true;
        break;
    case SIM_OP_CATCH: actor_push_level(a, SIM_LEVEL_CATCH, number, op->block); break;
    case SIM_OP_GC: a->play->executor->collect(a, amount); break;
    case SIM_OP_SPAWN: actor_spawn(a, op->object); break;
    case SIM_OP_EXIT: a->leaving = true; break;
    case SIM_OP_FAULT: break;
    default: sim_real_wait_op(a, op, amount);
    }
    return step_none;
}

bool sim_real_caught(struct sim_actor *a)
{
    if (!a->throwing && !a->leaving) {
        sim_real_fail(a->play, NULL, "no exceptions but the scenario's");
        a->leaving = true;
    }
    while ((a->throwing || a->leaving) && a->level_count)
        if (actor_unwind_level(a).kind == SIM_NEXT_RETURN)
            return false;
    return a->level_count > 0;
}

struct sim_next sim_real_next(struct sim_actor *a)
{
    if (a->level_count == 0) { /* only at the thread's first call */
        uint32_t entry = a->play->scenario->threads[a->spec].entry;
        return actor_call(a, entry, 0, NULL);
    }
    for (;;) {
        struct sim_level *l = top_level(a);
        struct sim_next next;
        if (atomic_load_explicit(&a->play->over, memory_order_relaxed))
            a->leaving = true;
        if (a->throwing && !a->leaving && a->play->executor->throws) {
            next = step_throw;
        } else if (a->throwing || a->leaving) {
            next = actor_unwind_level(a);
        } else if (l->kind == SIM_LEVEL_BODY && l->count) {
            next = recurse(a);
        } else if (l->next == l->end) {
            next = actor_finish_block(a);
        } else {
            if (atomic_load_explicit(&a->play->collecting, memory_order_relaxed) && actor_is_managed(a))
                sim_real_wait_for_collector(a);
            next = actor_play_op(a, l->next++);
        }
        if (next.kind != step_none.kind)
            return next;
    }
}
