/* The interpreter: one activation of a method, and the groups of instructions that its files run. */
#ifndef STROBE_SIM_FAKE_ART_DEX_INTERPRET_H
#define STROBE_SIM_FAKE_ART_DEX_INTERPRET_H

#include "sim/fake/art/dex/class.h"

#include <string.h>

struct fake_run {
    struct fake_thread *self;
    struct fake_method *method;
    struct fake_dex *dex;
    struct fake_frame *frame;
    uint32_t *registers;
    const uint16_t *code; /* of the method */
    uint32_t pc;
    union fake_value result; /* of the last call, and at the end of this method */
};

/* Run the instruction at x->pc, by group. Return false with an exception pending. */
bool fake_run_math(struct fake_run *x);   /* cmp, unary and binary operations */
bool fake_run_access(struct fake_run *x); /* arrays, fields, types, new objects */
bool fake_run_invoke(struct fake_run *x);

/* Runs a method of any kind, with its arguments as registers hold them. RUNNABLE. Returns false with an exception
 * pending. */
bool fake_execute(struct fake_thread *self, struct fake_method *m, const uint32_t *words, union fake_value *result);
bool fake_call_native(struct fake_thread *self, struct fake_method *m, const uint32_t *words, union fake_value *result);

/* Minimum bytes of stack of an activation, without its frame's memory. */
enum { FAKE_RUN_BYTES = 1024 };
void fake_throw_overflow(struct fake_thread *self);

/* Returns Object[] with a long[] of methods and dex pcs, like Throwable.backtrace. NULL: exception pending. */
struct fake_object *fake_backtrace(struct fake_thread *self);

/* A callee-save frame of the runtime on top of the stack, while the runtime works for quick code. */
struct fake_pseudo {
    struct fake_frame frame;
    void *memory[32];
};
void fake_pseudo_push(struct fake_thread *self, struct fake_pseudo *p);
void fake_pseudo_pop(struct fake_thread *self, struct fake_pseudo *p);

static inline uint64_t fake_wide(const struct fake_run *x, uint32_t at)
{
    uint64_t value;
    memcpy(&value, x->registers + at, sizeof value);
    return value;
}

static inline void fake_set_wide(struct fake_run *x, uint32_t at, uint64_t value)
{
    memcpy(x->registers + at, &value, sizeof value);
}

/* Parts of the instruction at x->pc: the upper byte of its first unit, the halves of that byte, its further units. */
static inline uint32_t fake_aa(const struct fake_run *x)
{
    return x->code[x->pc] >> 8;
}
static inline uint32_t fake_a(const struct fake_run *x)
{
    return x->code[x->pc] >> 8 & 15;
}
static inline uint32_t fake_b(const struct fake_run *x)
{
    return x->code[x->pc] >> 12;
}
static inline uint16_t fake_unit(const struct fake_run *x, uint32_t i)
{
    return x->code[x->pc + i];
}
static inline uint32_t fake_two_units(const struct fake_run *x, uint32_t i)
{
    return fake_unit(x, i) | (uint32_t)fake_unit(x, i + 1) << 16;
}

/* Throws NullPointerException and returns false. */
static inline bool fake_null(struct fake_run *x, const char *what)
{
    fake_throw(x->self, "Ljava/lang/NullPointerException;", what);
    return false;
}

#endif
