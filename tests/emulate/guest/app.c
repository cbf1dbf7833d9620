/* Apps that the library records: code with frame pointers that computes, recurses, calls through pointers,
 * allocates, takes locks, waits, starts and ends threads. Each function NAME_main is a separate program.
 *
 * Environment: EMULATED_SESSION, the file to record; EMULATED_MS, the duration; EMULATED_TURNS, the number of turns
 * of the exact thread; EMULATED_WITHOUT, bits of omitted hooks. */
#include "engine/backend/mach/mach.h"
#include "tests/emulate/guest/libsystem.h"

int app_main(void);
int lone_main(void);
int exact_main(void);
int churn_main(void);

enum { WORKERS = 4, BLOCK_BYTES = 100, TICKS_PER_MS = 24000, DEPTH = 6 };
#define APART __attribute__((noinline))

static uint32_t over;
static volatile uint64_t sink;
static os_unfair_lock unfair;
static pthread_mutex_t mutex;

/* ---- work of threads */

APART static uint64_t leaf(uint64_t n)
{
    uint64_t sum = n;
    for (int i = 0; i < 7; i++)
        sum = sum * 33 + n;
    return sum;
}

APART static uint64_t many(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f)
{
    uint64_t first = leaf(a ^ b), second = leaf(c ^ d), third = leaf(e ^ f);
    return first * a + second * c + third * e + leaf(first + second + third) + b * d * f;
}

/* Computes before it needs a frame, and in most calls needs none. */
APART static uint64_t late(uint64_t n)
{
    if (n % 4)
        return n * 3 + 1;
    uint64_t large[8];
    for (int i = 0; i < 8; i++)
        large[i] = leaf(n + (uint64_t)i);
    return large[n % 8] + many(n, n + 1, n + 2, n + 3, large[1], large[2]);
}

APART static uint64_t recurse(uint64_t depth)
{
    if (!depth)
        return leaf(depth);
    uint64_t below = recurse(depth - 1);
    return below + late(depth) + 1;
}

static uint64_t (*volatile steps[])(uint64_t) = {leaf, late, recurse};

APART static uint64_t by_pointer(uint64_t n)
{
    return steps[n % 2](n) + 1;
}

APART static void use_heap(uint64_t n)
{
    char *block = malloc(BLOCK_BYTES + n % 64);
    block[0] = (char)n;
    sink += (uint64_t)block[0];
    free(block);
}

APART static void use_locks(void)
{
    os_unfair_lock_lock(&unfair);
    sink += leaf(sink);
    os_unfair_lock_unlock(&unfair);
    pthread_mutex_lock(&mutex);
    sink += leaf(sink);
    pthread_mutex_unlock(&mutex);
}

APART static void one_turn(uint64_t n)
{
    sink += recurse(n % DEPTH) + by_pointer(n);
    if (n % 4 == 1)
        use_heap(n);
    if (n % 8 == 3)
        use_locks();
}

static void *work(void *name)
{
    pthread_setname_np(name);
    for (uint64_t n = 0; !__atomic_load_n(&over, __ATOMIC_RELAXED); n++)
        one_turn(n);
    return NULL;
}

static void *work_shortly(void *argument)
{
    for (uint64_t n = 0; n < 4; n++)
        one_turn(n + (uint64_t)argument);
    return NULL;
}

/* ---- programs */

/* A number from the environment; 0 when there is none. */
static uint64_t setting(const char *name)
{
    const char *text = getenv(name);
    uint64_t value = 0;
    for (; text && *text >= '0' && *text <= '9'; text++)
        value = value * 10 + (uint64_t)(*text - '0');
    return value;
}

static int begin(void)
{
    struct strobe_error error;
    struct strobe_mach_options options = {.without = (uint32_t)setting("EMULATED_WITHOUT")};
    options.session_path = getenv("EMULATED_SESSION");
    enum strobe_status status = strobe_mach_start(&options, NULL, &error);
    if (status != STROBE_OK)
        puts(error.text);
    return status != STROBE_OK;
}

static void pass(uint64_t ms)
{
    mach_wait_until(mach_absolute_time() + ms * TICKS_PER_MS);
}

/* Runs `count` threads for the whole time. */
static int run_workers(int count)
{
    static char *const names[] = {"worker 1", "worker 2", "worker 3", "worker 4"};
    pthread_t workers[WORKERS];
    for (int i = 0; i < count; i++)
        if (pthread_create(&workers[i], NULL, work, names[i]))
            return 1;
    pass(setting("EMULATED_MS"));
    __atomic_store_n(&over, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < count; i++)
        pthread_join(workers[i], NULL);
    return 0;
}

int app_main(void)
{
    if (begin() || run_workers(WORKERS))
        return 1;
    strobe_mach_stop();
    return 0;
}

/* Does not stop the capture, because the sampler may be lost. */
int lone_main(void)
{
    return begin() || run_workers(1);
}

static void *work_exactly(void *argument)
{
    pass(1); /* meanwhile the sampler has seen all other threads */
    pthread_setname_np("exact");
    for (uint64_t n = 0; n < (uint64_t)argument; n++)
        one_turn(n);
    pthread_setname_np("done");
    return NULL;
}

int exact_main(void)
{
    pthread_t one;
    if (begin() || pthread_create(&one, NULL, work_exactly, (void *)setting("EMULATED_TURNS")))
        return 1;
    pthread_join(one, NULL);
    strobe_mach_stop();
    return 0;
}

/* Threads start and end all the time, so names of ports, stacks and thread ids are reused. */
int churn_main(void)
{
    enum { SIDE_BY_SIDE = 6, ROUNDS = 40 };
    pthread_t threads[SIDE_BY_SIDE];
    if (begin())
        return 1;
    for (uintptr_t round = 0; round < ROUNDS; round++) {
        for (uintptr_t i = 0; i < SIDE_BY_SIDE; i++)
            if (pthread_create(&threads[i], NULL, work_shortly, (void *)(round + i)))
                return 1;
        for (uintptr_t i = 0; i < SIDE_BY_SIDE; i++)
            pthread_join(threads[i], NULL);
    }
    strobe_mach_stop();
    return 0;
}
