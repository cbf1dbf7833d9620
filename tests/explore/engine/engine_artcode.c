/* The list of code ranges (engine/backend/art/code.c). One thread replaces it while others look up addresses. */
#include "engine/backend/art/code.h"
#include "tests/explore/programs.h"

/* The lists by generation. No list has NOWHERE, but the begin of the range of one list and the end of that of another
 * enclose it. MOVED is in the lists of odd generations only. */
enum { GENERATIONS = 4, NOWHERE = 0x3000, MOVED = 0x5000 };
static const struct strobe_art_code_entry lists[GENERATIONS] = {
    {0, 0, 0}, {0x4000, 0x6000, 1}, {0x8000, 0x9000, 2}, {0x1000, 0x2000, 4}};

struct artcode_state {
    struct strobe_art_code code;
};

static void replace(struct artcode_state *s, uint32_t generation)
{
    struct strobe_art_code_entry entry = lists[generation];
    strobe_art_code_replace(&s->code, &entry, 1);
}

static void artcode_setup(void *state)
{
    replace(state, 1);
}

static void replace_lists(void *state)
{
    for (uint32_t generation = 2; generation < 2 + explore_size() && generation < GENERATIONS; generation++)
        replace(state, generation);
}

static void look_up_code(void *state)
{
    struct artcode_state *s = state;
    explore_require(strobe_art_code_at(&s->code, NOWHERE) == 0);
    uint32_t first = strobe_art_code_at(&s->code, MOVED), second = strobe_art_code_at(&s->code, MOVED);
    explore_require(first == 0 || first == lists[1].bits);
    explore_require(second == 0 || first == lists[1].bits); /* the first list does not come back */
}

static void check_replaced(void *state)
{
    struct artcode_state *s = state;
    uint32_t last = 1 + explore_size() < GENERATIONS ? 1 + explore_size() : GENERATIONS - 1;
    explore_require(strobe_art_code_at(&s->code, lists[last].start) == lists[last].bits);
    explore_require(strobe_art_code_at(&s->code, MOVED) == (last == 1 ? lists[1].bits : 0));
}

static const struct explore_program replace_program = {
    .name = "artcode/replace",
    .what = "a lookup during a change of the list finds what one of the two lists has, and later lookups no older one",
    .thread_count = 2,
    .state_bytes = sizeof(struct artcode_state),
    .setup = artcode_setup,
    .thread = {replace_lists, look_up_code},
    .check = check_replaced,
    .quick = 2,
    .nightly = 2,
    .fenced = true,
};

const struct explore_program *const explore_artcode_programs[] = {&replace_program, NULL};
