#include "sim/fake/art/dex/interpret.h"
#include "sim/fake/art/thread.h"

#include <alloca.h>
#include <stdio.h>
#include <stdlib.h>

bool fake_quick_frames, fake_inlined_frames;

enum { MOVE_EXCEPTION = 0x0d };

/* Units of each instruction; 0 = unknown to the fake. */
static const uint8_t units[256] = {
    [0x00 ... 0x01] = 1, [0x02] = 2,          [0x03] = 3,          [0x04] = 1,          [0x05] = 2,
    [0x06] = 3,          [0x07] = 1,          [0x08] = 2,          [0x09] = 3,          [0x0a ... 0x12] = 1,
    [0x13] = 2,          [0x14] = 3,          [0x15 ... 0x16] = 2, [0x17] = 3,          [0x18] = 5,
    [0x19 ... 0x1a] = 2, [0x1b] = 3,          [0x1c] = 2,          [0x1d ... 0x1e] = 1, [0x1f ... 0x20] = 2,
    [0x21] = 1,          [0x22 ... 0x23] = 2, [0x24 ... 0x26] = 3, [0x27 ... 0x28] = 1, [0x29] = 2,
    [0x2a ... 0x2c] = 3, [0x2d ... 0x3d] = 2, [0x44 ... 0x6d] = 2, [0x6e ... 0x72] = 3, [0x74 ... 0x78] = 3,
    [0x7b ... 0x8f] = 1, [0x90 ... 0xaf] = 2, [0xb0 ... 0xcf] = 1, [0xd0 ... 0xe2] = 2,
};

static _Noreturn void interpret_unknown(const struct fake_run *x)
{
    fprintf(stderr, "fake libart: %s.%s%s has an instruction that is not known, %#x at %u\n",
            x->method->class->descriptor, x->method->name, x->method->signature, x->code[x->pc] & 0xffu, x->pc);
    abort();
}

/* ---- branches ---- */

/* Quick code enters the runtime only when the thread has a request. It then has a frame of the runtime. */
static void suspension_point(struct fake_run *x)
{
    if (!fake_quick_frames) {
        fake_suspend_check(x->self);
    } else if (*fake_state_and_flags(x->self) & (FAKE_FLAG_SUSPEND | FAKE_FLAG_CHECKPOINT)) {
        struct fake_pseudo pseudo;
        fake_pseudo_push(x->self, &pseudo);
        fake_suspend_check(x->self);
        fake_pseudo_pop(x->self, &pseudo);
    }
}

static void interpret_branch(struct fake_run *x, int32_t by)
{
    uint32_t to = x->pc + (uint32_t)by;
    FAKE_CHECK(to < x->method->code->units);
    x->pc = to;
    if (by <= 0)
        suspension_point(x);
}

static bool interpret_compare(uint32_t kind, int32_t a, int32_t b)
{
    switch (kind) {
    case 0: return a == b;
    case 1: return a != b;
    case 2: return a < b;
    case 3: return a >= b;
    case 4: return a > b;
    default: return a <= b;
    }
}

static void interpret_conditional(struct fake_run *x, bool taken)
{
    if (taken)
        interpret_branch(x, (int16_t)fake_unit(x, 1));
    else
        x->pc += 2;
}

static int32_t instruction_word(const uint16_t *at)
{
    return (int32_t)(at[0] | (uint32_t)at[1] << 16);
}

/* Returns the target of a switch, relative to its instruction; 3 = the next instruction. */
static int32_t interpret_switch_target(const struct fake_run *x)
{
    enum { PACKED = 0x0100, SPARSE = 0x0200 };
    uint32_t at = x->pc + fake_two_units(x, 1);
    FAKE_CHECK(at + 4 <= x->method->code->units);
    const uint16_t *table = x->code + at;
    int32_t value = (int32_t)x->registers[fake_aa(x)];
    uint32_t count = table[1];
    if (table[0] == PACKED) {
        uint32_t i = (uint32_t)value - (uint32_t)instruction_word(table + 2);
        FAKE_CHECK(at + 4 + 2 * count <= x->method->code->units);
        return i < count ? instruction_word(table + 4 + 2 * i) : 3;
    }
    FAKE_CHECK(table[0] == SPARSE && at + 2 + 4 * count <= x->method->code->units);
    for (uint32_t i = 0; i < count; i++)
        if (instruction_word(table + 2 + 2 * i) == value)
            return instruction_word(table + 2 + 2 * (count + i));
    return 3;
}

