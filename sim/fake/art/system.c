#include "sim/fake/art/system.h"

#include "sim/fake/art/fake.h"
#include "sim/fake/art/thread.h"

#include <stdio.h>
#include <stdlib.h>

static const struct fake_system *on = &fake_pthreads;

void **fake_use_system(const struct fake_system *system)
{
    on = system;
    return (void **)(void *)&fake_thread_self;
}

void fake_mutex_init(struct fake_mutex *m)
{
    on->mutex_init(m);
}
void fake_mutex_lock(struct fake_mutex *m)
{
    on->mutex_lock(m);
}
bool fake_mutex_trylock(struct fake_mutex *m)
{
    return on->mutex_trylock(m);
}
void fake_mutex_unlock(struct fake_mutex *m)
{
    on->mutex_unlock(m);
}
void fake_cond_init(struct fake_cond *c)
{
    on->cond_init(c);
}
void fake_cond_signal(struct fake_cond *c)
{
    on->cond_signal(c);
}
void fake_cond_broadcast(struct fake_cond *c)
{
    on->cond_broadcast(c);
}
uint64_t fake_now_ns(void)
{
    return on->now_ns();
}
uint32_t fake_tid(void)
{
    return on->tid();
}
void fake_yield(void)
{
    on->yield();
}
void fake_system_name(const char *name)
{
    on->set_name(name);
}
uintptr_t fake_stack_low(void)
{
    return on->stack_low();
}

void fake_system_collecting(void)
{
    if (on->collecting)
        on->collecting();
}

bool fake_cond_wait(struct fake_cond *c, struct fake_mutex *m, uint64_t deadline_ns)
{
    return on->cond_wait(c, m, deadline_ns);
}

bool fake_system_thread(void (*run)(void *), void *arg, size_t stack_bytes)
{
    return on->start_thread(run, arg, stack_bytes);
}

_Noreturn void fake_check_failed(const char *what, const char *file, int line)
{
    fprintf(stderr, "%s:%d: check failed: %s\n", file, line, what);
    abort();
}
