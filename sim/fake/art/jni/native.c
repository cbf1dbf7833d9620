#include "sim/fake/art/dex/interpret.h"

#include <stdio.h>
#include <stdlib.h>

/* Calls of native methods, like the runtime's generic JNI stub. It asks artQuickGenericJniTrampoline for the function
 * and the stack size of its arguments; this also prepares the thread. It calls the function, and then restores the
 * thread's state.
 *
 * Arguments: integers and addresses are in registers as far as there are any, floating-point numbers in their own
 * registers, and the rest is on the stack in order, on x86-64 and arm64. A call with all such registers filled, and the
 * rest on the stack, is correct for every function. Sources: System V ABI, AMD64 supplement, 3.2.3; AAPCS64, 6.4. */

#ifdef __aarch64__
enum { INTEGERS = 8 };
#define INTEGERS_OF(c)                                                                                                 \
    (c)->integers[0], (c)->integers[1], (c)->integers[2], (c)->integers[3], (c)->integers[4], (c)->integers[5],        \
        (c)->integers[6], (c)->integers[7]
#define INTEGER_TYPES long, long, long, long, long, long, long, long
#else
enum { INTEGERS = 6 };
#define INTEGERS_OF(c)                                                                                                 \
    (c)->integers[0], (c)->integers[1], (c)->integers[2], (c)->integers[3], (c)->integers[4], (c)->integers[5]
#define INTEGER_TYPES long, long, long, long, long, long
#endif
enum { FLOATS = 8, STACKED = 24 };
#define FLOATS_OF(c)                                                                                                   \
    (c)->floats[0], (c)->floats[1], (c)->floats[2], (c)->floats[3], (c)->floats[4], (c)->floats[5], (c)->floats[6],    \
        (c)->floats[7]
#define FLOAT_TYPES double, double, double, double, double, double, double, double
#define EIGHT_OF(c, i)                                                                                                 \
    (c)->stacked[i], (c)->stacked[i + 1], (c)->stacked[i + 2], (c)->stacked[i + 3], (c)->stacked[i + 4],               \
        (c)->stacked[i + 5], (c)->stacked[i + 6], (c)->stacked[i + 7]
#define EIGHT_TYPES long, long, long, long, long, long, long, long

struct call {
    long integers[INTEGERS], stacked[STACKED];
    double floats[FLOATS];
    uint32_t integer_count, float_count, stacked_count;
    uint32_t mark; /* of local references */
};

static void put_integer(struct call *c, long value)
{
    if (c->integer_count < INTEGERS) {
        c->integers[c->integer_count++] = value;
        return;
    }
    FAKE_CHECK(c->stacked_count < STACKED);
    c->stacked[c->stacked_count++] = value;
}

static void put_float(struct call *c, uint64_t bits)
{
    if (c->float_count < FLOATS) {
        memcpy(&c->floats[c->float_count++], &bits, 8);
        return;
    }
    FAKE_CHECK(c->stacked_count < STACKED);
    c->stacked[c->stacked_count++] = (long)bits;
}

static void put_arguments(struct fake_thread *self, const struct fake_method *m, const uint32_t *words, struct call *c)
{
    if (!(m->flags & FAKE_ACC_CRITICAL_NATIVE)) {
        put_integer(c, (long)fake_thread_env(self));
        bool is_static = m->flags & FAKE_ACC_STATIC;
        put_integer(c, (long)fake_local_ref(self, is_static ? m->class->mirror : fake_object(*words++)));
    }
    for (const char *type = m->shorty + 1; *type; type++) {
        uint64_t wide = words[0];
        if (*type == 'J' || *type == 'D') {
            memcpy(&wide, words, 8);
            words++;
        }
        switch (*type) {
        case 'L': put_integer(c, (long)fake_local_ref(self, fake_object((fake_ref)wide))); break;
        case 'J': put_integer(c, (long)wide); break;
        case 'F':
        case 'D': put_float(c, wide); break;
        default: put_integer(c, (int32_t)wide);
        }
        words++;
    }
}

