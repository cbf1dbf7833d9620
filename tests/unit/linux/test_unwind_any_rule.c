/* Walks by any rules, registers and stacks: each ends, reads nothing outside of its window, and goes up the stack
 * (S-44). The rules are put into the index's memo, so they also are such as no compiler writes. The window lies between
 * unreadable pages. */
#include "engine/backend/linux/unwind_table.h"
#include "tests/unit/support/trial.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <string.h>
#include <sys/mman.h>
#include <cmocka.h>

enum { PAGE = 4096, WALKS = 40000, CODES = 12, MOST = 24, CODE_BYTES = 16 };

static struct strobe_unwind_index rules;
static uint64_t seed = 43;
static uint64_t *words; /* the page that is the window */
static struct strobe_window window;
static uint8_t code_bytes[CODES][CODE_BYTES];
static bool with_signals; /* rules of signal frames, after which a stack may go on anywhere in the window */

static uint64_t draw(uint64_t below)
{
    return strobe_trial_random(&seed) % below;
}

static uint64_t code_of(uint64_t number)
{
    return 0x500000 + 0x1000 * number + 16;
}

/* Stores what the index then finds for the instruction. The rules of this test lie in lines of their own. */
static void put_rule(uint64_t pc, const struct strobe_unwind_rule *rule)
{
    struct strobe_unwind_memo *m = rules.memo[(pc * 0x9e3779b97f4a7c15u >> 32) & (STROBE_UNWIND_MEMO_BEGIN - 1)];
    uint64_t word[2];
    memcpy(word, rule, sizeof word);
    m += strobe_load_relaxed(&m->pc) && strobe_load_relaxed(&m->pc) != pc;
    strobe_store_relaxed(&m->seq, 2);
    strobe_store_relaxed(&m->pc, pc);
    strobe_store_relaxed(&m->rule[0], word[0]);
    strobe_store_relaxed(&m->rule[1], word[1]);
}

static struct strobe_unwind_rule draw_rule(void)
{
    static const uint8_t bases[] = {STROBE_EH_SP, STROBE_EH_SP, STROBE_EH_FP, STROBE_EH_BX, 12, 200};
    static const uint8_t kinds[] = {STROBE_UNWIND_FRAME, STROBE_UNWIND_FRAME, STROBE_UNWIND_FRAME, STROBE_UNWIND_DEREF,
                                    STROBE_UNWIND_PLT,   STROBE_UNWIND_END,   STROBE_UNWIND_BY_FP, STROBE_UNWIND_NONE};
    return (struct strobe_unwind_rule){
        .kind = kinds[draw(sizeof kinds)],
        .base = bases[draw(sizeof bases)],
        .fp = (uint8_t)(draw(STROBE_SAVED_UNDEFINED + 1) & 15),
        .ra = (uint8_t)((draw(2) ? STROBE_SAVED_AT_CFA : draw(STROBE_SAVED_UNDEFINED + 1)) & 15),
        .bx = (uint8_t)(draw(STROBE_SAVED_UNDEFINED + 1) & 15),
        .flags = with_signals && draw(4) == 0 ? STROBE_UNWIND_SIGNAL : 0,
        .cfa = (int32_t)draw(12) * 8 - 8,
        .fp_at = (int16_t)((int)draw(7) - 4),
        .ra_at = (int16_t)((int)draw(4) - 2),
        .bx_at = (int16_t)((int)draw(9) - 6),
        .more = (int16_t)draw(24),
    };
}

static uint64_t draw_place(void)
{
    return window.low + 8 * draw(PAGE / 8) + (draw(32) == 0);
}

/* A word such as stacks and registers hold. */
static uint64_t draw_word(void)
{
    switch (draw(6)) {
    case 0: return 0;
    case 1: return draw(UINT64_MAX);
    case 2:
    case 3: return draw_place();
    default: return code_of(draw(CODES));
    }
}

static void draw_world(void)
{
    static const uint8_t often[] = {0xc3, 0x55, 0x5d, 0xc9, 0x48, 0x89, 0xe5, 0xf3, 0x90};
    for (uint64_t i = 0; i < CODES; i++) {
        struct strobe_unwind_rule innermost = draw_rule(), of_caller = draw_rule();
        put_rule(code_of(i), &innermost);
        put_rule(code_of(i) - 1, &of_caller);
        for (unsigned k = 0; k < CODE_BYTES; k++)
            code_bytes[i][k] = draw(2) ? often[draw(sizeof often)] : (uint8_t)draw(256);
    }
    for (unsigned i = 0; i < PAGE / 8; i++)
        words[i] = draw_word();
}

