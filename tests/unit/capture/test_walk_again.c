/* The walk with a memo finds the same frames as the plain walk, whichever frames changed since the last walk. */
#include "engine/capture/walk_again.h"
#include "tests/unit/support/temp_dir.h"
#include "tests/unit/support/trial.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* A stack that grows downwards in an array of words: frame records at even indices, with words of locals between them.
 * Addresses are those of the array. */
enum { WORDS = 1024, FRAMES_MAX = 250, LOCALS_MAX = 3 };

struct stack {
    uint64_t word[WORDS];
    uint32_t at[FRAMES_MAX]; /* places of the frame records, outermost first */
    uint32_t count;
    uint32_t hidden; /* words at the outer end that the window does not show */
    uint32_t root;   /* place from which on frames belong to the outermost code; 0: not known */
};

static uint64_t seed;
static struct stack stack;
static struct strobe_walk_memory memory;

static uint64_t address_of(const struct stack *s, uint32_t place)
{
    return (uint64_t)(uintptr_t)&s->word[place];
}

static struct strobe_window window_of(const struct stack *s, uint64_t fp)
{
    uint64_t low = fp ? fp : address_of(s, 0), high = address_of(s, WORDS - s->hidden);
    return (struct strobe_window){
        .low = low < high ? low : high,
        .high = high,
        .root = s->root ? address_of(s, s->root) : 0,
    };
}

static void push(struct stack *s, uint64_t return_address, uint32_t locals)
{
    uint32_t above = s->count ? s->at[s->count - 1] : WORDS;
    if (s->count == FRAMES_MAX || above < locals + 2)
        return;
    uint32_t at = above - locals - 2;
    s->word[at] = s->count ? address_of(s, above) : 0;
    s->word[at + 1] = return_address;
    s->at[s->count++] = at;
}

static void pop(struct stack *s, uint32_t frames)
{
    s->count = frames < s->count ? s->count - frames : 0;
}

static void reset(void)
{
    memset(&stack, 0, sizeof stack);
    memset(&memory, 0, sizeof memory);
}

static uint64_t return_address(uint64_t *random)
{
    return 0x1000 + strobe_trial_below(random, 4);
}

/* Does both walks over the current stack, and checks the count of frames shared with the previous stack. */
static uint32_t check(uint32_t max)
{
    uint64_t plain[STROBE_STACK_DEPTH_MAX], before[STROBE_STACK_DEPTH_MAX];
    uint64_t fp = stack.count ? address_of(&stack, stack.at[stack.count - 1]) : 0;
    struct strobe_window w = window_of(&stack, fp);
    uint32_t plain_count, before_count = memory.count, shared;
    memcpy(before, memory.address, sizeof before);
    enum strobe_walk_end plain_end = strobe_walk_fp(&w, fp, plain + STROBE_STACK_DEPTH_MAX, max, &plain_count);
    enum strobe_walk_end end = strobe_walk_again(&w, fp, max, &memory, &shared);
    assert_int_equal(end, plain_end);
    assert_int_equal(memory.count, plain_count);
    assert_memory_equal(memory.address, plain + STROBE_STACK_DEPTH_MAX - plain_count, plain_count * 8);
    assert_true(shared <= before_count && shared <= memory.count);
    assert_memory_equal(memory.address, before, shared * 8);
    return shared;
}

static void an_unchanged_stack_is_shared_in_whole(void **state)
{
    (void)state;
    reset();
    for (uint32_t i = 0; i < 40; i++)
        push(&stack, 0x1000 + i, i % LOCALS_MAX);
    assert_int_equal(check(STROBE_STACK_DEPTH_MAX), 0);
    assert_int_equal(check(STROBE_STACK_DEPTH_MAX), 40);
}

static void a_stack_that_lost_and_gained_frames_shares_the_rest(void **state)
{
    (void)state;
    reset();
    for (uint32_t i = 0; i < 40; i++)
        push(&stack, 0x1000 + i, 1);
    check(STROBE_STACK_DEPTH_MAX);
    pop(&stack, 3);
    push(&stack, 0x2000, 2);
    push(&stack, 0x2001, 0);
    assert_int_equal(check(STROBE_STACK_DEPTH_MAX), 37);
}