/* ---- exceptions ---- */

/* Finds the handler of the pending exception at x->pc. Returns false when there is none in this method. */
static bool find_exception_handler(struct fake_run *x, uint32_t *at)
{
    const struct fake_dex_code *code = x->method->code;
    struct fake_class *thrown = fake_class_of(fake_exception(x->self));
    for (uint32_t i = 0; i < code->tries; i++) {
        const struct fake_dex_try *t = &fake_dex_tries(code)[i];
        if (x->pc < t->start || x->pc >= t->start + t->units)
            continue;
        struct fake_dex_reader r = fake_dex_handlers(x->dex, code, t);
        int32_t count = fake_dex_sleb(&r);
        for (int32_t k = 0; k < abs(count); k++) {
            uint32_t type = fake_dex_uleb(&r);
            *at = fake_dex_uleb(&r);
            struct fake_class *caught = fake_class_find(fake_dex_type(x->dex, type));
            if (caught && fake_class_is(thrown, caught))
                return true;
        }
        if (count <= 0) {
            *at = fake_dex_uleb(&r);
            return true;
        }
    }
    return false;
}

static bool throw_it(struct fake_run *x)
{
    struct fake_object *thrown = fake_object(x->registers[fake_aa(x)]);
    if (!thrown)
        return fake_null(x, "throw with null exception");
    fake_set_exception(x->self, thrown);
    return false;
}

/* ---- the instruction loop ---- */

static bool string_constant(struct fake_run *x, uint32_t index)
{
    struct fake_object *s = fake_resolve_string(x->self, x->dex, index);
    x->registers[fake_aa(x)] = fake_ref_of(s);
    return s != NULL;
}

static bool class_constant(struct fake_run *x)
{
    struct fake_class *c = fake_resolve_class(x->self, x->dex, fake_unit(x, 1));
    x->registers[fake_aa(x)] = c ? fake_ref_of(fake_class_mirror(c)) : 0;
    return c != NULL;
}

static bool interpret_monitor(struct fake_run *x, bool enter)
{
    struct fake_object *o = fake_object(x->registers[fake_aa(x)]);
    if (!o)
        return fake_null(x, enter ? "Attempt to do a synchronize operation on a null object" : "null monitor");
    return enter ? fake_monitor_enter(x->self, o) : fake_monitor_exit(x->self, o);
}

static void move_exception(struct fake_run *x)
{
    x->registers[fake_aa(x)] = fake_ref_of(fake_exception(x->self));
    fake_set_exception(x->self, NULL);
}

enum outcome { NEXT, JUMPED, RETURNED, THREW };

static enum outcome next_if(bool done)
{
    return done ? NEXT : THREW;
}

