/* Replaces sim/player/work.c in virtual time, except the device (device.c). */
#include "sim/player/work.h"

#include "sim/kernel/kernel.h"
#include "sim/player/virtual/posix.h"

#include <sys/mman.h>

bool sim_work_begin(void)
{
    return true;
}

uint64_t sim_work_now_ns(void)
{
    return sim_posix_now_ns();
}

/* sim_work_do ignores the turns: work takes exactly its amount. */
uint64_t sim_work_calibrate(void)
{
    return 1;
}

void sim_work_do(uint64_t ns, uint64_t turns_per_ms)
{
    (void)turns_per_ms;
    if (ns)
        sim_compute(ns);
}

uint64_t sim_work_thread_cpu_ns(void)
{
    return sim_cpu_ns(sim_self());
}

uint64_t sim_work_cpu_ns_of(uint32_t tid)
{
    const struct sim_posix_thread *t = sim_posix_thread_of(tid);
    return t ? sim_cpu_ns(t->thread) : 0;
}

uint64_t sim_work_process_cpu_ns(void)
{
    return sim_posix_cpu_ns();
}

const struct sim_work_limits sim_work_limits = {.wait_ns = 1, .block_ns = 1, .exact = true};

struct sim_work_switches sim_work_switches(void)
{
    const struct sim_thread *t = sim_self();
    return (struct sim_work_switches){.voluntary = sim_posix_voluntary(sim_posix_self()),
                                      .involuntary = t->involuntary_switches};
}

void sim_work_sleep_until(uint64_t deadline_ns)
{
    if (deadline_ns > sim_posix_now_ns())
        sim_sleep_until(deadline_ns - SIM_POSIX_ORIGIN_NS);
}

struct timespec sim_work_time_in(uint64_t span_ns)
{
    uint64_t ns = sim_posix_now_ns() + span_ns;
    return (struct timespec){(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
}

/* One condition serves all words, because the player waits for few words and always with a deadline. */
static struct sim_mutex guard;
static struct sim_cond changed;

void sim_work_wait(const void *word, uint32_t value, uint64_t deadline_ns)
{
    uint64_t now = sim_posix_now_ns();
    sim_mutex_lock(&guard);
    if (*(const volatile uint32_t *)word == value && deadline_ns > now)
        sim_cond_wait(&changed, &guard, deadline_ns - now);
    sim_mutex_unlock(&guard);
}

void sim_work_wake(const void *word)
{
    (void)word;
    sim_mutex_lock(&guard);
    sim_cond_notify_all(&changed);
    sim_mutex_unlock(&guard);
}

void sim_work_yield(void)
{
    sim_posix_yield();
}

/* Memory costs no virtual time. */
void sim_work_reserve(uint32_t threads)
{
    (void)threads;
}

void *sim_work_pages(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

void sim_work_free_pages(void *pages, size_t bytes)
{
    munmap(pages, bytes);
}