static void a_caller_that_moved_on_under_equal_frames_is_seen(void **state)
{
    (void)state;
    for (uint32_t changed = 0; changed < 40; changed++) {
        reset();
        for (uint32_t i = 0; i < 40; i++)
            push(&stack, 0x1000 + i, 1);
        check(STROBE_STACK_DEPTH_MAX);
        stack.word[stack.at[changed] + 1] += 8;
        assert_int_equal(check(STROBE_STACK_DEPTH_MAX), changed);
    }
}

static void a_frame_that_was_left_but_not_overwritten_is_not_taken_for_a_caller(void **state)
{
    (void)state;
    reset();
    for (uint32_t i = 0; i < 40; i++)
        push(&stack, 0x1000 + i, 0);
    check(STROBE_STACK_DEPTH_MAX);
    pop(&stack, 1);
    push(&stack, 0x2000, 3);
    assert_int_equal(check(STROBE_STACK_DEPTH_MAX), 39);
}

static void a_window_that_ends_elsewhere_is_walked_completely(void **state)
{
    (void)state;
    reset();
    for (uint32_t i = 0; i < 40; i++)
        push(&stack, 0x1000 + i, 0);
    check(STROBE_STACK_DEPTH_MAX);
    stack.hidden = 20;
    assert_int_equal(check(STROBE_STACK_DEPTH_MAX), 0);
    assert_int_equal(memory.count, 30);
}

static void a_walk_that_was_cut_is_not_built_upon(void **state)
{
    (void)state;
    reset();
    for (uint32_t i = 0; i < 40; i++)
        push(&stack, 0x1000 + i, 0);
    check(20);
    pop(&stack, 5);
    assert_int_equal(check(20), 0);
    pop(&stack, 15);
    assert_int_equal(check(20), 0);
    pop(&stack, 1);
    assert_int_equal(check(20), 19);
}

/* Changes the stack as a running program does between two samples, or as a corrupt one does. */
static void disturb(struct stack *s, uint64_t *random)
{
    uint32_t victim = s->count ? s->at[strobe_trial_below(random, s->count)] : 0;
    switch (strobe_trial_below(random, 24)) {
    case 0: s->word[victim + 1] = 0; break;
    case 1: s->word[victim] = 0; break;
    case 2: s->word[victim] = address_of(s, strobe_trial_below(random, WORDS)); break;
    case 3: s->word[victim] = strobe_trial_random(random); break;
    case 4: s->word[victim] = address_of(s, strobe_trial_below(random, WORDS)) + 4; break;
    case 5: s->word[victim + 1] = return_address(random); break;
    case 6: s->word[strobe_trial_below(random, WORDS)] = return_address(random); break;
    case 7: pop(s, s->count); break;
    case 8: s->hidden = strobe_trial_below(random, 100); break;
    case 9: s->root = strobe_trial_below(random, 2) * strobe_trial_below(random, WORDS); break;
    default: pop(s, strobe_trial_below(random, 8)); break;
    }
    for (uint32_t n = strobe_trial_below(random, 10); n > 0; n--)
        push(s, return_address(random), strobe_trial_below(random, LOCALS_MAX + 1));
}

static void any_history_gives_what_the_plain_walk_gives_S44(void **state)
{
    (void)state;
    uint64_t random = seed;
    for (uint32_t round = 0; round < strobe_trial_rounds(400); round++) {
        reset();
        for (uint32_t step = 0; step < 100; step++) {
            disturb(&stack, &random);
            check(strobe_trial_below(&random, 4) ? STROBE_STACK_DEPTH_MAX : 1 + strobe_trial_below(&random, 60));
            if (strobe_trial_below(&random, 50) == 0)
                strobe_walk_forget(&memory);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_unchanged_stack_is_shared_in_whole),
        cmocka_unit_test(a_stack_that_lost_and_gained_frames_shares_the_rest),
        cmocka_unit_test(a_caller_that_moved_on_under_equal_frames_is_seen),
        cmocka_unit_test(a_frame_that_was_left_but_not_overwritten_is_not_taken_for_a_caller),
        cmocka_unit_test(a_window_that_ends_elsewhere_is_walked_completely),
        cmocka_unit_test(a_walk_that_was_cut_is_not_built_upon),
        cmocka_unit_test(any_history_gives_what_the_plain_walk_gives_S44),
    };
    seed = strobe_trial_seed("test_walk_again");
    return cmocka_run_group_tests_name("walk_again", tests, NULL, NULL);
}
