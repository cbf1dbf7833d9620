/* Threads register and end, and their ids and buffers are used again, while a sampler reads the entries of all
 * threads. */
#include "engine/capture/thread.h"
#include "tests/explore/programs.h"

#include <stdalign.h>

enum { ENTRIES = 3, FILE_BYTES = 6 * 4096, TID = 100, TICKS = 5000, STACK = 0x10000 };

struct thread_state {
    alignas(4096) unsigned char memory[FILE_BYTES];
    struct strobe_engine engine;
    struct strobe_host host;
    struct strobe_thread thread[ENTRIES];
    strobe_a32 ended;           /* the first thread has ended, and its id is free */
    uint32_t attached[ENTRIES]; /* index + 1 of each program thread's entry; 0: none was left */
};

static uint64_t ticks(void *ctx)
{
    (void)ctx;
    return TICKS + explore_self();
}

static void setup_entries(struct thread_state *s, uint32_t entries)
{
    struct strobe_config c;
    strobe_config_default(&c);
    c.ring_slots = 2;
    c.images_max = 1;
    c.ring_subs = 1;
    c.stack_nodes = 2;
    c.threads_max = entries;
    explore_local(&strobe_local, sizeof strobe_local);
    s->host = (struct strobe_host){.ticks = ticks, .ticks_per_second = 1000000000};
    strobe_session_create_at(s->memory, &c, NULL, &s->engine.session);
    s->engine.config = c;
    s->engine.host = &s->host;
    s->engine.threads = s->thread;
}

static void setup_room(void *state)
{
    setup_entries(state, ENTRIES);
}

static void setup_one(void *state)
{
    setup_entries(state, 1);
}

/* Registers the calling thread; its name and stack follow from its tid. */
static struct strobe_thread *attach(struct thread_state *s, uint32_t tid)
{
    struct strobe_stack_bounds stack = {STACK + tid, STACK + 2 * tid, STACK + 3 * tid};
    struct strobe_thread *t = strobe_thread_attach(&s->engine, tid, tid == TID, "a", &stack);
    explore_require(strobe_local.thread == t);
    s->attached[explore_self()] = t ? t->index + 1 : 0;
    return t;
}

/* Requires the fields that the sampler uses after it finds a thread ready and alive. */
static void require_known(const struct strobe_engine *e, uint32_t index)
{
    const struct strobe_thread *t = &e->threads[index];
    uint32_t tid = t->entry->tid;
    explore_require(t->index == index && t->entry == &e->session.threads[index] && t->engine == e);
    explore_require(tid >= TID && tid <= TID + 1);
    explore_require(t->stack_low == STACK + tid && t->stack_high == STACK + 2 * tid &&
                    t->root_frame == STACK + 3 * tid);
    explore_require(t->entry->generation == index + 1 && t->entry->is_main == (tid == TID));
}

/* Reads all threads' entries as a pass does. */
static void look(void *state)
{
    struct thread_state *s = state;
    for (uint32_t turn = 0; turn < explore_size(); turn++) {
        uint32_t count = strobe_session_thread_count(&s->engine.session);
        for (uint32_t i = 0; i < count; i++) {
            struct strobe_thread *t = &s->thread[i];
            if (strobe_load_acquire(&t->ready) && strobe_load_acquire(&t->entry->state) == STROBE_THREAD_LIVE)
                require_known(&s->engine, i);
        }
    }
}

/* Reads only the file, as another process does. */
static void read_file(void *state)
{
    struct thread_state *s = state;
    const struct strobe_session *session = &s->engine.session;
    uint32_t count = strobe_session_thread_count(session);
    for (uint32_t i = 0; i < count; i++) {
        const struct strobe_thread_entry *e = &session->threads[i];
        uint32_t is = strobe_load_acquire(&e->state);
        if (is == STROBE_THREAD_FREE)
            continue;
        explore_require(e->generation == i + 1 && (e->tid == TID || e->tid == TID + 1));
        explore_require(is != STROBE_THREAD_ENDED || e->end_ticks >= TICKS);
    }
}

/* ---- thread/register */

static void live(void *state)
{
    attach(state, TID + explore_self());
}

