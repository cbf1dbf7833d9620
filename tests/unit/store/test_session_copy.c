/* Copies of sessions that are being written (session_copy.h). The reader judges them as it judges a session's file. */
#include "engine/store/session_copy.h"

#include "engine/base/error.h"
#include "engine/trace/session/reader.h"
#include "tests/support/temporary.h"
#include "tests/unit/support/session_builder.h"
#include "tests/unit/support/trial.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

enum { WRITERS = 3, COPIES = 3, STACKS = 400 };

static char source_path[TEMPORARY_BYTES], copy_path[TEMPORARY_BYTES];

/* Copies the session to copy_path. */
static void copy_to_file(const struct strobe_session *from, uint64_t since_ticks)
{
    void *memory;
    size_t bytes;
    assert_int_equal(strobe_session_copy_map(from, since_ticks, UINT64_MAX, &memory, &bytes), STROBE_OK);
    FILE *f = fopen(copy_path, "we");
    assert_non_null(f);
    assert_int_equal(fwrite(memory, 1, bytes, f), bytes);
    assert_int_equal(fclose(f), 0);
    munmap(memory, bytes);
}

static struct strobe_reader *read_checked(const char *path)
{
    struct strobe_reader *r;
    struct strobe_error error;
    if (strobe_reader_open(path, &r, &error) != STROBE_OK || !strobe_reader_check(r, &error))
        fail_msg("%s: %s", path, error.text);
    return r;
}

static void assert_equal_items(const struct strobe_reader *a, const struct strobe_reader *b)
{
    assert_int_equal(a->thread_count, b->thread_count);
    for (uint32_t t = 0; t < a->thread_count; t++) {
        const struct strobe_reader_thread *x = &a->threads[t], *y = &b->threads[t];
        assert_string_equal(x->name, y->name);
        assert_int_equal(x->item_count, y->item_count);
        for (size_t i = 0; i < x->item_count; i++)
            assert_memory_equal(&x->items[i].record, &y->items[i].record, sizeof x->items[i].record);
        assert_int_equal(x->all.requests, y->all.requests);
        assert_int_equal(x->overwritten, y->overwritten);
    }
    assert_int_equal(a->metrics_count, b->metrics_count);
    if (a->metrics_count)
        assert_memory_equal(a->metrics, b->metrics, a->metrics_count * sizeof *a->metrics);
    assert_int_equal(a->image_count, b->image_count);
}

static void write_some(struct strobe_build *b, uint32_t records)
{
    struct strobe_metrics metrics = {.alloc_count = 1};
    for (uint32_t i = 0; i < records; i++) {
        uint64_t frames[3] = {0x1000, 0x2000 + i % 7, 0x3000 + i % STACKS};
        struct strobe_record r = {.ticks = 1000 * i, .thread = i % 2, .stack = strobe_build_stack(b, frames, 3)};
        r.kind = i % 5 ? STROBE_KIND_ALLOC : STROBE_KIND_MUTEX;
        strobe_build_record(b, r, i % 3 ? NULL : &metrics);
    }
}

static void begin_source(struct strobe_build *b, uint32_t slots, enum strobe_ring_mode mode)
{
    struct strobe_config config = strobe_build_config();
    config.ring_slots = slots;
    config.ring_mode = mode;
    config.names_bytes = STROBE_NAMES_BYTES_MIN;
    strobe_build_begin(b, source_path, &config);
    strobe_build_thread(b, 100, "main");
    strobe_build_thread(b, 101, "worker");
    strobe_build_image(b, "/lib/app.so", 0x1000, 0x9000);
    strobe_names_add(&b->session.names, 0x1000, "Main.run", 8, 0);
}

static void a_copy_of_a_session_at_rest_reads_as_the_session(void **state)
{
    (void)state;
    static const uint32_t records[] = {0, 1, 31, 500, 5000};
    for (size_t i = 0; i < sizeof records / sizeof records[0]; i++) {
        struct strobe_build b;
        uint64_t at = 0;
        struct strobe_named_address name;
        begin_source(&b, 2048, STROBE_KEEP_NEWEST); /* 5000 records overwrite earlier ones */
        write_some(&b, records[i]);
        copy_to_file(&b.session, 0);
        strobe_build_kill(&b);
        struct strobe_reader *source = read_checked(source_path), *copy = read_checked(copy_path);
        assert_equal_items(source, copy);
        assert_int_equal(source->overwrote, copy->overwrote);
        assert_false(copy->closed);
        assert_true(strobe_names_next(&copy->session.names, &at, &name));
        assert_memory_equal(name.text, "Main.run", 8);
        for (uint32_t t = 0; t < copy->thread_count; t++)
            for (size_t k = 0; k < copy->threads[t].item_count; k++) {
                uint64_t frames[4];
                uint32_t count;
                assert_int_equal(strobe_stack_frames(&copy->session.stacks, copy->threads[t].items[k].record.stack,
                                                     frames, 4, &count),
                                 STROBE_OK);
                assert_int_equal(count, 3);
            }
        strobe_reader_close(source);
        strobe_reader_close(copy);
    }
}

