/* A program for `strobe attach`, with threads that are in one state most of the time. It runs until its standard input
 * ends, and then prints `sound`, or the number of things that went wrong in it.
 *
 *   states STATE [THREADS]     0 threads (the default): the main thread itself is in the state
 *
 * `handler` stays in a signal handler until the input ends. `block` begins a call without an end on USR2, and `cond` a
 * wait for a condition that comes only at the end. USR1 makes the program execute /bin/cat instead, with its standard
 * input, and TERM ends it by _exit(5). */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WAIT_MS = 20, BLOCKS = 64 };

static atomic_bool done;
static atomic_uint faults, ticks;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;

static void expect(bool holds)
{
    if (!holds)
        atomic_fetch_add(&faults, 1);
}

static uint64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

__attribute__((noinline)) uint64_t compute_sum(uint64_t n)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < n; i++)
        sum += i * i ^ sum >> 3;
    return sum;
}

/* The sums in floating-point registers are wrong when these are not restored. */
__attribute__((noinline)) static void spin(void)
{
    double sums[8] = {0};
    volatile uint64_t sink = compute_sum(10000);
    (void)sink;
    for (int i = 0; i < 20000; i++)
        for (int k = 0; k < 8; k++)
            sums[k] += k + 0.5;
    for (int k = 0; k < 8; k++)
        expect(sums[k] == 20000 * (k + 0.5));
}

/* A wait that ends early or with an error is a fault. */
static void sleep_exactly(void)
{
    struct timespec t = {0, WAIT_MS * 1000000};
    uint64_t begin = now_ms();
    expect(nanosleep(&t, NULL) == 0);
    expect(poll(NULL, 0, WAIT_MS) == 0);
    expect(now_ms() - begin >= 2 * WAIT_MS);
}

static void wait_for_events(void)
{
    static _Thread_local int set = -1;
    struct epoll_event event;
    if (set < 0)
        set = epoll_create1(EPOLL_CLOEXEC);
    uint64_t begin = now_ms();
    expect(epoll_wait(set, &event, 1, WAIT_MS) == 0);
    expect(now_ms() - begin >= WAIT_MS - 1);
}

static void allocate(void)
{
    unsigned char *block[BLOCKS];
    for (int i = 0; i < BLOCKS; i++) {
        block[i] = malloc((size_t)(i * 97 + 1));
        memset(block[i], i, (size_t)(i * 97 + 1));
    }
    for (int i = 0; i < BLOCKS; i++) {
        expect(block[i][i * 97] == i);
        free(block[i]);
    }
    volatile uint64_t sink = compute_sum(20000); /* else the thread is nearly always in the allocator */
    (void)sink;
}

static void load(void)
{
    void *library = dlopen("libm.so.6", RTLD_NOW);
    expect(library && dlsym(library, "cos") && dlclose(library) == 0);
}

static void wait_for_cond(void)
{
    pthread_mutex_lock(&mutex);
    while (!atomic_load(&done))
        pthread_cond_wait(&cond, &mutex);
    pthread_mutex_unlock(&mutex);
}

static void *return_argument(void *argument)
{
    return argument;
}

static void make_thread(void)
{
    pthread_t thread;
    void *result = NULL;
    if (pthread_create(&thread, NULL, return_argument, &mutex) == 0)
        expect(pthread_join(thread, &result) == 0 && result == &mutex);
}

static void fork_child(void)
{
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        free(malloc(1000));
        _exit(7);
    }
    expect(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

/* The interval timer's signal interrupts the computation in a handler that computes itself. */
static void on_tick(int number)
{
    (void)number;
    volatile uint64_t sink = compute_sum(100000);
    (void)sink;
    atomic_fetch_add(&ticks, 1);
}

static void handle_signals(void)
{
    static atomic_bool started;
    if (!atomic_exchange(&started, true)) {
        struct sigaction act = {.sa_handler = on_tick, .sa_flags = SA_RESTART};
        struct itimerval timer = {{0, 1000}, {0, 1000}};
        sigaction(SIGPROF, &act, NULL);
        setitimer(ITIMER_PROF, &timer, NULL);
    }
    spin();
}

static void on_exec(int number)
{
    (void)number;
    execl("/bin/cat", "cat", (char *)NULL);
    _exit(9);
}

static void on_exit_request(int number)
{
    (void)number;
    _exit(5);
}

/* After the signal USR2 a thread begins a call that returns only when the program ends. */
static atomic_bool blocks;
static int never[2];

static void on_block(int number)
{
    (void)number;
    atomic_store(&blocks, true);
}

static void block_in_call(void)
{
    char c;
    if (atomic_load(&blocks))
        expect(read(never[0], &c, 1) == 0);
    else
        usleep(1000);
}

static void block_in_wait(void)
{
    if (atomic_load(&blocks))
        wait_for_cond();
    else
        usleep(1000);
}

static void wait_for_input(void)
{
    for (char c; read(0, &c, 1) > 0;)
        continue;
}

static void wait_in_handler(int number)
{
    (void)number;
    wait_for_input();
    atomic_store(&done, true);
}

static void stay_in_handler(void)
{
    signal(SIGUSR1, wait_in_handler);
    raise(SIGUSR1);
}

static const struct {
    const char *name;
    void (*step)(void);
} states[] = {
    {"spin", spin},
    {"sleep", sleep_exactly},
    {"events", wait_for_events},
    {"malloc", allocate},
    {"load", load},
    {"idle", wait_for_cond},
    {"threads", make_thread},
    {"fork", fork_child},
    {"signals", handle_signals},
    {"handler", stay_in_handler},
    {"block", block_in_call},
    {"cond", block_in_wait},
};

static void (*step)(void);

static void *run_steps(void *unused)
{
    while (!atomic_load(&done))
        step();
    return unused;
}

/* The main thread takes its steps until the input ends. */
static void run_main(void)
{
    struct pollfd input = {0, POLLIN, 0};
    while (!atomic_load(&done)) {
        step();
        if (poll(&input, 1, 0) > 0)
            atomic_store(&done, true);
    }
}

int main(int argc, char **argv)
{
    int count = argc > 2 ? atoi(argv[2]) : 0;
    pthread_t *threads = calloc((size_t)count + 1, sizeof *threads);
    pthread_attr_t attributes;
    for (size_t i = 0; i < sizeof states / sizeof *states && argc > 1; i++)
        if (!strcmp(argv[1], states[i].name))
            step = states[i].step;
    if (!step)
        return 2;
    signal(SIGUSR1, on_exec);
    signal(SIGUSR2, on_block);
    signal(SIGTERM, on_exit_request);
    if (pipe(never) != 0)
        return 3;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 128 * 1024);
    for (int i = 0; i < count; i++)
        if (pthread_create(&threads[i], &attributes, run_steps, NULL) != 0)
            return 3;
    puts("ready");
    fflush(stdout);
    if (count)
        wait_for_input();
    else
        run_main();
    atomic_store(&done, true);
    close(never[1]);
    pthread_mutex_lock(&mutex);
    pthread_cond_broadcast(&cond);
    pthread_mutex_unlock(&mutex);
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    printf(atomic_load(&faults) ? "%u faults\n" : "sound\n", atomic_load(&faults));
    return atomic_load(&faults) != 0;
}