static union fake_value call_function(const void *code, const struct call *c, char type)
{
    union fake_value out = {.j = 0};
#define AS(result)                                                                                                     \
    ((result(*)(INTEGER_TYPES, FLOAT_TYPES, EIGHT_TYPES, EIGHT_TYPES, EIGHT_TYPES))(uintptr_t)code)(                   \
        INTEGERS_OF(c), FLOATS_OF(c), EIGHT_OF(c, 0), EIGHT_OF(c, 8), EIGHT_OF(c, 16))
    if (c->stacked_count == 0) {
#define IN_REGISTERS(result) ((result(*)(INTEGER_TYPES, FLOAT_TYPES))(uintptr_t)code)(INTEGERS_OF(c), FLOATS_OF(c))
        switch (type) {
        case 'F': out.f = IN_REGISTERS(float); break;
        case 'D': out.d = IN_REGISTERS(double); break;
        default: out.j = IN_REGISTERS(long);
        }
    } else {
        switch (type) {
        case 'F': out.f = AS(float); break;
        case 'D': out.d = AS(double); break;
        default: out.j = AS(long);
        }
    }
    switch (type) {
    case 'Z': out.i = (uint8_t)out.j != 0; break;
    case 'B': out.i = (int8_t)out.j; break;
    case 'C': out.i = (uint16_t)out.j; break;
    case 'S': out.i = (int16_t)out.j; break;
    default: break;
    }
    return out;
}

/* ---- the trampoline ---- */

struct two_words {
    const void *code;
    uintptr_t stack_bytes;
};

static bool stays_runnable(const struct fake_method *m)
{
    return m->flags & (FAKE_ACC_FAST_NATIVE | FAKE_ACC_CRITICAL_NATIVE);
}

static struct fake_object *native_lock_of(const struct fake_thread *self, const struct fake_method *m)
{
    const struct fake_frame *top = fake_frame_top((struct fake_thread *)(uintptr_t)self);
    return m->flags & FAKE_ACC_STATIC ? m->class->mirror : fake_object(top->registers[0]);
}

struct two_words fake_generic_jni(struct fake_thread *self, void **managed_sp, uintptr_t *reserved)
    FAKE_EXPORT("artQuickGenericJniTrampoline");

/* Returns the function of a native method's call, and the stack size of its arguments. The thread is then ready for
 * native code. Without a function, an exception is pending. Up to level 29 a caller uses both words, from 30 on only
 * the first. */
struct two_words fake_generic_jni(struct fake_thread *self, void **managed_sp, uintptr_t *reserved)
{
    (void)reserved;
    struct fake_method *m = fake_method_of(*managed_sp);
    FAKE_CHECK(m && m->flags & FAKE_ACC_NATIVE);
    if (m->flags & FAKE_ACC_SYNCHRONIZED && !fake_monitor_enter(self, native_lock_of(self, m)))
        return (struct two_words){NULL, 0};
    const void *code = fake_method_native(m);
    if (!code) {
        char text[512];
        snprintf(text, sizeof text, "No implementation found for %s.%s%s", m->class->descriptor, m->name, m->signature);
        fake_throw(self, "Ljava/lang/UnsatisfiedLinkError;", text);
        return (struct two_words){NULL, 0};
    }
    if (!stays_runnable(m))
        fake_to_native(self, FAKE_NATIVE);
    return (struct two_words){code, STACKED * sizeof(long)};
}

static bool call_in_frame(struct fake_thread *self, struct fake_method *m, const uint32_t *words, void *managed_sp,
                          union fake_value *result)
{
    struct call c = {.mark = fake_local_mark(self)};
    put_arguments(self, m, words, &c);
    uintptr_t reserved[1] = {0};
    struct two_words to = fake_generic_jni(self, managed_sp, reserved);
    if (to.code) {
        FAKE_CHECK(fake_level >= 30 || to.stack_bytes == STACKED * sizeof(long));
        char type = m->shorty[0];
        *result = call_function(to.code, &c, type);
        if (!stays_runnable(m))
            fake_to_runnable(self);
        else
            fake_suspend_check(self);
        if (type == 'L')
            result->l = fake_ref_of(fake_decode(self, (void *)(uintptr_t)result->j));
        if (m->flags & FAKE_ACC_SYNCHRONIZED)
            fake_monitor_exit(self, native_lock_of(self, m));
    }
    fake_local_release(self, c.mark);
    return fake_exception(self) == NULL;
}

bool fake_call_native(struct fake_thread *self, struct fake_method *m, const uint32_t *words, union fake_value *result)
{
    if (fake_stack_left(self) < FAKE_RUN_BYTES) {
        fake_throw_overflow(self);
        return false;
    }
    void *memory[32];
    FAKE_CHECK(fake_frame_bytes(1) <= sizeof memory);
    struct fake_frame frame = {.method = m, .register_count = 1, .memory = memory};
    fake_frame_push(self, &frame);
    if (m->argument_words > 0)
        frame.registers[0] = words[0]; /* `this`, for the code that unlocks it */
    bool done = call_in_frame(self, m, words, memory, result);
    fake_frame_pop(self, &frame);
    return done;
}
