/* os_unfair_lock: the owner's port name. Its lowest bit is cleared when a thread waits. */
#include "sim/fake/mach/kernel.h"

#include <stdlib.h>
#include <unistd.h>

enum { NOBODY_WAITS = 1 };

static _Thread_local struct {
    uint64_t id;
    uint32_t name;
} mine;

static uint32_t own_name(void)
{
    uint64_t id = fake_on->self();
    if (mine.id != id) {
        fake_into();
        mine.name = fake_thread_name_of(id);
        fake_on->leave();
        mine.id = id;
    }
    return mine.name;
}

static _Atomic uint32_t *unfair_lock_word(os_unfair_lock_t lock)
{
    return (_Atomic uint32_t *)(void *)&lock->_os_unfair_lock_opaque;
}

_Noreturn static void misused(const char *how, size_t bytes)
{
    if (write(2, how, bytes) < 0)
        abort();
    abort();
}

bool os_unfair_lock_trylock(os_unfair_lock_t lock)
{
    uint32_t nobody = 0;
    return atomic_compare_exchange_strong(unfair_lock_word(lock), &nobody, own_name());
}

void os_unfair_lock_lock(os_unfair_lock_t lock)
{
    static const char recursive[] = "os_unfair_lock: locked by its owner\n";
    _Atomic uint32_t *word = unfair_lock_word(lock);
    uint32_t name = own_name(), seen = 0, wanted = name;
    while (!atomic_compare_exchange_strong(word, &seen, wanted)) {
        if ((seen | NOBODY_WAITS) == name)
            misused(recursive, sizeof recursive - 1);
        uint32_t waited_for = seen & ~(uint32_t)NOBODY_WAITS;
        if (seen && (seen == waited_for || atomic_compare_exchange_strong(word, &seen, waited_for)))
            fake_wait_on(word, waited_for, UINT64_MAX);
        wanted = name & ~(uint32_t)NOBODY_WAITS; /* other threads may wait, too */
        seen = 0;
    }
}

void os_unfair_lock_unlock(os_unfair_lock_t lock)
{
    static const char foreign[] = "os_unfair_lock: unlocked by another than its owner\n";
    uint32_t was = atomic_exchange(unfair_lock_word(lock), 0);
    if ((was | NOBODY_WAITS) != own_name())
        misused(foreign, sizeof foreign - 1);
    if (!(was & NOBODY_WAITS))
        fake_on->wake(unfair_lock_word(lock));
}
