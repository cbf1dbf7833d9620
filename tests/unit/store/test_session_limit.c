/* A session file in which only the first part has disk blocks: a store to another page would kill the process (S-20).
 * */
#include "engine/store/session.h"
#include "tests/unit/support/temp_dir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

enum { PAGE = 4096, RECORDS = 100000, STACKS = 20000, DEPTH = 6 };

static struct strobe_session_limit limit;
static struct strobe_session session;
static struct strobe_stack_cursor cursor;
static bool there_is_room;
static uint32_t asked;

static void make_whole(void)
{
    assert_int_equal(mprotect(session.header, session.mapped_bytes, PROT_READ | PROT_WRITE), 0);
}

static bool end_limit(const struct strobe_session *s)
{
    asked++;
    if (!there_is_room)
        return false;
    make_whole();
    strobe_session_end_limit(s);
    return true;
}

/* Opens a session in memory of which only the limited parts are accessible. Any other page acts as a page without disk
 * blocks. */
static void open_limited(enum strobe_ring_mode mode)
{
    struct strobe_config c;
    struct strobe_part part[STROBE_SESSION_PARTS];
    strobe_config_default(&c);
    c.ring_mode = mode;
    size_t bytes = strobe_session_file_bytes(&c);
    char *memory = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_ptr_not_equal(memory, MAP_FAILED);
    uint32_t count = strobe_session_parts(&c, part);
    uint64_t end = 0, sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        assert_true(part[i].offset >= end && part[i].bytes && part[i].offset % PAGE == 0 && part[i].bytes % PAGE == 0);
        end = part[i].offset + part[i].bytes;
        sum += part[i].bytes;
        assert_int_equal(mprotect(memory + part[i].offset, part[i].bytes, PROT_READ | PROT_WRITE), 0);
    }
    assert_true(end <= bytes && sum <= 256 << 10);
    assert_int_equal(strobe_session_create_at(memory, &c, "limited", &session), STROBE_OK);
    limit = (struct strobe_session_limit){.end = end_limit};
    strobe_session_limit_to_parts(&session, &limit);
    memset(&cursor, 0, sizeof cursor);
    asked = 0;
}

static void close_session(void)
{
    munmap(session.header, session.mapped_bytes);
}

/* Returns how many of `count` records of a thread were accepted. */
static uint32_t write_records(struct strobe_ring_writer *w, uint32_t count)
{
    uint32_t taken = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct strobe_record r = {.ticks = i + 1, .count = 1};
        taken += strobe_ring_write(&session.ring, w, &r, NULL) == STROBE_OK;
    }
    return taken;
}

static uint32_t records_there(void)
{
    struct strobe_ring_item item;
    uint32_t there = 0;
    for (uint32_t i = 0; i < strobe_ring_slot_count(&session.ring); i++)
        there +=
            !strobe_ring_untouched(&session.ring, i) && strobe_ring_look(&session.ring, i, &item) == STROBE_LOOK_RECORD;
    return there;
}

static uint32_t intern_stacks(uint64_t salt, uint32_t count)
{
    uint32_t taken = 0, id;
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t frames[DEPTH] = {salt, i % 7, i % 31, i % 101, i % 1009, i};
        taken += strobe_stack_intern(&session.stacks, &cursor, frames, DEPTH, &id) == STROBE_OK;
    }
    return taken;
}

static void a_limited_ring_keeps_the_newest_and_counts_the_others(void **state)
{
    (void)state;
    open_limited(STROBE_KEEP_NEWEST);
    struct strobe_ring_writer w[20] = {0};
    uint64_t overwrote = 0, written = 0;
    for (uint32_t i = 0; i < 20; i++) {
        strobe_ring_writer_init(&session.ring, &w[i], i + 1);
        written += write_records(&w[i], RECORDS / 20);
    }
    make_whole();
    for (uint32_t i = 0; i < 20; i++)
        overwrote += w[i].overwrote;
    assert_int_equal(written, RECORDS);
    assert_int_equal(overwrote + records_there(), RECORDS);
    assert_true(records_there() > 500);
    close_session();
}

