/* The call log: blocks of two entries are claimed, filled and overwritten. The time of each entry contains its number,
 * so that a torn entry is detected. The number identifies the writer. */
#include "engine/method/entry.h"
#include "engine/store/call_log.h"
#include "tests/explore/programs.h"

#include <stdalign.h>

enum { WRITERS = 2, PAGES = 3, BLOCKS_MAX = 4 };

struct calls_state {
    alignas(4096) unsigned char memory[PAGES * 4096];
    struct strobe_call_log log;
    struct strobe_call_writer writer[WRITERS];
    uint32_t logged[WRITERS];  /* by writer: entries accepted */
    uint32_t refused[WRITERS]; /* by writer: entries refused */

    /* calls/quiet */
    struct strobe_session_header header;
    struct strobe_session session;
    struct strobe_entry_thread thread[WRITERS];
    strobe_a32 busy[WRITERS];
    strobe_a32 on;
    uint64_t drawn; /* tickets drawn when the log was quiet; UINT64_MAX: it was not */
};

static void make(struct calls_state *s, uint32_t blocks, bool keep_oldest)
{
    strobe_call_log_create(s->memory, blocks, WRITERS, keep_oldest);
    strobe_call_log_open(s->memory, sizeof s->memory, &s->log);
}

static uint64_t ticks_of(uint64_t word)
{
    return word * 1000 + 7;
}

/* Puts the writer's next entry: numbers of writer 0 are 1, 2, ..., those of writer 1 have 256 added. */
static void put(struct calls_state *s, uint32_t self)
{
    struct strobe_call_writer *w = &s->writer[self];
    struct strobe_call_log log = s->log;
    if (w->next == w->end && !strobe_call_refill(&log, w, self)) {
        strobe_call_refuse(&log, self, 1);
        s->refused[self]++;
        return;
    }
    uint64_t word = 256 * self + s->logged[self] + s->refused[self] + 1;
    strobe_call_put(w, ticks_of(word), word);
    s->logged[self]++;
}

static void finish(struct calls_state *s, uint32_t self)
{
    struct strobe_call_log log = s->log;
    strobe_call_finish(&log, &s->writer[self], self);
}

/* Reads a block. Its entries must be whole, of the writer that the block names, and in order. */
static enum strobe_call_look look(struct calls_state *s, uint32_t block, struct strobe_call_copy *copy)
{
    struct strobe_call_log log = s->log;
    enum strobe_call_look how = strobe_call_look(&log, block, copy);
    explore_require(how != STROBE_CALLS_DAMAGED);
    if (how != STROBE_CALLS_THERE)
        return how;
    explore_require(copy->thread < WRITERS && copy->count <= STROBE_CALL_ENTRIES);
    for (uint32_t i = 0; i < copy->count; i++) {
        explore_require(copy->entry[i].ticks == ticks_of(copy->entry[i].word));
        explore_require(copy->entry[i].word / 256 == copy->thread);
        explore_require(!i || copy->entry[i].word == copy->entry[i - 1].word + 1);
    }
    return how;
}

/* Checks after the end of all writers that each entry is present or counted. `lost`: the number of entries of a frozen
 * writer that may be counted twice or not at all. */
static void balance(struct calls_state *s, uint32_t lost)
{
    uint64_t counted = 0, present = 0, overwrote = 0, put_in_all = 0;
    struct strobe_call_copy copy;
    for (uint32_t i = 0; i < s->log.head->block_count; i++) {
        if (look(s, i, &copy) != STROBE_CALLS_THERE)
            continue;
        present += copy.count;
        counted += copy.open ? copy.count : 0;
    }
    for (uint32_t i = 0; i < WRITERS; i++) {
        counted += strobe_load_relaxed(&s->log.accounts[i].told);
        overwrote += strobe_load_relaxed(&s->log.accounts[i].overwrote);
        explore_require(strobe_load_relaxed(&s->log.accounts[i].refused) == s->refused[i]);
        put_in_all += s->logged[i];
    }
    explore_require(counted <= present + overwrote + lost && present + overwrote <= counted + lost);
    explore_require(counted <= put_in_all + lost && put_in_all <= counted + lost);
}

static void check_balance(void *state)
{
    balance(state, 0);
}

/* ---- calls/look: a block is filled and overwritten while it is read */

static void setup_one_block(void *state)
{
    make(state, 1, false);
}

static void fill(void *state)
{
    for (uint32_t i = 0; i < 3; i++)
        put(state, 0);
}

static void look_on(void *state)
{
    struct strobe_call_copy copy;
    uint64_t last = 0;
    for (uint32_t i = 0; i < explore_size(); i++) {
        if (look(state, 0, &copy) != STROBE_CALLS_THERE || !copy.count)
            continue;
        explore_require(copy.entry[0].word == 1 || copy.entry[0].word == 3);
        explore_require(copy.entry[copy.count - 1].word >= last);
        last = copy.entry[copy.count - 1].word;
    }
}

static const struct explore_program look_program = {
    .name = "calls/look",
    .what = "a block that is written and taken again while it is read: whole entries, in order",
    .thread_count = 2,
    .state_bytes = sizeof(struct calls_state),
    .setup = setup_one_block,
    .thread = {fill, look_on},
    .check = check_balance,
    .quick = 1,
    .nightly = 2,
};

/* ---- calls/turns: two writers take turns at one block while it is read */

static void write_and_finish(void *state)
{
    struct calls_state *s = state;
    for (uint32_t i = 0; i < explore_size(); i++) {
        put(s, explore_self());
        finish(s, explore_self());
    }
}

