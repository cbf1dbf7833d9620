/* The session file's shared memory: what readers find while it is published. Readers represent other processes that map
 * the file. */
#include "engine/store/session.h"
#include "tests/explore/programs.h"

#include <stdalign.h>

enum { THREADS = 3, FILE_BYTES = 6 * 4096, TID = 100, TICKS = 5000 };

struct session_state {
    alignas(4096) unsigned char memory[FILE_BYTES];
    struct strobe_session session;
    struct strobe_config config;
    enum strobe_status status[THREADS];
    uint32_t index[THREADS][2];
};

/* Returns the smallest config with `threads` thread entries. */
static struct strobe_config small_config(uint32_t threads)
{
    struct strobe_config c;
    strobe_config_default(&c);
    c.ring_slots = c.images_max = 2;
    c.ring_subs = 1;
    c.stack_nodes = 2;
    c.threads_max = threads;
    return c;
}

static void setup_session(struct session_state *s, uint32_t threads)
{
    struct strobe_config c = small_config(threads);
    strobe_session_create_at(s->memory, &c, NULL, &s->session);
}

/* ---- session/create: a reader opens a session while it is laid out */

static void setup_nothing(void *state)
{
    struct session_state *s = state;
    s->config = small_config(2);
}

static void create(void *state)
{
    struct session_state *s = state;
    explore_require(strobe_session_create_at(s->memory, &s->config, "x", &s->session) == STROBE_OK);
}

/* A reader finds no session, or the whole session. */
static void open_whole(void *state)
{
    struct session_state *s = state;
    struct strobe_session found;
    if (strobe_session_open_at(s->memory, sizeof s->memory, &found) != STROBE_OK)
        return;
    explore_require(found.header->command[0] == 'x');
    explore_require(strobe_ring_slot_count(&found.ring) == 2 && found.stacks.head->node_capacity == 2);
    explore_require(strobe_session_thread_count(&found) == 0 && strobe_stack_node_count(&found.stacks) == 0);
}

static void check_created(void *state)
{
    struct session_state *s = state;
    struct strobe_session found;
    explore_require(strobe_session_open_at(s->memory, sizeof s->memory, &found) == STROBE_OK);
}

static const struct explore_program create_program = {
    .name = "session/create",
    .what = "who finds the magic of a session finds the rest of it",
    .thread_count = 2,
    .state_bytes = sizeof(struct session_state),
    .setup = setup_nothing,
    .thread = {create, open_whole},
    .check = check_created,
    .quick = 1,
    .nightly = 1,
};

/* ---- session/begin: several processes attach */

static void setup_created(void *state)
{
    setup_session(state, 2);
}

static void begin(void *state)
{
    struct session_state *s = state;
    struct strobe_session mine;
    explore_require(strobe_session_open_at(s->memory, sizeof s->memory, &mine) == STROBE_OK);
    s->status[explore_self()] = strobe_session_begin(&mine, TID + explore_self());
}

static void check_begun(void *state)
{
    struct session_state *s = state;
    uint32_t begun = 0;
    for (uint32_t i = 0; i < THREADS; i++) {
        explore_require(s->status[i] == STROBE_OK || s->status[i] == STROBE_EXISTS);
        begun += s->status[i] == STROBE_OK;
        explore_require(s->status[i] != STROBE_OK || s->session.header->pid == TID + i);
    }
    explore_require(begun == 1);
    explore_require(strobe_load_relaxed(&s->session.header->state) == STROBE_SESSION_RUNNING);
}

static const struct explore_program begin_program = {
    .name = "session/begin",
    .what = "of several processes that attach to a session one does",
    .thread_count = 3,
    .state_bytes = sizeof(struct session_state),
    .setup = setup_created,
    .thread = {begin, begin, begin},
    .check = check_begun,
    .quick = 1,
    .nightly = 1,
};

/* ---- session/finish: a reader comes while the session is closed */

static void finish(void *state)
{
    struct session_state *s = state;
    struct strobe_session session = s->session;
    strobe_session_finish(&session, &(struct strobe_clock_pair){TICKS, TICKS + 1, TICKS + 2, TICKS + 3});
}

static void read_end(void *state)
{
    struct session_state *s = state;
    const struct strobe_session_header *h = s->session.header;
    if (strobe_load_acquire(&h->state) != STROBE_SESSION_CLOSED)
        return;
    struct strobe_clock_pair end = h->end;
    explore_require(end.ticks == TICKS && end.monotonic_ns == TICKS + 1 && end.boottime_ns == TICKS + 2 &&
                    end.realtime_ns == TICKS + 3);
}

