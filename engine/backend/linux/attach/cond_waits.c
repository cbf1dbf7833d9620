#include "engine/backend/linux/attach/cond_waits.h"

#include "engine/backend/linux/preload/real.h"
#include "engine/capture/thread.h"

#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { FREE, TAKEN, WAITING, PINNED };
enum { WAITS = 4096, PROBES_MAX = 64, PIN_NS = 100 * 1000 };
enum { MUTEX_ROBUST = 16 }; /* in the C library's kinds of mutexes */

static struct strobe_cond_wait waits[WAITS];

struct strobe_cond_wait *strobe_cond_wait_begin(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
    uintptr_t thread = (uintptr_t)&strobe_local;
    for (uintptr_t i = 0; i < PROBES_MAX; i++) {
        struct strobe_cond_wait *w = &waits[((thread >> 8 ^ thread >> 12) + i) % WAITS];
        uint32_t none = FREE;
        if (!strobe_cas_acquire(&w->state, &none, TAKEN))
            continue;
        w->cond = cond;
        w->mutex = mutex;
        strobe_store_release(&w->state, WAITING);
        return w;
    }
    return NULL;
}

/* An asynchronous cancellation may unwind a hook at an instruction at which *wait is not set: it then holds any value,
 * which is no entry. */
void strobe_cond_wait_end(struct strobe_cond_wait *const *wait)
{
    struct timespec pause = {0, PIN_NS};
    if ((uintptr_t)*wait - (uintptr_t)waits >= sizeof waits)
        return;
    for (uint32_t waiting = WAITING; !strobe_cas_acq_rel(&(*wait)->state, &waiting, FREE); waiting = WAITING)
        syscall(SYS_nanosleep, &pause, NULL);
}

static void wake_waiters(const struct strobe_cond_wait *w)
{
    struct strobe_real *real = strobe_real();
    if (w->mutex->__data.__kind & MUTEX_ROBUST || real->pthread_mutex_trylock(w->mutex) != 0)
        return;
    real->pthread_cond_broadcast(w->cond);
    real->pthread_mutex_unlock(w->mutex);
}

void strobe_cond_waits_wake(void)
{
    for (uint32_t i = 0; i < WAITS; i++) {
        uint32_t waiting = WAITING;
        if (strobe_load_relaxed(&waits[i].state) != WAITING || !strobe_cas_acq_rel(&waits[i].state, &waiting, PINNED))
            continue;
        wake_waiters(&waits[i]);
        strobe_store_release(&waits[i].state, WAITING);
    }
}