static void look_once(void *state)
{
    struct strobe_call_copy copy;
    look(state, 0, &copy);
}

static const struct explore_program turns_program = {
    .name = "calls/turns",
    .what = "a block goes from one writer to another: nobody finds entries of both",
    .thread_count = 3,
    .state_bytes = sizeof(struct calls_state),
    .setup = setup_one_block,
    .thread = {write_and_finish, write_and_finish, look_once},
    .check = check_balance,
    .quick = 1,
    .nightly = 2,
};

/* ---- calls/lap: two writers overwrite each other's blocks, and the accounting is consistent */

static void setup_three_blocks(void *state)
{
    make(state, 3, false);
}

static void write_a_lap(void *state)
{
    for (uint32_t i = 0; i < 1 + 2 * explore_size(); i++)
        put(state, explore_self());
}

static const struct explore_program lap_program = {
    .name = "calls/lap",
    .what = "what writers overwrite of one another is counted to the entry",
    .thread_count = 2,
    .state_bytes = sizeof(struct calls_state),
    .setup = setup_three_blocks,
    .thread = {write_a_lap, write_a_lap},
    .check = check_balance,
    .quick = 1,
    .nightly = 3,
};

/* ---- calls/oldest: a log that keeps the oldest entries */

static void setup_keep_oldest(void *state)
{
    make(state, 2, true);
}

static void check_oldest(void *state)
{
    struct calls_state *s = state;
    struct strobe_call_copy copy;
    uint32_t present = 0;
    balance(s, 0);
    for (uint32_t i = 0; i < 2; i++)
        present += look(s, i, &copy) == STROBE_CALLS_THERE ? copy.count : 0;
    explore_require(present == s->logged[0] + s->logged[1]);
    for (uint32_t i = 0; i < WRITERS; i++)
        explore_require(strobe_load_relaxed(&s->log.accounts[i].overwrote) == 0);
}

static const struct explore_program oldest_program = {
    .name = "calls/oldest",
    .what = "a full log that keeps the oldest refuses, and overwrites nothing",
    .thread_count = 2,
    .state_bytes = sizeof(struct calls_state),
    .setup = setup_keep_oldest,
    .thread = {write_a_lap, write_a_lap},
    .check = check_oldest,
    .quick = 1,
    .nightly = 3,
};

/* ---- calls/frozen: a writer is frozen before each of its operations */

enum { VICTIM, OTHER };

static void write_and_stop(void *state)
{
    for (uint32_t i = 0; i < 3; i++)
        put(state, VICTIM);
}

static void write_on(void *state)
{
    for (uint32_t i = 0; i < 1 + explore_size(); i++)
        put(state, OTHER);
}

static void check_frozen(void *state)
{
    struct calls_state *s = state;
    uint32_t refused = s->refused[OTHER];
    for (uint32_t i = 0; i < 4; i++)
        put(s, OTHER);
    explore_require(s->refused[OTHER] == refused);
    balance(s, 2 * STROBE_CALL_ENTRIES);
}

static const struct explore_program frozen_program = {
    .name = "calls/frozen",
    .what = "a writer stopped at any step holds up nobody and leaves whole entries",
    .thread_count = 2,
    .state_bytes = sizeof(struct calls_state),
    .setup = setup_three_blocks,
    .thread = {write_and_stop, write_on},
    .check = check_frozen,
    .quick = 2,
    .nightly = 4,
    .frozen = 1 << VICTIM,
};

/* ---- calls/quiet: a thread turns the switch off and waits until no thread claims blocks (engine/method/entry.h) */

static enum strobe_status attach(uint32_t *thread)
{
    *thread = explore_self();
    return STROBE_OK;
}

static void setup_switched_on(void *state)
{
    struct calls_state *s = state;
    make(s, 3, false);
    s->session.header = &s->header;
    s->session.calls = s->log;
    s->header.config.threads_max = WRITERS;
    strobe_store_relaxed(&s->header.thread_count, WRITERS);
    strobe_store_relaxed(&s->on, STROBE_ON);
    s->drawn = UINT64_MAX;
    strobe_entry_engine = (struct strobe_entry_engine){.session = &s->session, .busy = s->busy, .attach = attach};
    strobe_entry_switch = &s->on;
}

static void claim(void *state)
{
    struct calls_state *s = state;
    struct strobe_entry_thread *t = &s->thread[explore_self()];
    for (uint32_t i = 0; i < explore_size(); i++)
        strobe_entry_refill(t, &t->level[0]);
}

static void turn_off(void *state)
{
    struct calls_state *s = state;
    strobe_store_seq_cst(&s->on, STROBE_OFF);
    if (strobe_entry_quiet())
        s->drawn = strobe_load_relaxed(&s->log.head->next);
}

static void check_quiet(void *state)
{
    struct calls_state *s = state;
    explore_require(s->drawn == UINT64_MAX || s->drawn == strobe_load_relaxed(&s->log.head->next));
}

static const struct explore_program quiet_program = {
    .name = "calls/quiet",
    .what = "once it is quiet with the switch off, no block is claimed any more",
    .thread_count = 3,
    .state_bytes = sizeof(struct calls_state),
    .setup = setup_switched_on,
    .thread = {claim, claim, turn_off},
    .check = check_quiet,
    .quick = 1,
    .nightly = 2,
};

const struct explore_program *const explore_calls_programs[] = {
    &look_program, &turns_program, &lap_program, &oldest_program, &frozen_program, &quiet_program, NULL,
};
