/* The table of Mach rules (tests/contract_mach) on the emulated kernel. */
#include "tests/contract_mach/rules.h"
#include "tests/emulate/guest/libsystem.h"

int rules_main(void);

enum { PAGE_BYTES = 0x4000, TICKS_PER_MS = 24000 };

static struct start {
    void (*f)(void *);
    void *arg;
} starts[MACH_RULES_THREADS];
static pthread_t threads[MACH_RULES_THREADS];
static uint32_t turn; /* bumped by `wake` */
static uint32_t turns_taken;

static void *run_start(void *start)
{
    const struct start *s = start;
    s->f(s->arg);
    return NULL;
}

static bool start_thread(unsigned slot, void (*f)(void *), void *arg)
{
    starts[slot] = (struct start){f, arg};
    return pthread_create(&threads[slot], NULL, run_start, &starts[slot]) == 0;
}

static void pass(unsigned ms)
{
    mach_wait_until(mach_absolute_time() + (uint64_t)ms * TICKS_PER_MS);
}

/* The kernel retires a thread some time after the thread has reported its end. */
static void join_thread(unsigned slot)
{
    pthread_join(threads[slot], NULL);
    pass(1);
}

static void wait_for_wake(void)
{
    uint32_t want = ++turns_taken;
    for (uint32_t is; (is = __atomic_load_n(&turn, __ATOMIC_ACQUIRE)) != want;)
        ask3(CALL_ULOCK_WAIT, (uint64_t)&turn, is, 0);
}

static void wake_waiter(void)
{
    __atomic_fetch_add(&turn, 1, __ATOMIC_RELEASE);
    ask3(CALL_ULOCK_WAKE, (uint64_t)&turn, 1, 0);
}

static void print_text(const char *text)
{
    write(1, text, strlen(text));
}

static void print_number(unsigned n)
{
    char digit = (char)('0' + n % 10);
    if (n >= 10)
        print_number(n / 10);
    write(1, &digit, 1);
}

int rules_main(void)
{
    const struct mach_rules_env env = {.kernel = MACH_RULES_XNU,
                                       .start = start_thread,
                                       .join = join_thread,
                                       .pass = pass,
                                       .wait = wait_for_wake,
                                       .wake = wake_waiter,
                                       .print = print_text,
                                       .page_bytes = PAGE_BYTES};
    struct mach_rules_result r = mach_rules_run(&env);
    print_number(r.passed);
    print_text(" passed, ");
    print_number(r.failed);
    print_text(" failed, ");
    print_number(r.skipped);
    print_text(" skipped\n");
    return r.failed != 0;
}
