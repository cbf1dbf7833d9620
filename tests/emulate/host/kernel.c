#include "tests/emulate/host/kernel.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GENERATIONS = 64, ENDING_NS = 20000 };

uint64_t kernel_draw(struct kernel *k, uint64_t below)
{
    k->random ^= k->random << 13;
    k->random ^= k->random >> 7;
    k->random ^= k->random << 17;
    return (k->random * UINT64_C(0x2545f4914f6cdd1d) >> 16) % below;
}

/* ---- time */

static uint64_t slice_ns(const struct kernel *k)
{
    return (k->drawn - k->budget) * k->ns_per_instruction;
}

uint64_t kernel_now(const struct kernel *k)
{
    return k->now_ns + slice_ns(k) / (k->side_by_side ? k->side_by_side : 1);
}

uint64_t kernel_cpu(const struct kernel *k, const struct thread *t)
{
    return t->cpu_ns + (t == k->current ? slice_ns(k) : 0);
}

void kernel_end(struct kernel *k, enum outcome outcome, const char *format, ...)
{
    if (k->over)
        return;
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    k->over = true;
    k->outcome = outcome;
    if (k->current && outcome != RUN_DEADLOCK) {
        fprintf(stderr, "  by thread %llu \"%s\":\n", (unsigned long long)k->current->id, k->current->name);
        guard_print_stack(k, k->current);
    }
    uc_emu_stop(k->machine.uc);
}

/* ---- threads */

uint64_t kernel_register(const struct kernel *k, const struct thread *t, int id)
{
    uint64_t value = 0;
    if (t == k->current)
        return machine_register(&k->machine, id);
    uc_context_reg_read(t->context, id, &value);
    return value;
}

void kernel_set_register(const struct kernel *k, const struct thread *t, int id, uint64_t value)
{
    if (t == k->current)
        machine_set_register(&k->machine, id, value);
    else
        uc_context_reg_write(t->context, id, &value);
}

struct thread *kernel_add_thread(struct kernel *k, uint64_t pc, uint64_t argument, uint64_t sp, uint64_t pthread)
{
    struct thread *t = calloc(1, sizeof *t);
    if (!t || k->thread_count == THREADS_MAX || uc_context_alloc(k->machine.uc, &t->context))
        machine_die("no room for one more thread");
    uc_context_save(k->machine.uc, t->context);
    for (int x = UC_ARM64_REG_X0; x <= UC_ARM64_REG_X28; x++)
        kernel_set_register(k, t, x, 0);
    kernel_set_register(k, t, UC_ARM64_REG_X0, argument);
    kernel_set_register(k, t, UC_ARM64_REG_X29, 0);
    kernel_set_register(k, t, UC_ARM64_REG_X30, 0);
    kernel_set_register(k, t, UC_ARM64_REG_SP, sp);
    kernel_set_register(k, t, UC_ARM64_REG_PC, pc);
    kernel_set_register(k, t, UC_ARM64_REG_TPIDRRO_EL0, pthread);
    t->id = ++k->next_id;
    t->pthread = pthread;
    t->wait_until_ns = NEVER;
    k->threads[k->thread_count++] = t;
    return t;
}

void kernel_end_thread(struct kernel *k, struct thread *t)
{
    t->state = THREAD_ENDING;
    t->kernel_until_ns = kernel_now(k) + kernel_draw(k, ENDING_NS);
}

void kernel_retire_thread(struct kernel *k, struct thread *t)
{
    for (size_t i = 0; i < PORTS_MAX; i++)
        if (k->ports[i].kind == PORT_THREAD && k->ports[i].thread == t)
            k->ports[i].kind = PORT_DEAD;
    size_t i = 0;
    while (k->threads[i] != t)
        i++;
    memmove(&k->threads[i], &k->threads[i + 1], (--k->thread_count - i) * sizeof t);
    uc_context_free(t->context);
    t->context = NULL;
    t->state = THREAD_ENDED; /* not freed: other threads may still refer to it as their suspender */
}

int kernel_run_state(const struct thread *t)
{
    switch (t->state) {
    case THREAD_KERNEL: return TH_STATE_RUNNING;
    case THREAD_WAITS: return TH_STATE_WAITING;
    case THREAD_RUNS: return t->suspends ? TH_STATE_STOPPED : TH_STATE_RUNNING;
    default: return TH_STATE_HALTED;
    }
}

/* ---- port names */

mach_port_name_t kernel_take_right(struct kernel *k, struct thread *of)
{
    size_t free_index = PORTS_MAX;
    enum port_kind kind = of ? PORT_THREAD : PORT_TASK;
    for (size_t i = 0; i < PORTS_MAX; i++) {
        struct port *p = &k->ports[i];
        if (p->kind == kind && p->thread == of) {
            p->refs++;
            return (mach_port_name_t)((i + 1) << 8 | p->generation << 2 | 3);
        }
        if (p->kind == PORT_FREE && free_index == PORTS_MAX)
            free_index = i;
    }
    if (free_index == PORTS_MAX)
        machine_die("more than %d port names", PORTS_MAX);
    struct port *p = &k->ports[free_index];
    p->generation = (p->generation + 1) % GENERATIONS;
    p->kind = kind;
    p->thread = of;
    p->refs = 1;
    return (mach_port_name_t)((free_index + 1) << 8 | p->generation << 2 | 3);
}

struct port *kernel_port(struct kernel *k, mach_port_name_t name)
{
    size_t index = name >> 8;
    if (!index || index > PORTS_MAX)
        return NULL;
    struct port *p = &k->ports[index - 1];
    return p->kind != PORT_FREE && (name & 0xff) == (p->generation << 2 | 3) ? p : NULL;
}

uint32_t kernel_rights(const struct kernel *k)
{
    uint32_t sum = 0;
    for (size_t i = 0; i < PORTS_MAX; i++)
        if (k->ports[i].kind != PORT_FREE)
            sum += k->ports[i].refs;
    return sum;
}
