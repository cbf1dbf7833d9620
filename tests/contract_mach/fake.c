/* Runs the Mach rules on the lab's fake: contract_mach [xnu|gnu]. The threads are real ones. This file is also compiled
 * for virtual threads; see virtual.c. */
#include "tests/contract_mach/fake.h"
#include "sim/fake/mach/kernel.h"
#include "tests/contract_mach/rules.h"
#include "tests/support/sanitizers.h"

#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { NO_FRAMES = THREAD_SANITIZER };

struct slot {
    pthread_t thread;
    uint64_t id;
    void (*f)(void *);
    void *arg;
};
static struct slot slots[MACH_RULES_THREADS];
static sem_t woken;
void (*contract_mach_work)(void);

static void *run(void *p)
{
    struct slot *s = p;
    s->f(s->arg);
    return NULL;
}

static bool start(unsigned i, void (*f)(void *), void *arg)
{
    slots[i].f = f;
    slots[i].arg = arg;
    return pthread_create(&slots[i].thread, NULL, run, &slots[i]) == 0 &&
           pthread_threadid_np(slots[i].thread, &slots[i].id) == 0;
}

/* pthread_join returns a moment before the thread has ended in the kernel's view. */
static void join(unsigned i)
{
    pthread_join(slots[i].thread, NULL);
    enum fake_mach_where where;
    do {
        fake_on->lock();
        where = fake_on->where(slots[i].id);
        fake_on->unlock();
    } while (where != FAKE_MACH_GONE && usleep(100) == 0);
}

static void pass(unsigned ms)
{
    mach_wait_until(mach_absolute_time() + fake_ticks(ms * UINT64_C(1000000)));
}

static void wait_once(void)
{
    fake_mach_in_kernel(true, true);
    while (sem_wait(&woken) != 0)
        ;
    fake_mach_in_kernel(false, false);
}

static void wake(void)
{
    sem_post(&woken);
}
static void print(const char *text)
{
    fputs(text, stdout);
}

int main(int argc, char **argv)
{
    bool gnu = argc > 1 && strcmp(argv[1], "gnu") == 0;
    struct mach_rules_env env = {.kernel = gnu ? MACH_RULES_GNU : MACH_RULES_XNU,
                                 .start = start,
                                 .join = join,
                                 .pass = pass,
                                 .wait = wait_once,
                                 .wake = wake,
                                 .work = contract_mach_work,
                                 .no_frames = NO_FRAMES,
                                 .print = print,
                                 .page_bytes = (vm_size_t)sysconf(_SC_PAGESIZE)};
    setvbuf(stdout, NULL, _IOLBF, 0);
    sem_init(&woken, 0, 0);
    fake_mach_kernel(gnu ? FAKE_MACH_GNU : FAKE_MACH_XNU);
    struct mach_rules_result result = mach_rules_run(&env);
    printf("%u passed, %u failed, %u skipped\n", result.passed, result.failed, result.skipped);
    return result.failed > 0;
}