static void live_and_end(void *state)
{
    struct thread_state *s = state;
    struct strobe_thread *t = attach(s, TID + explore_self());
    if (t)
        strobe_thread_detach(t);
    explore_require(!strobe_local.thread);
}

static void check_registered(void *state)
{
    struct thread_state *s = state;
    explore_require(s->attached[0] && s->attached[1] && s->attached[0] != s->attached[1]);
    for (uint32_t i = 0; i < 2; i++)
        require_known(&s->engine, i);
}

static const struct explore_program register_program = {
    .name = "thread/register",
    .what = "a thread that the sampler finds ready is known whole",
    .thread_count = 3,
    .state_bytes = sizeof(struct thread_state),
    .setup = setup_room,
    .thread = {live, live_and_end, look},
    .check = check_registered,
    .quick = 1,
    .nightly = 2,
};

/* ---- thread/file */

static const struct explore_program file_program = {
    .name = "thread/file",
    .what = "another process that finds a thread's state finds its identity, and its end",
    .thread_count = 3,
    .state_bytes = sizeof(struct thread_state),
    .setup = setup_room,
    .thread = {live, live_and_end, read_file},
    .check = check_registered,
    .quick = 1,
    .nightly = 1,
};

/* ---- thread/reuse: the id of a thread that has ended is given to another */

static void live_and_free(void *state)
{
    struct thread_state *s = state;
    strobe_thread_detach(attach(s, TID));
    strobe_store_release(&s->ended, 1);
}

static void live_again(void *state)
{
    struct thread_state *s = state;
    if (strobe_load_acquire(&s->ended))
        attach(s, TID);
}

/* No two live threads have one id. */
static void look_for_twins(void *state)
{
    struct thread_state *s = state;
    uint32_t count = strobe_session_thread_count(&s->engine.session), alive = 0;
    for (uint32_t i = count; i--;) {
        struct strobe_thread *t = &s->thread[i];
        if (!strobe_load_acquire(&t->ready) || strobe_load_acquire(&t->entry->state) != STROBE_THREAD_LIVE)
            continue;
        require_known(&s->engine, i);
        alive++;
    }
    explore_require(alive <= 1);
}

static void check_reused(void *state)
{
    struct thread_state *s = state;
    explore_require(s->attached[0] == 1 && (s->attached[1] == 0 || s->attached[1] == 2));
    explore_require(strobe_load_relaxed(&s->engine.session.threads[0].state) == STROBE_THREAD_ENDED);
    for (uint32_t i = 0; i < strobe_session_thread_count(&s->engine.session); i++)
        require_known(&s->engine, i);
}

static const struct explore_program reuse_program = {
    .name = "thread/reuse",
    .what = "an id that is used again is another thread: two incarnations never live at once",
    .thread_count = 3,
    .state_bytes = sizeof(struct thread_state),
    .setup = setup_room,
    .thread = {live_and_free, live_again, look_for_twins},
    .check = check_reused,
    .quick = 1,
    .nightly = 1,
};

/* ---- thread/full: there is one entry for two threads */

static void check_one(void *state)
{
    struct thread_state *s = state;
    explore_require(!s->attached[0] != !s->attached[1]);
    explore_require(strobe_session_thread_count(&s->engine.session) == 1);
}

static const struct explore_program full_program = {
    .name = "thread/full",
    .what = "when the table is full a thread is refused, and the sampler reads no further",
    .thread_count = 3,
    .state_bytes = sizeof(struct thread_state),
    .setup = setup_one,
    .thread = {live, live_and_end, look},
    .check = check_one,
    .quick = 1,
    .nightly = 2,
};

/* ---- thread/chunk: other threads may overwrite the records of a thread that ended */

static void write_and_end(void *state)
{
    struct thread_state *s = state;
    struct strobe_thread *t = attach(s, TID + explore_self());
    struct strobe_record r = {.ticks = explore_self() + 1, .count = explore_self() + 1};
    s->attached[explore_self()] = strobe_ring_write(&s->engine.session.ring, &t->writer, &r, NULL) == STROBE_OK;
    strobe_thread_detach(t);
}

