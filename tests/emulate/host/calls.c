
#include "tests/emulate/host/kernel.h"

#include <errno.h>
#include <string.h>

enum { TICKS_NUMERATOR = 3, TICKS_DENOMINATOR = 125, NAME_BYTES = 128, GUEST_PID = 4711 };

static uint64_t ticks_of(uint64_t ns)
{
    return ns / TICKS_DENOMINATOR * TICKS_NUMERATOR + ns % TICKS_DENOMINATOR * TICKS_NUMERATOR / TICKS_DENOMINATOR;
}

/* Returns the first ns at which `ticks` have passed. */
static uint64_t ns_of(uint64_t ticks)
{
    return (ticks * TICKS_DENOMINATOR + TICKS_NUMERATOR - 1) / TICKS_NUMERATOR;
}

/* ---- waits */

static bool wait_for_word(struct kernel *k, struct thread *t, const struct call *c, uint64_t *answer)
{
    uint32_t now;
    *answer = 0;
    if (!machine_read(&k->machine, c->a[0], &now, sizeof now)) {
        *answer = (uint64_t) - (int64_t)EFAULT;
        return true;
    }
    if (now != (uint32_t)c->a[1])
        return true;
    t->state = THREAD_WAITS;
    t->wait_word = c->a[0];
    t->wait_until_ns = c->a[2] ? kernel_now(k) + c->a[2] : NEVER;
    t->wait_owner = (mach_port_name_t)c->a[3];
    if (k->graph)
        guard_check_circle(k, t);
    return false;
}

static void wake(struct kernel *k, uint64_t word, bool all)
{
    for (size_t i = 0; i < k->thread_count; i++) {
        struct thread *t = k->threads[i];
        if (t->state != THREAD_WAITS || t->wait_word != word)
            continue;
        t->state = THREAD_RUNS;
        t->wait_word = 0;
        t->wait_owner = 0;
        t->wait_until_ns = NEVER;
        kernel_set_register(k, t, UC_ARM64_REG_X0, 0);
        if (!all)
            return;
    }
}

static bool wait_until(struct kernel *k, struct thread *t, uint64_t ns)
{
    if (ns <= kernel_now(k))
        return true;
    t->state = THREAD_WAITS;
    t->wait_until_ns = ns;
    return false;
}

/* ---- threads' own */

static uint64_t create(struct kernel *k, const struct call *c)
{
    struct thread *t = kernel_add_thread(k, c->a[0], c->a[1], c->a[2], c->a[3]);
    return kernel_take_right(k, t);
}

static void terminate(struct kernel *k, struct thread *t, const struct call *c)
{
    uint32_t ended = 1;
    machine_unmap(&k->machine, c->a[0], c->a[1]);
    struct port *p = kernel_port(k, (mach_port_name_t)c->a[2]);
    if (p && --p->refs == 0)
        p->kind = PORT_FREE;
    machine_write(&k->machine, c->a[3], &ended, sizeof ended);
    wake(k, c->a[3], true);
    kernel_end_thread(k, t);
}

static uint64_t set_name(struct kernel *k, struct thread *t, const struct call *c)
{
    machine_text(&k->machine, c->a[0], t->name, sizeof t->name);
    if (k->observer && k->observer->named)
        k->observer->named(k, t);
    return 0;
}

/* ---- the process */

static uint64_t environment(struct kernel *k, const struct call *c)
{
    char name[NAME_BYTES];
    machine_text(&k->machine, c->a[0], name, sizeof name);
    size_t length = strlen(name);
    for (const char *const *e = k->environment; *e; e++)
        if (!strncmp(*e, name, length) && (*e)[length] == '=') {
            const char *value = *e + length + 1;
            if (strlen(value) < c->a[2] && machine_write(&k->machine, c->a[1], value, strlen(value) + 1))
                return 0;
        }
    return (uint64_t) - (int64_t)ENOENT;
}

static uint64_t image_fact(struct kernel *k, const struct call *c)
{
    if (c->a[1] == IMAGE_COUNT)
        return k->images.count;
    if (c->a[0] >= k->images.count)
        return 0;
    const struct image *i = &k->images.list[c->a[0]];
    if (c->a[1] == IMAGE_HEADER)
        return i->header;
    return machine_write(&k->machine, c->a[2], i->path, strlen(i->path) + 1);
}

static uint64_t symbol_address(struct kernel *k, const struct call *c)
{
    char name[NAME_BYTES];
    machine_text(&k->machine, c->a[0], name, sizeof name);
    return image_find(&k->images, name);
}

static void unknown(struct kernel *k, const struct call *c)
{
    size_t index = c->number - EMULATED_UNKNOWN_IMPORT;
    if (index < k->images.stand_in_count)
        kernel_end(k, RUN_BROKEN, "call of %s, which the guest's libSystem does not have", k->images.stand_ins[index]);
    else
        kernel_end(k, RUN_BROKEN, "system call %llu, which the emulated kernel does not have",
                   (unsigned long long)c->number);
}

bool calls_perform(struct kernel *k, struct thread *t, const struct call *c, uint64_t *answer)
{
    *answer = 0;
    if (c->number < sizeof k->calls / sizeof k->calls[0])
        k->calls[c->number]++;
    if (c->number >= CALL_TASK_THREADS && c->number <= CALL_TASK_INFO) {
        *answer = threads_answer(k, t, c);
        return !k->over;
    }
    if ((c->number >= CALL_VM_READ_OVERWRITE && c->number <= CALL_VM_PROTECT) ||
        (c->number >= CALL_OPEN && c->number <= CALL_MPROTECT)) {
        *answer = memory_answer(k, t, c);
        return true;
    }
    switch (c->number) {
    case CALL_ABSOLUTE_TIME: *answer = ticks_of(kernel_now(k)); return true;
    case CALL_CLOCK_NS: *answer = c->a[0] ? kernel_cpu(k, t) : kernel_now(k); return true;
    case CALL_WAIT_UNTIL: return wait_until(k, t, ns_of(c->a[0]));
    case CALL_YIELD: return true;
    case CALL_THREAD_CREATE: *answer = create(k, c); return true;
    case CALL_THREAD_TERMINATE: terminate(k, t, c); return false;
    case CALL_THREAD_NAME: *answer = set_name(k, t, c); return true;
    case CALL_THREAD_ID: *answer = t->id; return true;
    case CALL_ULOCK_WAIT: return wait_for_word(k, t, c, answer);
    case CALL_ULOCK_WAKE: wake(k, c->a[0], c->a[1]); return true;
    case CALL_ENVIRONMENT: *answer = environment(k, c); return true;
    case CALL_IMAGE: *answer = image_fact(k, c); return true;
    case CALL_SYMBOL: *answer = symbol_address(k, c); return true;
    case CALL_GETPID: *answer = GUEST_PID; return true;
    case CALL_EXIT:
        k->over = true;
        k->status = c->a[0];
        return false;
    default: unknown(k, c); return false;
    }
}