static enum outcome interpret_step(struct fake_run *x)
{
    uint32_t *r = x->registers;
    uint32_t op = x->code[x->pc] & 0xff;
    switch (op) {
    case 0x00: return NEXT;
    case 0x01:
    case 0x07: r[fake_a(x)] = r[fake_b(x)]; return NEXT;
    case 0x02:
    case 0x08: r[fake_aa(x)] = r[fake_unit(x, 1)]; return NEXT;
    case 0x03:
    case 0x09: r[fake_unit(x, 1)] = r[fake_unit(x, 2)]; return NEXT;
    case 0x04: fake_set_wide(x, fake_a(x), fake_wide(x, fake_b(x))); return NEXT;
    case 0x05: fake_set_wide(x, fake_aa(x), fake_wide(x, fake_unit(x, 1))); return NEXT;
    case 0x06: fake_set_wide(x, fake_unit(x, 1), fake_wide(x, fake_unit(x, 2))); return NEXT;
    case 0x0a:
    case 0x0c: r[fake_aa(x)] = (uint32_t)x->result.i; return NEXT;
    case 0x0b: fake_set_wide(x, fake_aa(x), (uint64_t)x->result.j); return NEXT;
    case MOVE_EXCEPTION: move_exception(x); return NEXT;
    case 0x0e: return RETURNED;
    case 0x0f:
    case 0x11: x->result.i = (int32_t)r[fake_aa(x)]; return RETURNED;
    case 0x10: x->result.j = (int64_t)fake_wide(x, fake_aa(x)); return RETURNED;
    case 0x12: r[fake_a(x)] = (uint32_t)((int32_t)((uint32_t)x->code[x->pc] << 16) >> 28); return NEXT;
    case 0x13: r[fake_aa(x)] = (uint32_t)(int16_t)fake_unit(x, 1); return NEXT;
    case 0x14: r[fake_aa(x)] = fake_two_units(x, 1); return NEXT;
    case 0x15: r[fake_aa(x)] = (uint32_t)fake_unit(x, 1) << 16; return NEXT;
    case 0x16: fake_set_wide(x, fake_aa(x), (uint64_t)(int16_t)fake_unit(x, 1)); return NEXT;
    case 0x17: fake_set_wide(x, fake_aa(x), (uint64_t)(int32_t)fake_two_units(x, 1)); return NEXT;
    case 0x18: fake_set_wide(x, fake_aa(x), fake_two_units(x, 1) | (uint64_t)fake_two_units(x, 3) << 32); return NEXT;
    case 0x19: fake_set_wide(x, fake_aa(x), (uint64_t)fake_unit(x, 1) << 48); return NEXT;
    case 0x1a: return next_if(string_constant(x, fake_unit(x, 1)));
    case 0x1b: return next_if(string_constant(x, fake_two_units(x, 1)));
    case 0x1c: return next_if(class_constant(x));
    case 0x1d: return next_if(interpret_monitor(x, true));
    case 0x1e: return next_if(interpret_monitor(x, false));
    case 0x27: throw_it(x); return THREW;
    case 0x28: interpret_branch(x, (int8_t)fake_aa(x)); return JUMPED;
    case 0x29: interpret_branch(x, (int16_t)fake_unit(x, 1)); return JUMPED;
    case 0x2a: interpret_branch(x, (int32_t)fake_two_units(x, 1)); return JUMPED;
    case 0x2b:
    case 0x2c: interpret_branch(x, interpret_switch_target(x)); return JUMPED;
    case 0x32:
    case 0x33:
    case 0x34:
    case 0x35:
    case 0x36:
    case 0x37:
        interpret_conditional(x, interpret_compare(op - 0x32, (int32_t)r[fake_a(x)], (int32_t)r[fake_b(x)]));
        return JUMPED;
    case 0x38:
    case 0x39:
    case 0x3a:
    case 0x3b:
    case 0x3c:
    case 0x3d: interpret_conditional(x, interpret_compare(op - 0x38, (int32_t)r[fake_aa(x)], 0)); return JUMPED;
    default:
        if ((op >= 0x2d && op <= 0x31) || op >= 0x7b)
            return next_if(fake_run_math(x));
        return next_if(op >= 0x6e ? fake_run_invoke(x) : fake_run_access(x));
    }
}

/* Runs from the first instruction to a return. Returns false when an exception leaves the method. */
static bool interpret_method(struct fake_run *x)
{
    suspension_point(x);
    for (;;) {
        FAKE_CHECK(x->pc < x->method->code->units);
        uint32_t length = units[x->code[x->pc] & 0xff];
        if (length == 0)
            interpret_unknown(x);
        fake_frame_at(x->self, x->frame, x->pc);
        switch (interpret_step(x)) {
        case NEXT: x->pc += length; break;
        case JUMPED: break;
        case RETURNED: return true;
        case THREW:
            if (!find_exception_handler(x, &x->pc))
                return false;
            if ((x->code[x->pc] & 0xff) != MOVE_EXCEPTION)
                fake_set_exception(x->self, NULL);
        }
    }
}

/* ---- activations ---- */

/* Returns true for a method that a compiler would inline: small, static, without branches. */
static bool is_inlined(const struct fake_method *m, const struct fake_frame *caller)
{
    enum { SMALL_UNITS = 32 };
    return fake_quick_frames && fake_inlined_frames && caller && caller->method && caller->method != m &&
           !caller->inlined && !caller->shadow && !(caller->method->flags & FAKE_ACC_NATIVE) &&
           m->flags & FAKE_ACC_STATIC && !(m->flags & (FAKE_ACC_SYNCHRONIZED | FAKE_ACC_CONSTRUCTOR)) &&
           m->code->units <= SMALL_UNITS && m->code->tries == 0;
}

static struct fake_object *interpreted_lock_of(const struct fake_method *m, const uint32_t *arguments)
{
    return m->flags & FAKE_ACC_STATIC ? m->class->mirror : fake_object(arguments[0]);
}