/* The present and the overwritten samples are the written ones. */
static void check_chunk(void *state)
{
    struct thread_state *s = state;
    struct strobe_ring_item item;
    uint64_t written = 0, overwrote = 0, present = 0;
    for (uint32_t i = 0; i < 2; i++) {
        written += s->attached[i] * (i + 1);
        overwrote += s->thread[i].writer.overwrote;
        if (strobe_ring_look(&s->engine.session.ring, i, &item) == STROBE_LOOK_RECORD)
            present += item.record.count;
    }
    explore_require(!(strobe_load_relaxed(&s->engine.session.ring.chunks[0]) & 1));
    explore_require(present + overwrote == written);
}

static const struct explore_program chunk_program = {
    .name = "thread/chunk",
    .what = "a thread that ends gives its chunk back, with all that it wrote in it",
    .thread_count = 2,
    .state_bytes = sizeof(struct thread_state),
    .setup = setup_room,
    .thread = {write_and_end, write_and_end},
    .check = check_chunk,
    .quick = 1,
    .nightly = 1,
};

/* ---- thread/frozen: a thread is frozen while it registers or ends */

static void check_other(void *state)
{
    struct thread_state *s = state;
    explore_require(s->attached[1] != 0);
    require_known(&s->engine, s->attached[1] - 1);
}

static const struct explore_program frozen_program = {
    .name = "thread/frozen",
    .what = "a thread stopped while it registers or ends holds up nobody",
    .thread_count = 3,
    .state_bytes = sizeof(struct thread_state),
    .setup = setup_room,
    .thread = {live_and_end, live, look},
    .check = check_other,
    .quick = 1,
    .nightly = 1,
    .frozen = 1,
};

/* ---- thread/buffers: threads take buffers from the pool and give them back */

enum { BLOCKS = 4 };

struct buffers_state {
    struct strobe_buffer_pool pool;
    strobe_a32 next[BLOCKS];
    strobe_a32 users[BLOCKS]; /* of each block */
    struct strobe_buffers *blocks;
};

static struct strobe_buffers *take(struct buffers_state *s)
{
    struct strobe_buffers *block = strobe_buffers_take(&s->pool);
    explore_require(block - s->blocks >= 0 && block - s->blocks < BLOCKS);
    explore_require(strobe_add_relaxed(&s->users[block - s->blocks], 1) == 0);
    return block;
}

static void give_back(struct buffers_state *s, struct strobe_buffers *block)
{
    strobe_store_relaxed(&s->users[block - s->blocks], 0);
    strobe_buffers_give_back(&s->pool, block);
}

/* Two blocks are free; the others have not been in use. */
static void setup_buffers(void *state)
{
    static struct strobe_buffers blocks[BLOCKS];
    struct buffers_state *s = state;
    s->blocks = blocks;
    s->pool.next = s->next;
    s->pool.blocks = blocks;
    struct strobe_buffers *a = take(s), *b = take(s);
    give_back(s, a);
    give_back(s, b);
}

static void take_two(void *state)
{
    take(state);
    take(state);
}

/* Makes the block that was first be first again, while the one behind it is in use. */
static void take_two_and_give_back_one(void *state)
{
    struct strobe_buffers *first = take(state);
    take(state);
    give_back(state, first);
}

static void check_buffers(void *state)
{
    struct buffers_state *s = state;
    uint32_t used = 0;
    for (uint32_t i = 0; i < BLOCKS; i++)
        used += strobe_load_relaxed(&s->users[i]);
    explore_require(used == 3);
}

static const struct explore_program buffers_program = {
    .name = "thread/buffers",
    .what = "no two threads have the same buffers",
    .thread_count = 2,
    .state_bytes = sizeof(struct buffers_state),
    .setup = setup_buffers,
    .thread = {take_two, take_two_and_give_back_one},
    .check = check_buffers,
    .quick = 1,
    .nightly = 1,
};

const struct explore_program *const explore_thread_programs[] = {
    &register_program, &file_program,   &reuse_program,   &full_program,
    &chunk_program,    &frozen_program, &buffers_program, NULL,
};
