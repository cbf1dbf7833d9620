/* The index of call frame information: lookups while images are loaded and unloaded, and while other threads fill the
 * memo. Each image has one function. The CFA of its rule identifies the image. */
#include "engine/backend/linux/unwind_index.h"
#include "tests/explore/programs.h"

#include <string.h>

enum {
    FIRST = 0x10000,
    SECOND = 0x20000,
    NOWHERE = 0x30000,
    FUNCTION_BYTES = 0x100,
    CFA_OLD = 16,
    CFA_NEW = 24,
    TABLE_BYTES = 96,
};

struct unwind_state {
    struct strobe_unwind_index index;
    uint8_t table[2][TABLE_BYTES];
    struct strobe_unwind_image image[2];
    uint32_t slot[2];
};

struct bytes {
    uint8_t *at;
};

static void put(struct bytes *b, uint64_t value, unsigned count)
{
    memcpy(b->at, &value, count);
    b->at += count;
}

/* Makes call frame information of one function at `start`, whose CFA is the stack pointer plus `cfa`. */
static void make_image(uint8_t *table, uint64_t start, uint8_t cfa, struct strobe_unwind_image *out)
{
    enum { HEADER = 20, COMMON = 4 + 16 };
    const uint64_t address = start + FUNCTION_BYTES;
    struct bytes b = {table};
    put(&b, 0x3b031b01, 4); /* version 1; forms of what follows */
    put(&b, HEADER - 4, 4);
    put(&b, 1, 4);
    put(&b, start - address, 4);
    put(&b, HEADER + COMMON, 4);
    put(&b, COMMON - 4, 4);
    put(&b, 0, 4);
    put(&b, 0x78010001, 4); /* version 1, no augmentation, factors 1 and -8 */
    put(&b, STROBE_EH_RA, 1);
    put(&b, 0x0c, 1);
    put(&b, STROBE_EH_SP, 1);
    put(&b, cfa, 1);
    put(&b, 0x80 | STROBE_EH_RA, 1);
    put(&b, 1, 1);
    put(&b, 0, 2);
    put(&b, 4 + 16, 4);
    put(&b, COMMON + 4, 4);
    put(&b, start, 8);
    put(&b, FUNCTION_BYTES, 8);
    *out = (struct strobe_unwind_image){.start = start, .end = start + 2 * FUNCTION_BYTES};
    explore_require(strobe_eh_frame_open(table, TABLE_BYTES, address, address, &out->frames) == STROBE_OK);
}

/* Returns the CFA offset of the rule for `pc`, which identifies the image; 0: no rule. */
static int32_t find_cfa(struct unwind_state *s, uint64_t pc)
{
    struct strobe_unwind_rule rule = strobe_unwind_index_find(&s->index, pc);
    if (rule.kind == STROBE_UNWIND_BY_FP)
        return 0;
    explore_require(rule.kind == STROBE_UNWIND_FRAME && rule.base == STROBE_EH_SP && rule.fp == STROBE_SAVED_SAME &&
                    rule.ra == STROBE_SAVED_AT_CFA && rule.ra_at == -1);
    return rule.cfa;
}

/* ---- unwind/replace: an image is unloaded, and another loaded in its place */

static void setup_one(void *state)
{
    struct unwind_state *s = state;
    make_image(s->table[0], FIRST, CFA_OLD, &s->image[0]);
    make_image(s->table[1], FIRST, CFA_NEW, &s->image[1]);
    explore_require(strobe_unwind_index_add(&s->index, &s->image[0], &s->slot[0]) == STROBE_OK);
}

static void replace(void *state)
{
    struct unwind_state *s = state;
    strobe_unwind_index_remove(&s->index, s->slot[0]);
    explore_require(strobe_unwind_index_add(&s->index, &s->image[1], &s->slot[1]) == STROBE_OK);
}

/* The lookups find the old image's rule, no rule, the new image's rule, in this order. */
static void look_up(void *state)
{
    struct unwind_state *s = state;
    int32_t last = CFA_OLD;
    for (uint32_t i = 0; i < explore_size(); i++) {
        int32_t cfa = find_cfa(s, FIRST);
        explore_require(cfa == CFA_OLD || cfa == 0 || cfa == CFA_NEW);
        explore_require(cfa != CFA_OLD || last == CFA_OLD);
        explore_require(cfa == CFA_NEW || last != CFA_NEW);
        last = cfa;
    }
}

static void check_new(void *state)
{
    struct unwind_state *s = state;
    explore_require(find_cfa(s, FIRST) == CFA_NEW);
}

static const struct explore_program replace_program = {
    .name = "unwind/replace",
    .what = "rules are of one image, and of no image that went before the last look",
    .thread_count = 2,
    .state_bytes = sizeof(struct unwind_state),
    .setup = setup_one,
    .thread = {replace, look_up},
    .check = check_new,
    .quick = 1,
    .nightly = 2,
};

/* ---- unwind/memo: threads put rules of different functions into one entry of the memo */

static void setup_two(void *state)
{
    struct unwind_state *s = state;
    make_image(s->table[0], FIRST, CFA_OLD, &s->image[0]);
    make_image(s->table[1], SECOND, CFA_NEW, &s->image[1]);
    for (uint32_t i = 0; i < 2; i++)
        explore_require(strobe_unwind_index_add(&s->index, &s->image[i], &s->slot[i]) == STROBE_OK);
}

static void look_forth(void *state)
{
    explore_require(find_cfa(state, FIRST) == CFA_OLD);
    explore_require(find_cfa(state, NOWHERE) == 0);
    explore_require(explore_size() < 2 || find_cfa(state, SECOND) == CFA_NEW);
}

static void look_back(void *state)
{
    explore_require(find_cfa(state, SECOND) == CFA_NEW);
    explore_require(find_cfa(state, FIRST) == CFA_OLD);
    explore_require(explore_size() < 2 || find_cfa(state, NOWHERE) == 0);
}

static void check_both(void *state)
{
    explore_require(find_cfa(state, FIRST) == CFA_OLD && find_cfa(state, SECOND) == CFA_NEW);
}

static const struct explore_program memo_program = {
    .name = "unwind/memo",
    .what = "a place gets its own rule, whatever others put into the memo meanwhile",
    .thread_count = 2,
    .state_bytes = sizeof(struct unwind_state),
    .setup = setup_two,
    .thread = {look_forth, look_back},
    .check = check_both,
    .quick = 1,
    .nightly = 2,
};

const struct explore_program *const explore_unwind_programs[] = {&replace_program, &memo_program, NULL};