static void a_copy_of_a_closed_session_is_closed(void **state)
{
    (void)state;
    struct strobe_build b;
    struct strobe_session closed;
    begin_source(&b, 2048, STROBE_KEEP_NEWEST);
    write_some(&b, 100);
    strobe_build_end(&b, 200000);
    assert_int_equal(strobe_session_open(source_path, &closed), STROBE_OK);
    copy_to_file(&closed, 0);
    struct strobe_reader *copy = read_checked(copy_path);
    assert_true(copy->closed);
    assert_int_equal(copy->last_ticks, STROBE_BUILD_BEGIN_NS + 200000);
    strobe_reader_close(copy);
    strobe_session_unmap(&closed);
}

static void a_copy_since_a_time_has_the_records_that_end_later_and_no_loss(void **state)
{
    (void)state;
    struct strobe_build b;
    begin_source(&b, 2048, STROBE_KEEP_OLDEST);
    write_some(&b, 500);
    copy_to_file(&b.session, STROBE_BUILD_BEGIN_NS + 400000);
    strobe_build_kill(&b);
    struct strobe_reader *copy = read_checked(copy_path);
    assert_int_equal(copy->samples, 100);
    assert_int_equal(copy->overwrote, 0);
    for (uint32_t t = 0; t < copy->thread_count; t++)
        for (size_t i = 0; i < copy->threads[t].item_count; i++)
            assert_true(copy->threads[t].items[i].record.ticks >= STROBE_BUILD_BEGIN_NS + 400000);
    strobe_reader_close(copy);
}

static void a_copy_is_as_large_as_its_content(void **state)
{
    (void)state;
    struct strobe_build b;
    struct strobe_session_copy copy;
    struct strobe_config config;
    strobe_config_default(&config);
    strobe_build_begin(&b, source_path, &config);
    strobe_build_thread(&b, 100, "main");
    write_some(&b, 0);
    assert_int_equal(strobe_session_copy_measure(&b.session, 0, &copy), STROBE_OK);
    assert_in_range(copy.bytes, 1, 512 << 10);
    assert_true(b.session.mapped_bytes > 60 << 20);
    strobe_build_kill(&b);
}

static void a_copy_for_which_threads_have_written_too_much_says_so(void **state)
{
    (void)state;
    struct strobe_build b;
    struct strobe_session_copy copy;
    begin_source(&b, 8192, STROBE_KEEP_OLDEST);
    write_some(&b, 500);
    assert_int_equal(strobe_session_copy_measure(&b.session, 0, &copy), STROBE_OK);
    for (int more = 0; more < 2; more++) {
        write_some(&b, more ? 4000 : 500);
        void *memory = mmap(NULL, copy.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        assert_true(memory != MAP_FAILED);
        assert_int_equal(strobe_session_copy_make(&b.session, 0, &copy, memory), more ? STROBE_FULL : STROBE_OK);
        munmap(memory, copy.bytes);
    }
    strobe_build_kill(&b);
}

static void a_session_with_a_call_log_is_not_copied(void **state)
{
    (void)state;
    struct strobe_build b;
    struct strobe_session_copy copy;
    struct strobe_config config = strobe_build_config();
    config.call_units = 16;
    strobe_build_begin(&b, source_path, &config);
    assert_int_equal(strobe_session_copy_measure(&b.session, 0, &copy), STROBE_UNSUPPORTED);
    strobe_build_kill(&b);
}

/* ---- writers go on */

static struct strobe_session *shared;
static strobe_a32 writers_stop;

/* Takes samples as sample.c does: intern, write, count; every 50th record is extended. */
static void *take_samples(void *p)
{
    uint32_t number = *(uint32_t *)p, index;
    uint64_t seed = number + 1, ticks = STROBE_BUILD_BEGIN_NS;
    struct strobe_stack_cursor *cursor = calloc(1, sizeof *cursor);
    struct strobe_ring_writer w = {0};
    strobe_session_add_thread(shared, 200 + number, 0, ticks, &index);
    strobe_ring_writer_init(&shared->ring, &w, 200 + number);
    struct strobe_thread_entry *e = &shared->threads[index];
    struct strobe_account *a = &e->account[STROBE_KIND_ALLOC];
    struct strobe_metrics m = {.alloc_count = number};
    while (!strobe_load_relaxed(&writers_stop)) {
        uint64_t frames[3] = {0x1000, 0x2000 + number, 0x3000 + strobe_trial_below(&seed, 50000)};
        struct strobe_record r = {.ticks = ticks += 10, .thread = index, .count = 1, .kind = STROBE_KIND_ALLOC};
        strobe_bump(&a->requests, 1);
        strobe_stack_intern(&shared->stacks, cursor, frames, 3, &r.stack);
        bool rewrites = strobe_trial_below(&seed, 50) == 0;
        if (strobe_ring_write(&shared->ring, &w, &r, seed % 3 ? NULL : &m) != STROBE_OK) {
            strobe_bump(&a->dropped, 1);
            continue;
        }
        strobe_bump(&a->sampled, 1);
        strobe_store_relaxed(&e->overwrote_samples, w.overwrote);
        r.count = 2;
        if (!rewrites)
            continue;
        strobe_bump(&a->requests, 1);
        bool done = strobe_ring_rewrite(&shared->ring, &w, &r, seed % 3 ? NULL : &m) == STROBE_OK;
        strobe_bump(done ? &a->sampled : &a->dropped, 1);
    }
    strobe_ring_writer_close(&shared->ring, &w);
    free(cursor);
    return NULL;
}

static uint64_t sum_overwrote(const struct strobe_session *s)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < strobe_session_thread_count(s); i++)
        sum += strobe_load_relaxed(&s->threads[i].overwrote_samples);
    return sum;
}

