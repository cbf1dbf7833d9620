/* Lists that one thread replaces while others search them: the list of code ranges (engine/backend/art/code.c) and the
 * list of stacks (engine/backend/linux/preload/stack_map.c). */
#include "engine/backend/art/code.h"
#include "engine/backend/linux/preload/stack_map.h"
#include "tests/explore/programs.h"

/* ---- code ranges ---- */

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

/* ---- stacks ---- */

/* The mappings at each update. No update has NOWHERE, but the begin of a mapping of one list and the end of that of
 * another enclose it. ALWAYS is in a mapping of each list, whose bounds differ. */
enum { UPDATES = 3, ALWAYS = 0x8800 };
static const uint64_t bounds[UPDATES + 1][2][2] = {
    {{0, 0}, {0, 0}},
    {{0x4000, 0x6000}, {0x8000, 0x9000}},
    {{0x8000, 0xa000}, {0xb000, 0xc000}},
    {{0x1000, 0x2000}, {0x7000, 0xb000}},
};

struct stackmap_state {
    struct strobe_stack_map map;
};

static uint32_t shown; /* by the thread that updates; the update whose mappings it shows */

static void show_bounds(bool (*visit)(void *ctx, const struct strobe_linux_map *map), void *ctx)
{
    for (int i = 0; i < 2; i++) {
        struct strobe_linux_map map = {.start = bounds[shown][i][0], .end = bounds[shown][i][1], .is_writable = true};
        visit(ctx, &map);
    }
}

static void update_stacks(struct stackmap_state *s, uint32_t update)
{
    shown = update;
    strobe_stack_map_update(&s->map, show_bounds);
}

static void stackmap_setup(void *state)
{
    update_stacks(state, 1);
}

static void update_again(void *state)
{
    for (uint32_t update = 2; update <= 1 + explore_size() && update <= UPDATES; update++)
        update_stacks(state, update);
}

/* Returns true when an update has this mapping. */
static bool is_listed(uint64_t low, uint64_t high)
{
    for (uint32_t u = 1; u <= UPDATES; u++)
        for (int i = 0; i < 2; i++)
            if (bounds[u][i][0] == low && bounds[u][i][1] == high)
                return true;
    return false;
}

static void find_stacks(void *state)
{
    const struct stackmap_state *s = state;
    uint64_t low, high;
    explore_require(!strobe_stack_map_find(&s->map, NOWHERE, &low, &high));
    if (strobe_stack_map_find(&s->map, ALWAYS, &low, &high))
        explore_require(is_listed(low, high));
}

static void check_stacks(void *state)
{
    const struct stackmap_state *s = state;
    uint64_t low, high;
    explore_require(strobe_stack_map_find(&s->map, ALWAYS, &low, &high) && is_listed(low, high));
}

static const struct explore_program update_program = {
    .name = "stackmap/update",
    .what = "a thread that looks for its stack during updates finds a mapping of one list, or none",
    .thread_count = 2,
    .state_bytes = sizeof(struct stackmap_state),
    .setup = stackmap_setup,
    .thread = {update_again, find_stacks},
    .check = check_stacks,
    .quick = 2,
    .nightly = 2,
    .fenced = true,
};

const struct explore_program *const explore_stackmap_programs[] = {&update_program, NULL};
