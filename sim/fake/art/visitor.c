/* StackVisitor: its parameters and its position are in the caller's memory, in the level's layout. The frames are
 * read from the thread's memory, never from lists of the fake, so that a thread that consists of bytes only can be
 * walked. */
#include "sim/fake/art/stack.h"
#include "sim/fake/art/thread.h"

#include <stdlib.h>
#include <string.h>

enum { INLINE_DEPTH_UP_TO = 28, THREE_KINDS_UP_TO = 25, INLINE_STATE = 0x48 };
enum { NO_DEX_PC = -1, SLOT_VISIT = 2, FLAG_NATIVE = 0x100 };

#define VISITOR           "_ZN3art12StackVisitor"
#define VISITOR_CONST     "_ZNK3art12StackVisitor"
#define V(v, field, type) FAKE_AT(v, fake_layout->visitor_##field, type)

/* ---- construction ---- */

static void visitor_destroy(void *v)
{
    (void)v;
}
static bool pure_virtual(void *v)
{
    (void)v;
    fake_check_failed("a StackVisitor visits by a VisitFrame of its own", __FILE__, __LINE__);
}

void (*const fake_visitor_vtable[])(void) __asm__("_ZTVN3art12StackVisitorE") __attribute__((visibility("default"))) = {
    NULL, NULL, (void (*)(void))visitor_destroy, (void (*)(void))visitor_destroy, (void (*)(void))pure_virtual,
};

static void visitor_construct(void *v, void *thread, void *context, uint32_t kind, size_t frames, bool check_suspended)
{
    *(const void **)v = fake_visitor_vtable + 2;
    V(v, thread, void *) = thread;
    V(v, kind, uint32_t) = kind;
    V(v, shadow, void *) = NULL;
    V(v, quick, void *) = NULL;
    V(v, quick_pc, uintptr_t) = 0;
    V(v, header, void *) = NULL;
    V(v, frames, size_t) = frames;
    V(v, depth, size_t) = 0;
    memset((char *)v + INLINE_STATE, 0, fake_layout->visitor_context - (size_t)INLINE_STATE);
    V(v, context, void *) = context;
    if (fake_layout->visitor_check != 0xffff)
        V(v, check, bool) = check_suspended;
}

void fake_visitor_24(void *v, void *thread, void *context, uint32_t kind)
    FAKE_EXPORT(VISITOR "C2EPNS_6ThreadEPNS_7ContextENS0_13StackWalkKindE");
void fake_visitor_24(void *v, void *thread, void *context, uint32_t kind)
{
    visitor_construct(v, thread, context, kind, 0, false);
}

void fake_visitor_26(void *v, void *thread, void *context, uint32_t kind, bool check_suspended)
    FAKE_EXPORT(VISITOR "C2EPNS_6ThreadEPNS_7ContextENS0_13StackWalkKindEb");
void fake_visitor_26(void *v, void *thread, void *context, uint32_t kind, bool check_suspended)
{
    visitor_construct(v, thread, context, kind, 0, check_suspended);
}

void fake_visitor_26_of_size(void *v, void *thread, void *context, uint32_t kind, size_t frames, bool check_suspended)
    FAKE_EXPORT(VISITOR "C2EPNS_6ThreadEPNS_7ContextENS0_13StackWalkKindEmb");
void fake_visitor_26_of_size(void *v, void *thread, void *context, uint32_t kind, size_t frames, bool check_suspended)
{
    visitor_construct(v, thread, context, kind, frames, check_suspended);
}

/* ---- inlined callees: up to level 28 the visitor counts its depth in them, later it has a record ---- */

static size_t inlined_count(const struct fake_inlined *record)
{
    size_t n = 0;
    for (; record; record = record->caller)
        n++;
    return n;
}

static void enter_inlined(void *v, struct fake_inlined *record)
{
    if (fake_level <= INLINE_DEPTH_UP_TO)
        V(v, inline_depth, size_t) = inlined_count(record);
    else
        FAKE_AT(v, INLINE_STATE, struct fake_inlined *) = record;
}

static struct fake_inlined *current_inlined(const void *v)
{
    if (fake_level > INLINE_DEPTH_UP_TO)
        return FAKE_AT(v, INLINE_STATE, struct fake_inlined *);
    size_t depth = V(v, inline_depth, size_t);
    if (!depth)
        return NULL;
    struct fake_inlined *record = V(v, quick, struct fake_quick *)->inlined;
    for (size_t n = inlined_count(record); n > depth; n--)
        record = record->caller;
    return record;
}

/* ---- position ---- */

const void *fake_visitor_method(const void *v) FAKE_EXPORT(VISITOR_CONST "9GetMethodEv");
const void *fake_visitor_method(const void *v)
{
    const void *shadow = V(v, shadow, const void *);
    if (shadow)
        return FAKE_AT(shadow, fake_layout->shadow_method, const void *);
    const struct fake_quick *quick = V(v, quick, const struct fake_quick *);
    if (!quick)
        return NULL;
    const struct fake_inlined *record = quick->inlined ? current_inlined(v) : NULL;
    return record ? record->method : quick->method;
}

