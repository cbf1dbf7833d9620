#include "sim/fake/art/jni/jni.h"

#include <stdlib.h>

enum { KIND_BITS = 2 };

static void *make_reference(uint32_t index, enum fake_reference kind)
{
    return (void *)(((uintptr_t)index + 1) << KIND_BITS | kind);
}

static uint32_t reference_index_of(const void *ref)
{
    return (uint32_t)(((uintptr_t)ref >> KIND_BITS) - 1);
}
static enum fake_reference reference_kind_of(const void *ref)
{
    return (uintptr_t)ref & ((1 << KIND_BITS) - 1);
}

/* ---- global references ---- */

static struct {
    struct fake_mutex lock;
    fake_ref *at;
    uint8_t *kind; /* enum fake_reference; 0 = free */
    uint32_t used, room;
    uint32_t taken; /* entries from here on are free */
} globals;

__attribute__((constructor)) static void init_global_references(void)
{
    fake_mutex_init(&globals.lock);
}

void *fake_global_ref(struct fake_object *o, enum fake_reference kind)
{
    if (!o)
        return NULL;
    fake_mutex_lock(&globals.lock);
    uint32_t i = globals.taken;
    while (i < globals.used && globals.kind[i])
        i++;
    globals.taken = i + 1;
    if (i == globals.room) {
        globals.room = globals.room ? 2 * globals.room : 256;
        globals.at = realloc(globals.at, globals.room * sizeof *globals.at);
        globals.kind = realloc(globals.kind, globals.room);
        FAKE_CHECK(globals.at && globals.kind);
    }
    if (i == globals.used)
        globals.used++;
    globals.at[i] = fake_ref_of(o);
    globals.kind[i] = (uint8_t)kind;
    fake_mutex_unlock(&globals.lock);
    return make_reference(i, kind);
}

void fake_global_free(void *ref, enum fake_reference kind)
{
    if (!ref)
        return;
    fake_mutex_lock(&globals.lock);
    uint32_t i = reference_index_of(ref);
    FAKE_CHECK(reference_kind_of(ref) == kind && i < globals.used && globals.kind[i] == kind);
    globals.kind[i] = 0;
    globals.at[i] = 0;
    if (i < globals.taken)
        globals.taken = i;
    fake_mutex_unlock(&globals.lock);
}

/* ---- references of one thread ---- */

static void *add_local(struct strobe_jni *env, fake_ref l)
{
    if (env->used == env->room) {
        env->room = env->room ? 2 * env->room : 64;
        env->locals = realloc(env->locals, env->room * sizeof *env->locals);
        FAKE_CHECK(env->locals);
    }
    env->locals[env->used] = l;
    return make_reference(env->used++, FAKE_LOCAL);
}

void *fake_local_ref(struct fake_thread *self, struct fake_object *o)
{
    return o ? add_local(fake_thread_env(self), fake_ref_of(o)) : NULL;
}

uint32_t fake_local_mark(struct fake_thread *self)
{
    return fake_thread_env(self)->used;
}
void fake_local_release(struct fake_thread *self, uint32_t mark)
{
    fake_thread_env(self)->used = mark;
}

void fake_local_free(struct strobe_jni *env, void *ref)
{
    if (!ref)
        return;
    uint32_t i = reference_index_of(ref);
    FAKE_CHECK(reference_kind_of(ref) == FAKE_LOCAL && i < env->used);
    env->locals[i] = 0;
    if (env->used == i + 1)
        env->used--;
}

struct fake_object *fake_decode(struct fake_thread *self, void *jobject)
{
    if (!jobject)
        return NULL;
    uint32_t i = reference_index_of(jobject);
    if (reference_kind_of(jobject) == FAKE_LOCAL) {
        const struct strobe_jni *env = fake_thread_env(self);
        FAKE_CHECK(i < env->used);
        return fake_object(env->locals[i]);
    }
    fake_mutex_lock(&globals.lock);
    FAKE_CHECK(reference_kind_of(jobject) != 0 && i < globals.used && globals.kind[i] == reference_kind_of(jobject));
    struct fake_object *o = fake_object(globals.at[i]);
    fake_mutex_unlock(&globals.lock);
    return o;
}

void fake_jni_roots(struct strobe_jni *env, void (*visit)(fake_ref *, void *), void *ctx)
{
    for (uint32_t i = 0; i < env->used; i++)
        if (env->locals[i])
            visit(&env->locals[i], ctx);
}

void fake_global_roots(void (*visit)(fake_ref *, void *), void *ctx)
{
    for (uint32_t i = 0; i < globals.used; i++)
        if (globals.kind[i] == FAKE_GLOBAL)
            visit(&globals.at[i], ctx);
}

void fake_weak_sweep(bool (*lives)(const struct fake_object *, void *), void *ctx)
{
    for (uint32_t i = 0; i < globals.used; i++)
        if (globals.kind[i] == FAKE_WEAK && globals.at[i] && !lives(fake_object(globals.at[i]), ctx))
            globals.at[i] = 0;
}
