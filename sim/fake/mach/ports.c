/* The task's port names.
 *
 *   name    index << 8 | generation << 2 | 3, as XNU makes them (osfmk/ipc/ipc_entry.h, ipc_object.h); the index of a
 *           free name is used again, last freed first, with the next of 64 generations
 *   entry   the object of the name, and the number of user references that the task has
 *
 * A name exists as long as its object or a reference. When its thread has ended, it is a dead name until the last
 * reference is released. */
#include "sim/fake/mach/kernel.h"

enum { ENTRIES = 1 << 15, GENERATIONS = 64, UREFS_MAX = 65535 };

struct entry {
    enum fake_port_kind kind;
    uint8_t generation;
    uint32_t refs, next_free;
    void *object;
};

static struct entry entries[ENTRIES] = {[1] = {.kind = FAKE_PORT_TASK, .refs = 1}}; /* [0] is none */
static uint32_t used = 2, first_free;

mach_port_t mach_task_self_ = 1u << 8 | 3;

static mach_port_name_t port_name_of(uint32_t index)
{
    return index << 8 | (mach_port_name_t)entries[index].generation << 2 | 3;
}

static struct entry *lookup_port_name(mach_port_name_t name)
{
    uint32_t index = name >> 8;
    if (index == 0 || index >= used || entries[index].kind == FAKE_PORT_NONE || port_name_of(index) != name)
        return NULL;
    return &entries[index];
}

static void set_free(struct entry *e)
{
    e->kind = FAKE_PORT_NONE;
    e->generation = (uint8_t)((e->generation + 1) % GENERATIONS);
    e->next_free = first_free;
    first_free = (uint32_t)(e - entries);
}

struct fake_port fake_port_find(mach_port_name_t name)
{
    const struct entry *e = lookup_port_name(name);
    return e ? (struct fake_port){e->kind, e->object} : (struct fake_port){FAKE_PORT_NONE, NULL};
}

/* Threads end without notifying the task. Callers that report dead names call this first. */
static void check_port_entry(struct entry *e)
{
    if (e && e->kind == FAKE_PORT_THREAD)
        fake_thread_check_end(e->object);
}

mach_port_name_t fake_port_new(enum fake_port_kind kind, void *object, uint32_t rights)
{
    uint32_t index = first_free;
    if (index)
        first_free = entries[index].next_free;
    else if (used < ENTRIES)
        index = used++;
    else
        return MACH_PORT_NULL;
    struct entry *e = &entries[index];
    *e = (struct entry){.kind = kind, .generation = e->generation, .refs = rights, .object = object};
    return port_name_of(index);
}

void fake_port_take(mach_port_name_t name)
{
    struct entry *e = lookup_port_name(name);
    if (e && e->refs < UREFS_MAX) /* further references are not counted, as in XNU */
        e->refs++;
}

void fake_port_dies(mach_port_name_t name, uint32_t given_back)
{
    struct entry *e = lookup_port_name(name);
    if (!e)
        return;
    e->refs -= given_back < e->refs ? given_back : e->refs;
    e->object = NULL;
    e->kind = FAKE_PORT_DEAD;
    if (e->refs == 0)
        set_free(e);
}

void fake_ports_forget(void)
{
    for (uint32_t i = 2; i < used; i++)
        if (entries[i].kind != FAKE_PORT_NONE && entries[i].kind != FAKE_PORT_RECEIVE)
            set_free(&entries[i]);
}

kern_return_t fake_task_check(mach_port_name_t task, kern_return_t unless)
{
    switch (fake_port_find(task).kind) {
    case FAKE_PORT_TASK: return KERN_SUCCESS;
    case FAKE_PORT_NONE:
    case FAKE_PORT_DEAD: return MACH_SEND_INVALID_DEST;
    default: return unless;
    }
}

kern_return_t fake_task_answers(mach_port_name_t task, kern_return_t unless)
{
    if (task == mach_task_self_)
        return KERN_SUCCESS;
    fake_on->lock();
    kern_return_t answer = fake_task_check(task, unless);
    fake_on->unlock();
    return answer;
}

