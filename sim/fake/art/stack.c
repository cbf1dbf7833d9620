#include "sim/fake/art/stack.h"

#include "sim/fake/art/thread.h"

#include <string.h>

enum { FLAG_NATIVE = 0x100, FRAGMENT_BYTES = sizeof(struct fake_managed_stack) };

_Static_assert(sizeof(struct fake_fragment) >= FRAGMENT_BYTES, "room for a fragment");

static struct fake_managed_stack *top_fragment(struct fake_thread *t)
{
    return (struct fake_managed_stack *)((uintptr_t)t + fake_layout->thread_managed_stack);
}

static void push_fragment(struct fake_thread *self, struct fake_managed_stack *saved)
{
    struct fake_managed_stack *top = top_fragment(self);
    *saved = *top;
    *top = (struct fake_managed_stack){.link = saved};
}

static void pop_fragment(struct fake_thread *self, struct fake_managed_stack *saved)
{
    struct fake_managed_stack *top = top_fragment(self);
    FAKE_CHECK(top->link == saved);
    *top = *saved;
}

void fake_fragment_push(struct fake_thread *self, struct fake_fragment *f)
{
    push_fragment(self, (void *)f->memory);
}
void fake_fragment_pop(struct fake_thread *self, struct fake_fragment *f)
{
    pop_fragment(self, (void *)f->memory);
}

/* ---- memory of a frame: the structure, its registers, memory for a fragment ---- */

static size_t round_up(size_t bytes)
{
    return (bytes + 7) & ~(size_t)7;
}

static size_t frame_registers_at(bool shadow)
{
    return shadow ? fake_layout->shadow_registers : sizeof(struct fake_quick);
}

static size_t structure_bytes(bool shadow, uint32_t register_count)
{
    return round_up(frame_registers_at(shadow) + (size_t)register_count * sizeof(uint32_t));
}

size_t fake_frame_bytes(uint32_t register_count)
{
    size_t shadow = structure_bytes(true, register_count), quick = structure_bytes(false, register_count);
    return (shadow > quick ? shadow : quick) + FRAGMENT_BYTES;
}

static struct fake_managed_stack *fragment_of(const struct fake_frame *f)
{
    return (void *)((char *)f->memory + structure_bytes(f->shadow, f->register_count));
}

static bool has_fragment(struct fake_thread *self, const struct fake_frame *f)
{
    return top_fragment(self)->link == fragment_of(f);
}

/* ---- frames ---- */

static struct fake_quick *quick_frame(uintptr_t tagged)
{
    return (struct fake_quick *)(tagged & ~(uintptr_t)FAKE_QUICK_TAGS);
}

static void push_shadow(struct fake_thread *self, struct fake_frame *f, const void *art)
{
    if (top_fragment(self)->quick)
        push_fragment(self, fragment_of(f));
    FAKE_AT(f->memory, fake_layout->shadow_link, void *) = top_fragment(self)->shadow;
    FAKE_AT(f->memory, fake_layout->shadow_method, const void *) = art;
    FAKE_AT(f->memory, fake_layout->shadow_count, uint32_t) = f->register_count;
    FAKE_AT(f->memory, fake_layout->shadow_dex_pc, uint32_t) = f->dex_pc;
    top_fragment(self)->shadow = f->memory;
}

static void push_quick(struct fake_thread *self, struct fake_frame *f, const void *art)
{
    if (top_fragment(self)->shadow)
        push_fragment(self, fragment_of(f));
    struct fake_managed_stack *top = top_fragment(self);
    *(struct fake_quick *)f->memory = (struct fake_quick){art, quick_frame(top->quick), NULL, f->dex_pc, 0};
    bool is_native = f->method && FAKE_AT(art, fake_layout->method_flags, const uint32_t) & FLAG_NATIVE;
    top->quick = (uintptr_t)f->memory | (is_native ? FAKE_QUICK_GENERIC_JNI : 0);
}

static void push_inlined(struct fake_thread *self, struct fake_frame *f, const void *art)
{
    struct fake_quick *into = quick_frame(top_fragment(self)->quick);
    FAKE_CHECK(into && f->outer && !f->outer->shadow);
    *(struct fake_inlined *)f->memory = (struct fake_inlined){art, into->inlined, f->dex_pc};
    into->inlined = f->memory;
}

void fake_frame_push(struct fake_thread *self, struct fake_frame *f)
{
    const void *art = f->method ? fake_method_art(f->method) : fake_pseudo_method();
    f->outer = fake_own(self)->top;
    f->registers = (uint32_t *)((char *)f->memory + frame_registers_at(f->shadow));
    memset(f->memory, 0, structure_bytes(f->shadow, f->register_count));
    if (f->inlined)
        push_inlined(self, f, art);
    else if (f->shadow)
        push_shadow(self, f, art);
    else
        push_quick(self, f, art);
    fake_own(self)->top = f;
}

void fake_frame_pop(struct fake_thread *self, struct fake_frame *f)
{
    struct fake_managed_stack *top = top_fragment(self);
    FAKE_CHECK(fake_own(self)->top == f);
    fake_own(self)->top = f->outer;
    if (f->inlined)
        quick_frame(top->quick)->inlined = ((struct fake_inlined *)f->memory)->caller;
    else if (has_fragment(self, f))
        pop_fragment(self, fragment_of(f));
    else if (f->shadow)
        top->shadow = FAKE_AT(f->memory, fake_layout->shadow_link, void *);
    else
        top->quick = (uintptr_t)((struct fake_quick *)f->memory)->caller;
}

void fake_frame_at(struct fake_thread *self, struct fake_frame *f, uint32_t dex_pc)
{
    (void)self;
    f->dex_pc = dex_pc;
    if (f->shadow)
        FAKE_AT(f->memory, fake_layout->shadow_dex_pc, uint32_t) = dex_pc;
    else if (f->inlined)
        ((struct fake_inlined *)f->memory)->dex_pc = dex_pc;
    else
        ((struct fake_quick *)f->memory)->dex_pc = dex_pc;
}

struct fake_frame *fake_frame_top(struct fake_thread *t)
{
    return fake_own(t)->top;
}
