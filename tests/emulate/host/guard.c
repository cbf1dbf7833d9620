#include "tests/emulate/host/kernel.h"

#include <stdio.h>
#include <string.h>

/* Functions of libSystem that take no lock, allocate no memory, and send no message that could wait for the
 * suspended thread. */
static const char *const harmless[] = {
    "mach_task_self",
    "thread_suspend",
    "thread_resume",
    "thread_get_state",
    "thread_info",
    "vm_read_overwrite",
    "mach_absolute_time",
    "mach_wait_until",
    "memcpy",
    "memmove",
    "memset",
    "bzero",
    "memcmp",
    "memchr",
    "strlen",
    "strnlen",
    "strcmp",
    "strncmp",
    "pthread_self",
    "pthread_getspecific",
    "__error",
};

enum { LIBSYSTEM = 0, WORDS_MAX = 1 << 15, FRAMES_MAX = 64 };

/* One bit per instruction of libSystem: set where a function begins that is not harmless. */
static uint64_t forbidden[WORDS_MAX / 64];

static bool is_harmless(const char *name)
{
    for (size_t i = 0; i < sizeof harmless / sizeof harmless[0]; i++)
        if (!strcmp(name, harmless[i]))
            return true;
    return false;
}

void guard_init(struct kernel *k)
{
    const struct image *i = &k->images.list[LIBSYSTEM];
    for (size_t s = 0; s < i->symbol_count; s++) {
        uint64_t at = (i->symbols[s].address - i->header) / 4;
        if (i->symbols[s].exported && at < WORDS_MAX && !is_harmless(i->symbols[s].name))
            forbidden[at / 64] |= UINT64_C(1) << at % 64;
    }
}

bool guard_forbids(const struct kernel *k, uint64_t pc)
{
    uint64_t at = (pc - k->images.list[LIBSYSTEM].header) / 4;
    return at < WORDS_MAX && forbidden[at / 64] >> at % 64 & 1;
}

/* ---- cycles of waiting threads */

static struct thread *owner_of(struct kernel *k, const struct thread *t)
{
    const struct port *p = t->state == THREAD_WAITS && t->wait_word ? kernel_port(k, t->wait_owner) : NULL;
    return p && p->kind == PORT_THREAD ? p->thread : NULL;
}

/* Returns the thread without which `t` cannot continue; NULL when there is none, or when time ends its wait. */
static struct thread *waits_for(struct kernel *k, const struct thread *t)
{
    if (t->state == THREAD_WAITS && t->wait_until_ns != NEVER)
        return NULL;
    struct thread *owner = owner_of(k, t);
    return owner ? owner : t->suspends ? t->suspender : NULL;
}

void guard_check_circle(struct kernel *k, struct thread *t)
{
    struct thread *at = waits_for(k, t);
    for (size_t steps = 0; at && at != t && steps < k->thread_count; steps++)
        at = waits_for(k, at);
    if (at != t)
        return;
    fputs("DEADLOCK:\n", stderr);
    do {
        struct thread *next = waits_for(k, at);
        fprintf(stderr, "  thread %llu \"%s\" ", (unsigned long long)at->id, at->name);
        if (owner_of(k, at)) {
            uint64_t offset = 0;
            const struct image_symbol *s = image_symbol_of(&k->images, at->wait_word, &offset);
            fprintf(stderr, "waits for the lock %s at %#llx, which thread %llu owns\n", s ? s->name : "?",
                    (unsigned long long)at->wait_word, (unsigned long long)next->id);
        } else {
            fprintf(stderr, "is suspended by thread %llu\n", (unsigned long long)next->id);
        }
        guard_print_stack(k, at);
        at = next;
    } while (at != t);
    kernel_end(k, RUN_DEADLOCK, "  these wait for each other for ever");
}

void guard_print_stack(const struct kernel *k, const struct thread *t)
{
    uint64_t pc = kernel_register(k, t, UC_ARM64_REG_PC), fp = kernel_register(k, t, UC_ARM64_REG_X29);
    for (int depth = 0; depth < FRAMES_MAX && pc; depth++) {
        uint64_t offset = 0, record[2];
        const struct image_symbol *s = image_symbol_of(&k->images, pc, &offset);
        fprintf(stderr, "    %#llx %s+%llu\n", (unsigned long long)pc, s ? s->name : "?", (unsigned long long)offset);
        if (!machine_read(&k->machine, fp, record, sizeof record) || record[0] <= fp)
            break;
        pc = record[1];
        fp = record[0];
    }
}
