/* A virtual kernel for tests, with short functions to start threads, and a log by which two runs can be compared. One
 * stage at a time; asserts by CMocka. A test program includes this header once. */
#ifndef STROBE_SIM_SUPPORT_STAGE_H
#define STROBE_SIM_SUPPORT_STAGE_H

#include "engine/base/error.h"
#include "engine/base/mix.h"
#include "sim/kernel/kernel.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const uint64_t US = 1000, MS = 1000000, FOREVER = UINT64_MAX;

static struct sim_kernel *kernel;
static struct strobe_error error;

enum { NOTES_MAX = 256 };
static uint64_t notes[NOTES_MAX];
static uint32_t note_count;
static uint64_t log_hash, log_time_ns;

/* Logs a value. The log is a hash of all values logged on this stage, in order. */
static void stage_log(uint64_t value)
{
    log_hash = strobe_mix64(log_hash ^ value) + value;
}

static inline void note(uint64_t value)
{
    assert_true(note_count < NOTES_MAX);
    notes[note_count++] = value;
    stage_log(value);
}

/* The thread on each core. The observer uses it to check that no two threads run on one core. */
static const struct sim_thread *on_core[64];

static void observe(void *ctx, struct sim_thread *t, int core, bool blocked, uint64_t now_ns)
{
    (void)ctx;
    assert_true(now_ns >= log_time_ns);
    log_time_ns = now_ns;
    if (core >= 0) {
        assert_null(on_core[core]);
        on_core[core] = t;
    } else {
        uint32_t c = 0;
        while (c < 64 && on_core[c] != t)
            c++;
        assert_true(c < 64);
        on_core[c] = NULL;
    }
    stage_log(t->serial);
    stage_log((uint64_t)(core + 1) << 1 | blocked);
    stage_log(now_ns);
}

static void stage_open(const struct sim_kernel_options *options)
{
    const struct sim_observer observer = {.core = observe};
    note_count = 0;
    log_hash = log_time_ns = 0;
    memset(on_core, 0, sizeof on_core);
    kernel = sim_kernel_open(options, &observer);
    assert_non_null(kernel);
}

/* Opens a stage with the fair schedule and without costs. */
static inline void stage_cores(uint32_t cores)
{
    stage_open(&(struct sim_kernel_options){.seed = 1, .cores = cores, .limit_ns = UINT64_MAX});
}

static inline struct sim_thread *enter(const char *name, void (*entry)(void *arg), void *arg)
{
    const struct sim_thread_options options = {.name = name, .entry = entry, .arg = arg};
    struct sim_thread *t = sim_thread_start(kernel, &options);
    assert_non_null(t);
    return t;
}

/* Runs to the end, checks how the run ends, and leaves the kernel open. */
static inline void play(enum sim_end end)
{
    enum sim_end is = sim_kernel_run(kernel, &error);
    if (is != end)
        print_error("the run ended %d: %s\n", is, error.text);
    assert_int_equal(is, end);
}

/* Returns a smaller number of rounds where programs run slowly (valgrind, emulators). */
static inline uint32_t stage_rounds(uint32_t rounds)
{
    return getenv("STROBE_TEST_LIGHT") ? rounds / 20 + 2 : rounds;
}

static inline void stage_close(void)
{
    sim_kernel_close(kernel);
    kernel = NULL;
}

#endif
