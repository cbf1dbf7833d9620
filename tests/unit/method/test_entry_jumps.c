/* Hooks of the call log that signal handlers jump out of: a jump is made after each instruction of a hook, and the
 * thread then calls more hooks. Jumps need single steps, so they are tested on x86-64 only. */
#include "engine/method/entry.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { BLOCKS = 4, THREADS = 2 };

static struct strobe_session_header header;
static struct strobe_session session;
static struct strobe_host host;
static struct strobe_call_copy copy;
static strobe_a32 busy[THREADS], on;
static uint64_t now;

static uint64_t read_time(void *ctx)
{
    (void)ctx;
    return ++now;
}

static enum strobe_status attach(uint32_t *thread)
{
    *thread = 0;
    return STROBE_OK;
}

/* No hook of the test runs inside another. */
static bool is_left(uintptr_t frame, uintptr_t of_caller)
{
    (void)frame, (void)of_caller;
    return true;
}

static void begin_log(void)
{
    uint64_t bytes = strobe_call_log_bytes(BLOCKS, THREADS);
    void *memory = calloc(1, bytes);
    assert_non_null(memory);
    strobe_call_log_create(memory, BLOCKS, THREADS, false);
    assert_int_equal(strobe_call_log_open(memory, bytes, &session.calls), STROBE_OK);
    session.header = &header;
    header.config.threads_max = THREADS;
    strobe_store_relaxed(&header.thread_count, THREADS);
    host.ticks = read_time;
    memset(busy, 0, sizeof busy);
    memset(&strobe_entry_local, 0, sizeof strobe_entry_local);
    strobe_store_relaxed(&on, STROBE_ON);
    strobe_entry_switch = &on;
    strobe_entry_engine = (struct strobe_entry_engine){
        .session = &session, .host = &host, .busy = busy, .attach = attach, .is_left = is_left};
}

static void end_log(void)
{
    free(session.calls.head);
}

static void record_entries(uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        strobe_entry_record(0x401000, 0x7ffe0000);
}

/* Asserts told = present + overwritten + refused. A block that the jump left in a claim may hide what it held. */
static void assert_accounted(void)
{
    const struct strobe_call_account *a = &session.calls.accounts[0];
    int64_t told = (int64_t)strobe_load_relaxed(&a->told), gone = (int64_t)strobe_load_relaxed(&a->overwrote);
    int64_t present = 0, taken = 0;
    for (uint32_t i = 0; i < BLOCKS; i++) {
        enum strobe_call_look look = strobe_call_look(&session.calls, i, &copy);
        assert_int_not_equal(look, STROBE_CALLS_DAMAGED);
        taken += look == STROBE_CALLS_TAKEN;
        if (look != STROBE_CALLS_THERE)
            continue;
        present += copy.count;
        told += copy.open ? copy.count : 0;
    }
    assert_int_equal(strobe_load_relaxed(&a->refused), 0);
    if (llabs(told - present - gone) > taken * STROBE_CALL_ENTRIES || taken > 1)
        fail_msg("told %lld, present %lld, overwritten %lld, %lld blocks taken", (long long)told, (long long)present,
                 (long long)gone, (long long)taken);
}

static void each_hook_records_one_entry(void **state)
{
    (void)state;
    begin_log();
    record_entries(3 * STROBE_CALL_ENTRIES + 1);
    assert_int_equal(strobe_load_relaxed(&session.calls.accounts[0].told), 3 * STROBE_CALL_ENTRIES);
    assert_accounted();
    strobe_entry_end();
    assert_int_equal(strobe_load_relaxed(&session.calls.accounts[0].told), 3 * STROBE_CALL_ENTRIES + 1);
    assert_accounted();
    end_log();
}

#ifdef __x86_64__
static volatile uint32_t step, jump_after;
static sigjmp_buf out_of_handler;

static void on_step(int number)
{
    (void)number;
    if (++step == jump_after)
        siglongjmp(out_of_handler, 1);
}

/* The code around may have data in the red zone below the stack pointer. */
static inline __attribute__((always_inline)) void set_trap_flag(bool trap)
{
    if (trap)
        __asm__ volatile("lea -128(%%rsp), %%rsp; pushfq; orq $0x100, (%%rsp); popfq; lea 128(%%rsp), %%rsp" ::
                             : "memory", "cc");
    else
        __asm__ volatile("lea -128(%%rsp), %%rsp; pushfq; andq $~0x100, (%%rsp); popfq; lea 128(%%rsp), %%rsp" ::
                             : "memory", "cc");
}

/* Calls a hook and jumps out of it after instruction `jump_after`; 0: never. */
static void call_hook(void)
{
    step = 0;
    if (sigsetjmp(out_of_handler, 1))
        return;
    set_trap_flag(true);
    record_entries(1);
    set_trap_flag(false);
}

static void leave_hook(uint32_t entries_before, uint32_t after)
{
    begin_log();
    record_entries(entries_before);
    jump_after = after;
    call_hook();
    record_entries(1);
    assert_true(strobe_entry_quiet());
    assert_accounted();
    record_entries(2 * STROBE_CALL_ENTRIES);
    assert_accounted();
    strobe_entry_end();
    assert_accounted();
    end_log();
}

/* A hook that clears a block repeats the same instructions for each entry. Of these, only some are tried. */
static uint32_t next_instruction(uint32_t after, uint32_t all)
{
    enum { AT_BEGIN = 200, AT_END = 40, STRIDE = 499 };
    if (after < AT_BEGIN || after + AT_END >= all)
        return after + 1;
    return after + STRIDE + AT_END < all ? after + STRIDE : all - AT_END;
}

static void leave_hook_after_each_instruction(uint32_t entries_before)
{
    struct sigaction act = {.sa_handler = on_step}, before;
    sigaction(SIGTRAP, &act, &before);
    leave_hook(entries_before, 0);
    uint32_t all = step;
    assert_true(all > 20);
    for (uint32_t after = 1; after <= all; after = next_instruction(after, all))
        leave_hook(entries_before, after);
    sigaction(SIGTRAP, &before, NULL);
}

static void a_jump_out_of_a_hook_loses_no_count(void **state)
{
    (void)state;
    leave_hook_after_each_instruction(STROBE_CALL_ENTRIES / 2);
}

static void a_jump_out_of_a_refill_loses_at_most_the_block_that_was_being_claimed(void **state)
{
    (void)state;
    leave_hook_after_each_instruction(STROBE_CALL_ENTRIES);
}

static void a_jump_out_of_a_refill_that_overwrites_loses_at_most_the_block_that_was_being_claimed(void **state)
{
    (void)state;
    leave_hook_after_each_instruction((BLOCKS + 1) * STROBE_CALL_ENTRIES);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_hook_records_one_entry),
#ifdef __x86_64__
        cmocka_unit_test(a_jump_out_of_a_hook_loses_no_count),
        cmocka_unit_test(a_jump_out_of_a_refill_loses_at_most_the_block_that_was_being_claimed),
        cmocka_unit_test(a_jump_out_of_a_refill_that_overwrites_loses_at_most_the_block_that_was_being_claimed),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