static void check_finished(void *state)
{
    struct session_state *s = state;
    explore_require(strobe_load_relaxed(&s->session.header->state) == STROBE_SESSION_CLOSED);
}

static const struct explore_program finish_program = {
    .name = "session/finish",
    .what = "who finds a session closed finds when it ended",
    .thread_count = 2,
    .state_bytes = sizeof(struct session_state),
    .setup = setup_created,
    .thread = {finish, read_end},
    .check = check_finished,
    .quick = 1,
    .nightly = 1,
};

/* ---- session/threads: threads claim entries until none is left */

static void setup_two_entries(void *state)
{
    setup_session(state, 2);
}

static void add_threads(void *state)
{
    struct session_state *s = state;
    struct strobe_session session = s->session;
    uint32_t self = explore_self();
    for (uint32_t i = 0; i < explore_size(); i++) {
        uint32_t index = UINT32_MAX, tid = TID + self;
        enum strobe_status status = strobe_session_add_thread(&session, tid, self == 0, TICKS + tid, &index);
        explore_require(status == STROBE_OK ? index < 2 : status == STROBE_FULL);
        s->index[self][i] = status == STROBE_OK ? index + 1 : 0;
    }
}

static void read_threads(void *state)
{
    struct session_state *s = state;
    struct strobe_session session = s->session;
    uint32_t count = strobe_session_thread_count(&session);
    explore_require(count <= 2);
    for (uint32_t i = 0; i < count; i++) {
        const struct strobe_thread_entry *e = &session.threads[i];
        if (strobe_load_acquire(&e->state) == STROBE_THREAD_FREE)
            continue;
        explore_require(e->tid == TID || e->tid == TID + 1);
        explore_require(e->generation == i + 1 && e->is_main == (e->tid == TID) && e->start_ticks == TICKS + e->tid);
    }
}

static void check_threads(void *state)
{
    struct session_state *s = state;
    uint32_t given = 0, wanted = 2 * explore_size();
    for (uint32_t thread = 0; thread < 2; thread++) {
        for (uint32_t i = 0; i < explore_size(); i++) {
            uint32_t index = s->index[thread][i];
            explore_require(!index || !(given >> index & 1));
            explore_require(!index || s->session.threads[index - 1].tid == TID + thread);
            given |= index ? 1u << index : 0;
        }
    }
    explore_require((uint32_t)__builtin_popcount(given) == (wanted < 2 ? wanted : 2));
    explore_require(strobe_session_thread_count(&s->session) == 2);
}

static const struct explore_program threads_program = {
    .name = "session/threads",
    .what = "thread entries: each to one thread, whole when found",
    .thread_count = 3,
    .state_bytes = sizeof(struct session_state),
    .setup = setup_two_entries,
    .thread = {add_threads, add_threads, read_threads},
    .check = check_threads,
    .quick = 2,
    .nightly = 2,
};

/* ---- session/images: the same for images, which their owner publishes */

static void add_images(void *state)
{
    struct session_state *s = state;
    struct strobe_session session = s->session;
    for (uint32_t i = 0; i < 2; i++) {
        struct strobe_image_entry *e = strobe_session_add_image(&session);
        s->index[explore_self()][i] = e ? (uint32_t)(e - session.images) + 1 : 0;
        if (!e)
            continue;
        e->start = TICKS + explore_self();
        e->end = e->start + 1;
        strobe_store_release(&e->published, 1);
    }
}

static void read_images(void *state)
{
    struct session_state *s = state;
    struct strobe_session session = s->session;
    uint32_t count = strobe_session_image_count(&session);
    for (uint32_t i = 0; i < count; i++) {
        const struct strobe_image_entry *e = &session.images[i];
        if (strobe_load_acquire(&e->published))
            explore_require(e->start >= TICKS && e->end == e->start + 1);
    }
}

static void check_images(void *state)
{
    struct session_state *s = state;
    uint32_t given = 0, refused = 0;
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t index = s->index[i / 2][i % 2];
        explore_require(!index || !(given >> index & 1));
        given |= index ? 1u << index : 0;
        refused += !index;
    }
    explore_require(refused == 2 && strobe_session_image_count(&s->session) == 2);
}

static const struct explore_program images_program = {
    .name = "session/images",
    .what = "image entries: each to one thread, whole when found",
    .thread_count = 3,
    .state_bytes = sizeof(struct session_state),
    .setup = setup_created,
    .thread = {add_images, add_images, read_images},
    .check = check_images,
    .quick = 1,
    .nightly = 1,
};

const struct explore_program *const explore_session_programs[] = {
    &create_program, &begin_program, &finish_program, &threads_program, &images_program, NULL,
};