/* Reads code of the test; nothing else is readable. */
static enum strobe_status read_code(void *ctx, uint64_t address, void *out, size_t bytes, size_t *copied)
{
    (void)ctx;
    *copied = 0;
    for (uint64_t i = 0; i < CODES; i++)
        if (address - code_of(i) < CODE_BYTES) {
            size_t left = CODE_BYTES - (size_t)(address - code_of(i));
            *copied = bytes < left ? bytes : left;
            memcpy(out, code_bytes[i] + (address - code_of(i)), *copied);
        }
    return *copied ? STROBE_OK : STROBE_UNREADABLE;
}

static struct strobe_regs draw_regs(void)
{
    struct strobe_regs r = {.pc = code_of(draw(CODES)), .sp = draw_place(), .fp = draw_word(), .lr = draw_word()};
    for (unsigned i = 0; i < STROBE_REGS_GENERAL; i++)
        r.general[i] = draw_word();
    return r;
}

struct walked {
    uint64_t frames[1 + MOST], places[1 + MOST];
    uint32_t count;
    enum strobe_walk_end end;
};

static void check_walk(const struct walked *w, bool placed)
{
    assert_in_range(w->count, 1, MOST);
    assert_in_range(w->end, STROBE_WALK_ROOT, STROBE_WALK_DOUBTFUL);
    assert_int_equal(w->frames[0], 1); /* not written */
    assert_int_equal(w->places[0], 1);
    for (uint32_t i = 1; placed && !with_signals && STROBE_EH_RA == 16 && i < w->count; i++)
        assert_true(w->places[MOST - i] >= w->places[MOST + 1 - i]);
}

/* Walks in each way from the same registers. */
static void walk(const struct strobe_host *host)
{
    struct strobe_regs regs = draw_regs();
    struct walked w = {.frames = {1}, .places = {1}};
    window.root = draw(4) ? 0 : draw_place();
    w.end = strobe_walk_table(&rules, host, &regs, &window, w.frames + 1 + MOST, MOST, &w.count);
    check_walk(&w, false);
    for (enum strobe_walk_from from = STROBE_FROM_INSTRUCTION; from <= STROBE_FROM_RECORD; from++) {
        struct walked p = {.frames = {1}, .places = {1}};
        p.end = strobe_walk_table_placed(&rules, host, &regs, from, &window, p.frames + 1 + MOST, p.places + 1 + MOST,
                                         MOST, &p.count);
        check_walk(&p, true);
        if (from == STROBE_FROM_INSTRUCTION)
            assert_true(p.count <= w.count); /* it takes no doubtful step out of a caller's frame */
    }
    struct strobe_regs at = regs;
    bool left = strobe_walk_table_leave(&rules, draw_place(), &window, &at);
    assert_true(left ? with_signals || STROBE_EH_RA != 16 || at.sp > regs.sp
                     : at.sp == regs.sp && at.pc == regs.pc && at.fp == regs.fp);
    strobe_unwind_table_use(&rules);
    w.count = MOST;
    w.end = strobe_unwinder_table.hooked(draw_place(), &window, w.frames + 1 + MOST, MOST, &w.count);
    assert_in_range(w.count, 0, MOST);
    assert_int_equal(w.frames[0], 1);
}

static void walk_many(bool signals)
{
    const struct strobe_host host = {.read = read_code};
    with_signals = signals;
    for (uint32_t i = 0; i < strobe_trial_rounds(WALKS); i++) {
        if (i % 8 == 0)
            draw_world();
        walk(draw(2) ? &host : NULL);
    }
}

static void any_walk_ends_within_its_window_and_goes_up_S44(void **state)
{
    (void)state;
    walk_many(false);
}

static void any_walk_over_signal_frames_ends_within_its_window_S44(void **state)
{
    (void)state;
    walk_many(true);
}

static int prepare(void **state)
{
    (void)state;
    char *pages = mmap(NULL, 3 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED || mprotect(pages + PAGE, PAGE, PROT_READ | PROT_WRITE))
        return 1;
    words = (uint64_t *)(void *)(pages + PAGE);
    window.low = (uint64_t)(uintptr_t)words;
    window.high = window.low + PAGE;
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_walk_ends_within_its_window_and_goes_up_S44),
        cmocka_unit_test(any_walk_over_signal_frames_ends_within_its_window_S44),
    };
    return cmocka_run_group_tests_name("unwind_any_rule", tests, prepare, NULL);
}
