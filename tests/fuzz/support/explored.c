#include "tests/fuzz/support/explored.h"

#include "sim/explore/machine.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static uint32_t choose_thread(void *ctx, uint32_t runnable, uint32_t last)
{
    uint32_t count = (uint32_t)__builtin_popcount(runnable), skip = count > 1 ? fuzz_below(ctx, 2 * count) : 0;
    /* Half of the choices let the same thread go on, so that most bytes need not say so. */
    if (skip < count && last < EXPLORE_THREADS_MAX && runnable >> last & 1)
        return last;
    for (skip %= count; skip; skip--)
        runnable &= runnable - 1;
    return (uint32_t)__builtin_ctz(runnable);
}

/* Stores come newest first. */
static uint32_t choose_load(void *ctx, uint16_t event, const uint16_t *from, uint32_t count)
{
    (void)event, (void)from;
    return count > 1 ? fuzz_below(ctx, count) : 0;
}

static uint32_t choose_store(void *ctx, uint16_t event, const uint16_t *before, uint32_t count)
{
    (void)event, (void)before;
    return !count ? EXPLORE_GIVE_UP : count > 1 ? fuzz_below(ctx, count) : 0;
}

static uint32_t choose_other(void *ctx, uint16_t event, uint32_t count)
{
    (void)event;
    return fuzz_below(ctx, count);
}

static void report(void)
{
    struct explore_failure failure;
    if (explore_machine_failure(&failure)) {
        fprintf(stderr, "%s: %s: %s\n", fuzz_explored.program.name, explore_fault_name(failure.fault), failure.message);
        explore_print_failure(stderr, &failure);
        free(failure.step);
    }
    abort();
}

/* The first byte selects the memory model. The second freezes a thread before one of its steps, or none. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static struct explore_program program;
    static struct explore_options options;
    static uint32_t opened; /* threads, for which the machine is open */
    struct fuzz_bytes in = {data, bytes};
    struct explore_chooser chooser = {.ctx = &in,
                                      .thread = choose_thread,
                                      .load = choose_load,
                                      .store = choose_store,
                                      .choice = choose_other,
                                      .resumes = true};
    uint32_t model = fuzz_byte(&in), frozen = fuzz_byte(&in), threads = fuzz_explored.decode(&in);
    if (!threads)
        return 0;
    if (opened != threads) {
        program = fuzz_explored.program;
        program.thread_count = threads;
        explore_options_default(&options);
        options.steps_max = EXPLORE_STEPS_DEFAULT;
        options.size = 1;
        fuzz_require(explore_machine_open(&program, &options));
        opened = threads;
    }
    options.memory = (enum explore_memory)(model % EXPLORE_MEMORIES);
    struct explore_at at = {1 + frozen % threads, frozen / 8};
    explore_machine_disturb(frozen & 4 ? &at : NULL, NULL);
    explore_graph_clear(explore_machine_graph());
    if (explore_machine_run(&chooser) == EXPLORE_FAILED)
        report();
    return 0;
}