/* ---- calls */

static kern_return_t deallocate_port_name(mach_port_name_t name)
{
    if (name == MACH_PORT_NULL || name == MACH_PORT_DEAD)
        return fake_gnu ? KERN_INVALID_NAME : KERN_SUCCESS;
    struct fake_port found = fake_port_find(name);
    struct entry *e = lookup_port_name(name);
    if (!e)
        return KERN_INVALID_NAME;
    if (found.kind == FAKE_PORT_RECEIVE && e->refs == 0)
        return KERN_INVALID_RIGHT;
    if (e->refs > 0)
        e->refs--;
    if (e->refs > 0 || found.kind == FAKE_PORT_RECEIVE || found.kind == FAKE_PORT_TASK)
        return KERN_SUCCESS;
    if (found.kind == FAKE_PORT_THREAD)
        fake_thread_unnamed(found.object);
    set_free(e);
    return KERN_SUCCESS;
}

kern_return_t mach_port_deallocate(ipc_space_t space, mach_port_name_t name)
{
    static struct fake_call call = {.name = "mach_port_deallocate"};
    kern_return_t answer = fake_kernel_enter(&call);
    if (answer == KERN_SUCCESS) {
        fake_on->lock();
        answer = fake_task_check(space, KERN_INVALID_TASK);
        if (answer == KERN_SUCCESS)
            answer = deallocate_port_name(name);
        fake_on->unlock();
    }
    return fake_kernel_leave(answer);
}

static kern_return_t get_refs(mach_port_name_t name, mach_port_right_t right, mach_port_urefs_t *refs)
{
    if (right > MACH_PORT_RIGHT_DEAD_NAME)
        return KERN_INVALID_VALUE;
    if (name == MACH_PORT_NULL || name == MACH_PORT_DEAD) {
        bool sends = right == MACH_PORT_RIGHT_SEND || right == MACH_PORT_RIGHT_SEND_ONCE;
        *refs = sends;
        return sends ? KERN_SUCCESS : KERN_INVALID_NAME;
    }
    check_port_entry(lookup_port_name(name));
    struct fake_port found = fake_port_find(name);
    if (found.kind == FAKE_PORT_NONE)
        return KERN_INVALID_NAME;
    uint32_t rights = lookup_port_name(name)->refs;
    bool dead = found.kind == FAKE_PORT_DEAD;
    *refs = 0;
    if (right == MACH_PORT_RIGHT_RECEIVE)
        *refs = found.kind == FAKE_PORT_RECEIVE;
    else if (right == (dead ? MACH_PORT_RIGHT_DEAD_NAME : MACH_PORT_RIGHT_SEND))
        *refs = rights;
    return KERN_SUCCESS;
}

kern_return_t mach_port_get_refs(ipc_space_t space, mach_port_name_t name, mach_port_right_t right,
                                 mach_port_urefs_t *refs)
{
    static struct fake_call call = {.name = "mach_port_get_refs"};
    kern_return_t answer = fake_kernel_enter(&call);
    if (answer == KERN_SUCCESS) {
        fake_on->lock();
        answer = fake_task_check(space, KERN_INVALID_TASK);
        if (answer == KERN_SUCCESS)
            answer = get_refs(name, right, refs);
        fake_on->unlock();
    }
    return fake_kernel_leave(answer);
}

/* ---- state, for checks from outside */

uint32_t fake_mach_names(void)
{
    uint32_t n = 0;
    fake_into();
    fake_on->lock();
    for (uint32_t i = 2; i < used; i++)
        check_port_entry(&entries[i]);
    for (uint32_t i = 2; i < used; i++)
        n += entries[i].kind != FAKE_PORT_NONE;
    fake_on->unlock();
    fake_on->leave();
    return n;
}

int64_t fake_mach_rights(void)
{
    int64_t n = 0;
    fake_into();
    fake_on->lock();
    for (uint32_t i = 2; i < used; i++)
        if (entries[i].kind != FAKE_PORT_NONE)
            n += entries[i].refs;
    n -= fake_threads_implied();
    fake_on->unlock();
    fake_on->leave();
    return n;
}
