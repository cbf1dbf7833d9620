#include "engine/backend/mach/flight_thread.h"

#include "engine/backend/mach/control_thread.h"
#include "engine/backend/mach/events.h"

#include <time.h>

enum { WAIT_STEP_MS = 50 };

/* The system has no published call that waits for a word and can be ended in a signal handler. */
static void await_flight_word(strobe_a32 *word, uint32_t value, int ms)
{
    for (int waited = 0; strobe_load_acquire(word) == value && (ms < 0 || waited < ms); waited += WAIT_STEP_MS) {
        struct timespec step = {0, WAIT_STEP_MS * 1000000L};
        nanosleep(&step, NULL);
        waited = ms < 0 ? 0 : waited;
    }
}

static void wake_no_thread(strobe_a32 *word)
{
    (void)word;
}

static uint32_t mach_flight_port(void)
{
    return pthread_mach_thread_np(pthread_self());
}

static bool run_mach_flight_thread(void (*work)(void))
{
    static struct strobe_mach_own_work own = {.name = "strobe-flight"};
    return strobe_mach_run_own_work(&own, work);
}

const struct strobe_flight_backend strobe_mach_flight = {
    .ticks = strobe_mach_now,
    .wait = await_flight_word,
    .wake = wake_no_thread,
    .run_thread = run_mach_flight_thread,
    .thread_id = mach_flight_port,
    .read_device = strobe_flight_read_kernel,
};