uint32_t fake_visitor_dex_pc(const void *v, bool abort_on_failure) FAKE_EXPORT(VISITOR_CONST "8GetDexPcEb");
uint32_t fake_visitor_dex_pc(const void *v, bool abort_on_failure)
{
    (void)abort_on_failure;
    const void *shadow = V(v, shadow, const void *);
    if (shadow)
        return FAKE_AT(shadow, fake_layout->shadow_dex_pc, uint32_t);
    const struct fake_quick *quick = V(v, quick, const struct fake_quick *);
    if (!quick)
        return 0;
    const struct fake_inlined *record = quick->inlined ? current_inlined(v) : NULL;
    if (record)
        return record->dex_pc;
    bool has_code = quick->method != fake_pseudo_method() &&
                    !(FAKE_AT(quick->method, fake_layout->method_flags, const uint32_t) & FLAG_NATIVE);
    return has_code ? quick->dex_pc : (uint32_t)NO_DEX_PC;
}

/* ---- the walk ---- */

static bool visitor_visit(void *v)
{
    bool (*visit_frame)(void *) = (*(bool (**const *)(void *))v)[SLOT_VISIT];
    return visit_frame(v);
}

static bool visit_and_count(void *v)
{
    if (!visitor_visit(v))
        return false;
    V(v, depth, size_t)++;
    return true;
}

static bool includes_inlined(const void *v)
{
    uint32_t kind = V(v, kind, uint32_t);
    return fake_level <= THREE_KINDS_UP_TO ? kind <= 1 : kind == 0; /* 24, 25: with, with but unresolved, without */
}

static bool walk_inlined(void *v, const struct fake_quick *into)
{
    for (struct fake_inlined *record = into->inlined; record; record = record->caller) {
        enter_inlined(v, record);
        if (!visit_and_count(v))
            return false;
    }
    enter_inlined(v, NULL);
    return true;
}

static bool walk_quick(void *v, const struct fake_quick *q)
{
    for (; q; q = q->caller) {
        V(v, quick, const struct fake_quick *) = q;
        if ((q->inlined && includes_inlined(v) && !walk_inlined(v, q)) || !visit_and_count(v))
            return false;
    }
    V(v, quick, void *) = NULL;
    return true;
}

static bool walk_shadow(void *v, void *shadow)
{
    for (; shadow; shadow = FAKE_AT(shadow, fake_layout->shadow_link, void *)) {
        V(v, shadow, void *) = shadow;
        if (!visit_and_count(v))
            return false;
    }
    V(v, shadow, void *) = NULL;
    return true;
}

static void visitor_walk(void *v, bool include_transitions, bool count_transitions)
{
    struct fake_thread *t = V(v, thread, struct fake_thread *);
    if (fake_layout->visitor_check != 0xffff && V(v, check, bool))
        FAKE_CHECK(t == fake_self() || fake_is_stopped(t));
    FAKE_CHECK(V(v, depth, size_t) == 0);
    struct fake_managed_stack *fragment = &FAKE_AT(t, fake_layout->thread_managed_stack, struct fake_managed_stack);
    for (; fragment; fragment = fragment->link) {
        uintptr_t quick = fragment->quick & ~(uintptr_t)FAKE_QUICK_TAGS;
        if (quick ? !walk_quick(v, (const struct fake_quick *)quick) : !walk_shadow(v, fragment->shadow))
            return;
        if (include_transitions && !visitor_visit(v))
            return;
        if (count_transitions)
            V(v, depth, size_t)++;
    }
}

void fake_visitor_walk_24(void *v, bool include_transitions) FAKE_EXPORT(VISITOR "9WalkStackEb");
void fake_visitor_walk_24(void *v, bool include_transitions)
{
    visitor_walk(v, include_transitions, true);
}

/* CountTransitions has kYes first. */
void fake_visitor_walk_counting(void *v, bool include_transitions)
    FAKE_EXPORT(VISITOR "9WalkStackILNS0_16CountTransitionsE0EEEvb");
void fake_visitor_walk_counting(void *v, bool include_transitions)
{
    visitor_walk(v, include_transitions, true);
}

void fake_visitor_walk(void *v, bool include_transitions)
    FAKE_EXPORT(VISITOR "9WalkStackILNS0_16CountTransitionsE1EEEvb");
void fake_visitor_walk(void *v, bool include_transitions)
{
    visitor_walk(v, include_transitions, false);
}

static bool go_on(void *v)
{
    (void)v;
    return true;
}

static void (*const counting_vtable[])(void) = {
    (void (*)(void))visitor_destroy,
    (void (*)(void))visitor_destroy,
    (void (*)(void))go_on,
};

size_t fake_visitor_frames(void *thread, uint32_t kind)
    FAKE_EXPORT(VISITOR "16ComputeNumFramesEPNS_6ThreadENS0_13StackWalkKindE");
size_t fake_visitor_frames(void *thread, uint32_t kind)
{
    _Alignas(8) char v[1024];
    visitor_construct(v, thread, NULL, kind, 0, false);
    *(const void **)(void *)v = counting_vtable;
    visitor_walk(v, true, true);
    return V(v, depth, size_t);
}

/* ---- Context: the registers of a frame, which the fake does not have ---- */

static void free_context(void *context)
{
    free(context);
}

struct context {
    void (*const *vtable)(void);
    uint64_t registers[64];
};

void *fake_context_create(void) FAKE_EXPORT("_ZN3art7Context6CreateEv");
void *fake_context_create(void)
{
    static void (*const vtable[])(void) = {(void (*)(void))visitor_destroy, (void (*)(void))free_context};
    struct context *c = calloc(1, sizeof *c);
    FAKE_CHECK(c);
    c->vtable = vtable;
    return c;
}
