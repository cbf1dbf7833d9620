#include "sim/fake/art/dex/interpret.h"

#include <math.h>

/* Arithmetic by the Java Virtual Machine Specification 6.5: integers wrap, shifts use the low bits of their distance,
 * conversions from floating point saturate. */

static float to_float(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, 4);
    return f;
}
static double to_double(uint64_t bits)
{
    double d;
    memcpy(&d, &bits, 8);
    return d;
}
static uint32_t float_bits(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, 4);
    return bits;
}
static uint64_t double_bits(double d)
{
    uint64_t bits;
    memcpy(&bits, &d, 8);
    return bits;
}

static int32_t saturate32(double d)
{
    if (d != d)
        return 0;
    return d >= 2147483647.0 ? INT32_MAX : d <= -2147483648.0 ? INT32_MIN : (int32_t)d;
}

static int64_t saturate64(double d)
{
    if (d != d)
        return 0;
    return d >= 9223372036854775807.0 ? INT64_MAX : d <= -9223372036854775808.0 ? INT64_MIN : (int64_t)d;
}

static bool by_zero(struct fake_run *x)
{
    fake_throw(x->self, "Ljava/lang/ArithmeticException;", "divide by zero");
    return false;
}

enum operation { ADD, SUB, MUL, DIV, REM, AND, OR, XOR, SHL, SHR, USHR };

static bool int_operation(struct fake_run *x, uint32_t to, enum operation o, int32_t a, int32_t b)
{
    uint32_t ua = (uint32_t)a, ub = (uint32_t)b, out = 0;
    if ((o == DIV || o == REM) && b == 0)
        return by_zero(x);
    switch (o) {
    case ADD: out = ua + ub; break;
    case SUB: out = ua - ub; break;
    case MUL: out = ua * ub; break;
    case DIV: out = b == -1 ? 0 - ua : (uint32_t)(a / b); break;
    case REM: out = b == -1 ? 0 : (uint32_t)(a % b); break;
    case AND: out = ua & ub; break;
    case OR: out = ua | ub; break;
    case XOR: out = ua ^ ub; break;
    case SHL: out = ua << (ub & 31); break;
    case SHR: out = (uint32_t)(a >> (ub & 31)); break;
    case USHR: out = ua >> (ub & 31); break;
    }
    x->registers[to] = out;
    return true;
}

static bool long_operation(struct fake_run *x, uint32_t to, enum operation o, int64_t a, int64_t b)
{
    uint64_t ua = (uint64_t)a, ub = (uint64_t)b, out = 0;
    if ((o == DIV || o == REM) && b == 0)
        return by_zero(x);
    switch (o) {
    case ADD: out = ua + ub; break;
    case SUB: out = ua - ub; break;
    case MUL: out = ua * ub; break;
    case DIV: out = b == -1 ? 0 - ua : (uint64_t)(a / b); break;
    case REM: out = b == -1 ? 0 : (uint64_t)(a % b); break;
    case AND: out = ua & ub; break;
    case OR: out = ua | ub; break;
    case XOR: out = ua ^ ub; break;
    case SHL: out = ua << (ub & 63); break;
    case SHR: out = (uint64_t)(a >> (ub & 63)); break;
    case USHR: out = ua >> (ub & 63); break;
    }
    fake_set_wide(x, to, out);
    return true;
}

static double interpret_floating(enum operation o, double a, double b)
{
    switch (o) {
    case ADD: return a + b;
    case SUB: return a - b;
    case MUL: return a * b;
    case DIV: return a / b;
    default: return fmod(a, b);
    }
}

static bool float_operation(struct fake_run *x, uint32_t to, enum operation o, uint32_t a, uint32_t b)
{
    x->registers[to] = float_bits((float)interpret_floating(o, (double)to_float(a), (double)to_float(b)));
    return true;
}

static bool double_operation(struct fake_run *x, uint32_t to, enum operation o, uint64_t a, uint64_t b)
{
    fake_set_wide(x, to, double_bits(interpret_floating(o, to_double(a), to_double(b))));
    return true;
}

/* The operations of 0x90..0xaf, and, in the same order, of 0xb0..0xcf. */
static bool interpret_binary(struct fake_run *x, uint32_t number, uint32_t to, uint32_t a, uint32_t b)
{
    const uint32_t *r = x->registers;
    if (number < 11)
        return int_operation(x, to, number, (int32_t)r[a], (int32_t)r[b]);
    if (number < 22) {
        enum operation o = number - 11;
        int64_t distance = (int64_t)(o >= SHL ? r[b] : fake_wide(x, b));
        return long_operation(x, to, o, (int64_t)fake_wide(x, a), distance);
    }
    return number < 27 ? float_operation(x, to, number - 22, r[a], r[b])
                       : double_operation(x, to, number - 27, fake_wide(x, a), fake_wide(x, b));
}

