#include "engine/cmd/interrupts.h"

#include "engine/util/outfile.h"

#include <signal.h>
#include <stddef.h>
#include <time.h>

static volatile uint64_t from;

uint64_t strobe_interrupts_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The default action takes effect when the handler returns. */
static void end_cleanly(int number)
{
    struct sigaction by_default = {.sa_handler = SIG_DFL};
    if (strobe_interrupts_now_ns() < from)
        return;
    strobe_outfile_abandon();
    sigaction(number, &by_default, NULL);
    raise(number);
}

void strobe_interrupts_clean(uint64_t from_ns)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction end = {.sa_handler = end_cleanly, .sa_flags = SA_RESTART}, now;
    from = from_ns;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (sigaction(numbers[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
            sigaction(numbers[i], &end, NULL);
}