static bool interpret_activate(struct fake_thread *self, struct fake_method *m, const uint32_t *words, void *memory,
                               union fake_value *result)
{
    struct fake_frame frame = {.method = m,
                               .register_count = m->code->registers + 1u,
                               .memory = memory,
                               .shadow = !fake_quick_frames,
                               .inlined = is_inlined(m, fake_frame_top(self))};
    fake_frame_push(self, &frame);
    uint32_t *arguments = frame.registers + m->code->registers - m->argument_words;
    if (m->argument_words > 0)
        memcpy(arguments, words, m->argument_words * sizeof *words);
    struct fake_run x = {
        .self = self, .method = m, .dex = m->dex, .frame = &frame, .registers = frame.registers, .code = m->code->code};
    struct fake_object *lock = m->flags & FAKE_ACC_SYNCHRONIZED ? interpreted_lock_of(m, arguments) : NULL;
    if (lock)
        frame.registers[m->code->registers] = fake_ref_of(lock);
    bool entered = !lock || fake_monitor_enter(self, lock), done = entered && interpret_method(&x);
    if (lock && entered) {
        frame.registers[0] = (uint32_t)x.result.i; /* the collector reads it there */
        done = fake_monitor_exit(self, lock) && done;
    }
    fake_frame_pop(self, &frame);
    *result = x.result;
    return done;
}

static bool run_code(struct fake_thread *self, struct fake_method *m, const uint32_t *words, union fake_value *result)
{
    size_t bytes = fake_frame_bytes(m->code->registers + 1u);
    if (fake_stack_left(self) < bytes + FAKE_RUN_BYTES) {
        fake_throw_overflow(self);
        return false;
    }
    void *memory = alloca(bytes); /* one more register: the object whose lock the method holds */
    memset(memory, 0, bytes);     /* no old frame records, see fake_invoke */
    return interpret_activate(self, m, words, memory, result);
}

bool fake_execute(struct fake_thread *self, struct fake_method *m, const uint32_t *words, union fake_value *result)
{
    if (m->flags & FAKE_ACC_NATIVE)
        return fake_call_native(self, m, words, result);
    if (m->code)
        return run_code(self, m, words, result);
    char text[512];
    snprintf(text, sizeof text, "abstract method \"%s.%s%s\"", m->class->descriptor, m->name, m->signature);
    fake_throw(self, "Ljava/lang/AbstractMethodError;", text);
    return false;
}

/* Converts the arguments of a call from outside into registers. */
static void to_words(const struct fake_method *m, const union fake_value *arguments, uint32_t *words)
{
    if (!(m->flags & FAKE_ACC_STATIC))
        *words++ = (arguments++)->l;
    for (const char *type = m->shorty + 1; *type; type++, arguments++) {
        if (*type == 'J' || *type == 'D') {
            memcpy(words, arguments, 8);
            words += 2;
        } else {
            *words++ = (uint32_t)arguments->i;
        }
    }
}

bool fake_invoke(struct fake_thread *self, struct fake_method *m, const union fake_value *arguments,
                 union fake_value *result)
{
    uint32_t words[256] = {0}; /* a runtime has no old frame records between managed frames and their entry */
    FAKE_CHECK(m->argument_words <= sizeof words / sizeof *words);
    to_words(m, arguments, words);
    if (fake_stack_left(self) < FAKE_RUN_BYTES) {
        fake_throw_overflow(self);
        return false;
    }
    struct fake_fragment entry; /* quick code is entered directly; the interpreter through a bridge, with a frame */
    struct fake_pseudo pseudo;
    bool bridged = !fake_quick_frames && !(m->flags & FAKE_ACC_NATIVE);
    fake_fragment_push(self, &entry);
    if (bridged)
        fake_pseudo_push(self, &pseudo);
    bool done = fake_execute(self, m, words, result);
    if (bridged)
        fake_pseudo_pop(self, &pseudo);
    fake_fragment_pop(self, &entry);
    return done;
}

void fake_pseudo_push(struct fake_thread *self, struct fake_pseudo *p)
{
    FAKE_CHECK(fake_frame_bytes(0) <= sizeof p->memory);
    p->frame = (struct fake_frame){.memory = p->memory};
    fake_frame_push(self, &p->frame);
}

void fake_pseudo_pop(struct fake_thread *self, struct fake_pseudo *p)
{
    fake_frame_pop(self, &p->frame);
}