static bool interpret_literal(struct fake_run *x, uint32_t number, uint32_t to, uint32_t from, int32_t value)
{
    static const enum operation order[] = {ADD, SUB, MUL, DIV, REM, AND, OR, XOR, SHL, SHR, USHR};
    int32_t a = (int32_t)x->registers[from];
    if (order[number] == SUB) /* rsub: the literal minus the register */
        return int_operation(x, to, SUB, value, a);
    return int_operation(x, to, order[number], a, value);
}

static void interpret_unary(struct fake_run *x, uint32_t op, uint32_t to, uint32_t from)
{
    uint32_t v = x->registers[from], *out = &x->registers[to];
    switch (op) {
    case 0x7b: *out = 0 - v; break;
    case 0x7c: *out = ~v; break;
    case 0x7d: fake_set_wide(x, to, 0 - fake_wide(x, from)); break;
    case 0x7e: fake_set_wide(x, to, ~fake_wide(x, from)); break;
    case 0x7f: *out = v ^ 0x80000000u; break;
    case 0x80: fake_set_wide(x, to, fake_wide(x, from) ^ UINT64_C(0x8000000000000000)); break;
    case 0x81: fake_set_wide(x, to, (uint64_t)(int32_t)v); break;
    case 0x82: *out = float_bits((float)(int32_t)v); break;
    case 0x83: fake_set_wide(x, to, double_bits((int32_t)v)); break;
    case 0x84: *out = (uint32_t)fake_wide(x, from); break;
    case 0x85: *out = float_bits((float)(int64_t)fake_wide(x, from)); break;
    case 0x86: fake_set_wide(x, to, double_bits((double)(int64_t)fake_wide(x, from))); break;
    case 0x87: *out = (uint32_t)saturate32((double)to_float(v)); break;
    case 0x88: fake_set_wide(x, to, (uint64_t)saturate64((double)to_float(v))); break;
    case 0x89: fake_set_wide(x, to, double_bits((double)to_float(v))); break;
    case 0x8a: *out = (uint32_t)saturate32(to_double(fake_wide(x, from))); break;
    case 0x8b: fake_set_wide(x, to, (uint64_t)saturate64(to_double(fake_wide(x, from)))); break;
    case 0x8c: *out = float_bits((float)to_double(fake_wide(x, from))); break;
    case 0x8d: *out = (uint32_t)(int8_t)v; break;
    case 0x8e: *out = (uint16_t)v; break;
    default: *out = (uint32_t)(int16_t)v; break;
    }
}

/* Returns -1, 0 or 1; `unordered` when an operand is not a number. */
static uint32_t order_of(double a, double b, int unordered)
{
    return (uint32_t)(a < b ? -1 : a > b ? 1 : a == b ? 0 : unordered);
}

static uint32_t interpret_cmp(const struct fake_run *x, uint32_t op, uint32_t a, uint32_t b)
{
    const uint32_t *r = x->registers;
    switch (op) {
    case 0x2d: return order_of((double)to_float(r[a]), (double)to_float(r[b]), -1);
    case 0x2e: return order_of((double)to_float(r[a]), (double)to_float(r[b]), 1);
    case 0x2f: return order_of(to_double(fake_wide(x, a)), to_double(fake_wide(x, b)), -1);
    case 0x30: return order_of(to_double(fake_wide(x, a)), to_double(fake_wide(x, b)), 1);
    default: {
        int64_t va = (int64_t)fake_wide(x, a), vb = (int64_t)fake_wide(x, b);
        return (uint32_t)((va > vb) - (va < vb));
    }
    }
}

bool fake_run_math(struct fake_run *x)
{
    uint32_t op = x->code[x->pc] & 0xff, a = fake_a(x), b = fake_b(x), aa = fake_aa(x);
    if (op >= 0xb0 && op <= 0xcf)
        return interpret_binary(x, op - 0xb0, a, a, b);
    if (op >= 0x7b && op <= 0x8f) {
        interpret_unary(x, op, a, b);
        return true;
    }
    uint32_t second = fake_unit(x, 1);
    if (op >= 0xd8)
        return interpret_literal(x, op - 0xd8, aa, second & 0xff, (int8_t)(second >> 8));
    if (op >= 0xd0)
        return interpret_literal(x, op - 0xd0, a, b, (int16_t)second);
    if (op >= 0x90)
        return interpret_binary(x, op - 0x90, aa, second & 0xff, second >> 8);
    x->registers[aa] = interpret_cmp(x, op, second & 0xff, second >> 8);
    return true;
}