static void a_limited_ring_refuses_what_its_part_cannot_keep(void **state)
{
    (void)state;
    open_limited(STROBE_KEEP_OLDEST);
    struct strobe_ring_writer w = {0};
    strobe_ring_writer_init(&session.ring, &w, 12345);
    const uint32_t most = STROBE_LIMIT_CHUNKS * STROBE_CHUNK_SLOTS;
    assert_int_equal(write_records(&w, RECORDS), most);
    make_whole();
    strobe_session_end_limit(&session);
    assert_int_equal(write_records(&w, RECORDS), RECORDS);
    assert_int_equal(records_there(), most + RECORDS);
    close_session();
}

static void fill_limited_table(uint64_t salt)
{
    open_limited(STROBE_KEEP_NEWEST);
    uint32_t taken = intern_stacks(salt, STACKS);
    assert_in_range(taken, STROBE_STACK_LIMIT_MAX / 4, STROBE_STACK_LIMIT_MAX);
    assert_int_equal(strobe_load_relaxed(&session.stacks.head->full_count), STACKS - taken);
    assert_true(strobe_stack_node_count(&session.stacks) <= STROBE_STACK_LIMIT_MAX);
    make_whole();
    strobe_session_end_limit(&session);
    assert_int_equal(intern_stacks(salt, STACKS), STACKS);
    uint32_t nodes = strobe_stack_node_count(&session.stacks);
    assert_int_equal(intern_stacks(salt, STACKS), STACKS);
    assert_int_equal(strobe_stack_node_count(&session.stacks), nodes); /* no stack has a second node */
    close_session();
}

/* With some salts, a line of slots is full before the nodes are. */
static void a_limited_table_refuses_until_the_limit_ends(void **state)
{
    (void)state;
    for (uint64_t salt = 1; salt <= 20; salt++)
        fill_limited_table(salt);
}

static void entries_are_handed_out_as_far_as_there_are_blocks(void **state)
{
    (void)state;
    uint32_t index;
    open_limited(STROBE_KEEP_NEWEST);
    there_is_room = false;
    for (uint32_t i = 0; i < 3 * STROBE_LIMIT_THREADS; i++)
        assert_int_equal(strobe_session_add_thread(&session, i + 1, 0, 1, &index),
                         i < STROBE_LIMIT_THREADS ? STROBE_OK : STROBE_FULL);
    for (uint32_t i = 0; i < 3 * STROBE_LIMIT_IMAGES; i++)
        assert_int_equal(strobe_session_add_image(&session) != NULL, i < STROBE_LIMIT_IMAGES);
    assert_int_equal(strobe_session_thread_count(&session), STROBE_LIMIT_THREADS);
    assert_int_equal(strobe_session_image_count(&session), STROBE_LIMIT_IMAGES);
    assert_true(strobe_session_nears_limit(&session));
    assert_int_equal(asked, 2 * (STROBE_LIMIT_THREADS + STROBE_LIMIT_IMAGES));
    there_is_room = true;
    for (uint32_t i = 0; i < 500; i++) {
        assert_int_equal(strobe_session_add_thread(&session, i + 1, 0, 1, &index), STROBE_OK);
        assert_int_equal(index, STROBE_LIMIT_THREADS + i);
    }
    assert_int_equal(asked, 2 * (STROBE_LIMIT_THREADS + STROBE_LIMIT_IMAGES) + 1);
    close_session();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_limited_ring_keeps_the_newest_and_counts_the_others),
        cmocka_unit_test(a_limited_ring_refuses_what_its_part_cannot_keep),
        cmocka_unit_test(a_limited_table_refuses_until_the_limit_ends),
        cmocka_unit_test(entries_are_handed_out_as_far_as_there_are_blocks),
    };
    return cmocka_run_group_tests(tests, temp_dir_open, temp_dir_close);
}