/* Copies a new session a few times while threads write, and so add stacks until its table is full. Each copy passes the
 * reader's checks, and every stack of its records is there. What it reports as overwritten is at most what writers had
 * overwritten when it was made. */
static void copy_while_threads_write(enum strobe_ring_mode mode)
{
    struct strobe_build b;
    pthread_t threads[WRITERS];
    uint32_t numbers[WRITERS];
    begin_source(&b, 4096, mode);
    shared = &b.session;
    strobe_store_relaxed(&writers_stop, 0);
    for (uint32_t i = 0; i < WRITERS; i++) {
        numbers[i] = i;
        assert_int_equal(pthread_create(&threads[i], NULL, take_samples, &numbers[i]), 0);
    }
    for (int round = 0; round < COPIES; round++) {
        copy_to_file(&b.session, 0);
        uint64_t overwrote = sum_overwrote(&b.session);
        struct strobe_reader *copy = read_checked(copy_path);
        assert_true(copy->overwrote <= overwrote + (uint64_t)WRITERS * 4);
        for (uint32_t t = 0; t < copy->thread_count; t++)
            for (size_t i = 0; i < copy->threads[t].item_count; i++) {
                uint64_t frames[4];
                uint32_t count, id = copy->threads[t].items[i].record.stack;
                assert_int_equal(strobe_stack_frames(&copy->session.stacks, id, frames, 4, &count), STROBE_OK);
            }
        strobe_reader_close(copy);
    }
    strobe_store_relaxed(&writers_stop, 1);
    for (uint32_t i = 0; i < WRITERS; i++)
        pthread_join(threads[i], NULL);
    strobe_build_kill(&b);
}

static void copies_are_consistent_while_threads_overwrite(void **state)
{
    (void)state;
    for (uint32_t session = 0; session < strobe_trial_rounds(20); session++)
        copy_while_threads_write(STROBE_KEEP_NEWEST);
}

static void copies_are_consistent_while_a_session_fills(void **state)
{
    (void)state;
    for (uint32_t session = 0; session < strobe_trial_rounds(20); session++)
        copy_while_threads_write(STROBE_KEEP_OLDEST);
}

static int remove_files(void **state)
{
    (void)state;
    unlink(source_path);
    unlink(copy_path);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_copy_of_a_session_at_rest_reads_as_the_session),
        cmocka_unit_test(a_copy_of_a_closed_session_is_closed),
        cmocka_unit_test(a_copy_since_a_time_has_the_records_that_end_later_and_no_loss),
        cmocka_unit_test(a_copy_is_as_large_as_its_content),
        cmocka_unit_test(a_copy_for_which_threads_have_written_too_much_says_so),
        cmocka_unit_test(a_session_with_a_call_log_is_not_copied),
        cmocka_unit_test(copies_are_consistent_while_threads_overwrite),
        cmocka_unit_test(copies_are_consistent_while_a_session_fills),
    };
    temporary_path(source_path, "copy.%d.strobe", (int)getpid());
    temporary_path(copy_path, "copied.%d.strobe", (int)getpid());
    return cmocka_run_group_tests_name("session_copy", tests, NULL, remove_files);
}
