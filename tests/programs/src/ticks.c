/* Ticks only: a library to preload that gives each thread of a program a clock of its CPU time, as a recording at 1
 * ms does, and an empty handler for the clock's signal. No tracer that samples threads by such signals can cost less
 * (tests/programs/run.sh --floor).
 *
 * Threads that are started by a raw clone(2) have no clock. In programs that use the last real-time signal the
 * clocks do not work. */
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PERIOD_NS = 1000000, DESCRIPTOR_MIN = 300 }; /* beyond the program's own descriptors */

typedef int create_fn(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

struct start {
    void *(*routine)(void *);
    void *arg;
};

static void on_tick(int number)
{
    (void)number;
}

/* If the system refuses a clock, the thread has no ticks. */
static void start_clock(void)
{
    struct perf_event_attr event = {
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof event,
        .config = PERF_COUNT_SW_TASK_CLOCK,
        .sample_period = PERIOD_NS,
        .wakeup_events = 1,
        .disabled = 1,
        .exclude_kernel = 1,
        .exclude_hv = 1,
    };
    struct f_owner_ex owner = {F_OWNER_TID, (pid_t)syscall(SYS_gettid)};
    int low = (int)syscall(SYS_perf_event_open, &event, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    int fd = low < 0 ? -1 : fcntl(low, F_DUPFD_CLOEXEC, DESCRIPTOR_MIN);
    if (low >= 0)
        close(low);
    if (fd < 0)
        return;
    fcntl(fd, F_SETFL, O_ASYNC | O_NONBLOCK);
    fcntl(fd, F_SETSIG, SIGRTMAX);
    fcntl(fd, F_SETOWN_EX, &owner);
    ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
}

static void *run(void *p)
{
    struct start start = *(struct start *)p;
    free(p);
    start_clock();
    return start.routine(start.arg);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*routine)(void *), void *arg)
{
    create_fn *create;
    *(void **)&create = dlsym(RTLD_NEXT, "pthread_create");
    struct start *start = malloc(sizeof *start);
    if (!start)
        return create(thread, attributes, routine, arg);
    *start = (struct start){routine, arg};
    return create(thread, attributes, run, start);
}

__attribute__((constructor)) static void begin(void)
{
    struct sigaction action = {.sa_handler = on_tick, .sa_flags = SA_RESTART};
    sigaction(SIGRTMAX, &action, NULL);
    pthread_atfork(NULL, NULL, start_clock);
    start_clock();
}
