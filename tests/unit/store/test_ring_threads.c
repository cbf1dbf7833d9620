/* The record ring with many threads, readers that never pause, and writers that stall or are killed.
 *
 * alone: threads must run at the same time. */
#include "engine/store/ring.h"
#include "tests/unit/support/sample.h"
#include "tests/unit/support/temp_dir.h"
#include "tests/unit/support/trial.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { WRITERS_MAX = 16, READERS = 2, PATIENCE = 60 };

static uint64_t seed;

/* --- a storm: writers that write all the time, readers that look all the time --- */

struct writer_tally {
    struct strobe_ring_writer w;
    uint64_t samples, refused;
    strobe_a64 records;
    uint32_t not_mine; /* looks at its own open chunk that did not return what it wrote */
};
struct storm {
    struct strobe_ring ring;
    uint32_t writers;
    double seconds; /* at least, and until every reader has accepted a record, */
    uint64_t least; /* and until that many records were written */
    bool stalls, fill_only;
    strobe_a32 stop, at_work;
    uint64_t pause_ns; /* of the second reader, between slots */
    struct writer_tally writer[WRITERS_MAX];
    strobe_a64 accepted[READERS];
    uint64_t torn[READERS], turns[READERS];
};

static void pause_ns(uint64_t ns)
{
    nanosleep(&(struct timespec){.tv_nsec = (long)ns}, NULL);
}

static bool shows(const struct strobe_ring *ring, uint32_t slot, uint64_t number, uint32_t count)
{
    struct strobe_ring_item item;
    return strobe_ring_look(ring, slot, &item) == STROBE_LOOK_RECORD && item.record.ticks == number &&
           item.record.count == count && strobe_sample_is_whole(&item);
}

static void write_on(struct storm *s, struct writer_tally *t, uint32_t index)
{
    uint64_t random = seed + index, number = (uint64_t)index << 40;
    uint64_t mine[STROBE_CHUNK_SLOTS];
    uint32_t slot[STROBE_CHUNK_SLOTS], held = 0, count = 0;
    bool metrics = false;
    strobe_ring_writer_init(&s->ring, &t->w, strobe_trial_random(&random));
    while (!strobe_load_relaxed(&s->stop)) {
        if (t->w.last && !s->fill_only && strobe_trial_below(&random, 3) == 0) {
            if (strobe_sample_rewrite(&s->ring, &t->w, number, count + 1, 1, metrics) == STROBE_OK) {
                count++;
                t->samples++;
            }
        } else {
            metrics = strobe_trial_below(&random, 4) == 0;
            count = 1;
            if (strobe_sample_write(&s->ring, &t->w, ++number, 1, 1, metrics) != STROBE_OK) {
                t->refused++;
                if (s->fill_only)
                    break;
                continue;
            }
            t->samples++;
            strobe_bump(&t->records, 1);
            if (t->w.used == 1u + metrics)
                held = 0; /* the first record of a chunk */
            mine[held] = number;
            slot[held++] = t->w.last - 1;
        }
        uint32_t some = strobe_trial_below(&random, held);
        struct strobe_ring_item item;
        t->not_mine += !shows(&s->ring, t->w.last - 1, number, count);
        t->not_mine +=
            strobe_ring_look(&s->ring, slot[some], &item) != STROBE_LOOK_RECORD || item.record.ticks != mine[some];
        if (s->stalls && strobe_trial_below(&random, 2000) == 0)
            pause_ns(3000000);
        if (!s->fill_only && strobe_trial_below(&random, 500) == 0)
            strobe_ring_writer_close(&s->ring, &t->w);
    }
    strobe_add_relaxed(&s->at_work, (uint32_t)-1);
}

static void read_on(struct storm *s, uint32_t reader)
{
    struct strobe_ring_item item;
    while (!strobe_load_relaxed(&s->stop)) {
        for (uint32_t i = 0; i < strobe_ring_slot_count(&s->ring) && !strobe_load_relaxed(&s->stop); i++) {
            if (reader == 1 && s->pause_ns)
                pause_ns(s->pause_ns);
            if (strobe_ring_look(&s->ring, i, &item) != STROBE_LOOK_RECORD)
                continue;
            strobe_bump(&s->accepted[reader], 1);
            s->torn[reader] += !strobe_sample_is_whole(&item);
        }
        s->turns[reader]++;
    }
}

static uint64_t records_of(struct storm *s)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < s->writers; i++)
        sum += strobe_load_relaxed(&s->writer[i].records);
    return sum;
}

static bool has_raged_enough(struct storm *s, double since)
{
    double now = strobe_trial_now();
    if (s->fill_only)
        return strobe_load_relaxed(&s->at_work) == 0;
    if (now < since + s->seconds)
        return false;
    for (uint32_t i = 0; i < READERS; i++)
        if (!strobe_load_relaxed(&s->accepted[i]))
            return now > since + PATIENCE;
    return records_of(s) >= s->least || now > since + PATIENCE;
}

static void storm_body(void *arg, uint32_t index)
{
    struct storm *s = arg;
    if (index < READERS)
        return read_on(s, index);
    if (index < READERS + s->writers)
        return write_on(s, &s->writer[index - READERS], index);
    double since = strobe_trial_now();
    while (!has_raged_enough(s, since))
        pause_ns(200000);
    strobe_store_relaxed(&s->stop, 1);
}

/* Runs the storm, and checks the properties that must hold after each storm. */
static void storm_run(struct storm *s)
{
    uint64_t samples = 0, overwrote = 0;
    strobe_store_relaxed(&s->at_work, s->writers);
    strobe_trial_crowd(READERS + s->writers + 1, storm_body, s);
    for (uint32_t i = 0; i < s->writers; i++) {
        assert_int_equal(s->writer[i].not_mine, 0);
        samples += s->writer[i].samples;
        overwrote += s->writer[i].w.overwrote;
    }
    for (uint32_t i = 0; i < READERS; i++) {
        assert_int_equal(s->torn[i], 0);
        assert_true(s->fill_only || strobe_load_relaxed(&s->accepted[i]) > 0);
    }
    struct strobe_sample_census c = strobe_sample_census(&s->ring);
    assert_int_equal(c.torn + c.busy, 0);
    assert_int_equal(c.samples + overwrote, samples);
}

static void no_torn_record_is_accepted_and_all_are_accounted_for_S10(void **state)
{
    (void)state;
    static const struct {
        uint32_t chunks, subs, writers;
    } shapes[] = {
        {4, 1, 3},
        {8, 2, 4},
        {2, 1, 4},
        {64, 8, 4},
    };
    for (uint32_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        struct storm s = {
            .ring = strobe_sample_ring(shapes[i].chunks * STROBE_CHUNK_SLOTS, shapes[i].subs, STROBE_KEEP_NEWEST),
            .writers = shapes[i].writers,
            .seconds = strobe_trial_seconds(0.4),
            .least = 1000,
        };
        storm_run(&s);
        uint64_t refused = 0;
        for (uint32_t k = 0; k < s.writers; k++)
            refused += s.writer[k].refused;
        assert_true(records_of(&s) >= s.least);
        if (s.writers > shapes[i].chunks)
            assert_true(refused > 0);
        strobe_sample_ring_free(&s.ring);
    }
}

/* Writers stop for milliseconds in mid-chunk while the others go round the ring many times. */
static void a_chunk_is_its_owners_alone_however_long_it_stalls_S13(void **state)
{
    (void)state;
    struct storm s = {
        .ring = strobe_sample_ring(24 * STROBE_CHUNK_SLOTS, 2, STROBE_KEEP_NEWEST),
        .writers = 8,
        .seconds = strobe_trial_seconds(1.0),
        .stalls = true,
    };
    s.least = 10 * strobe_ring_slot_count(&s.ring);
    storm_run(&s);
    assert_true(records_of(&s) >= s.least);
    strobe_sample_ring_free(&s.ring);
}

/* One turn of the slow reader lasts for many laps of the writers. It delays no writer and accepts no torn record. */
static void a_read_of_many_laps_accepts_only_whole_records_and_losses_are_counted_S18(void **state)
{
    (void)state;
    struct storm s = {
        .ring = strobe_sample_ring(8 * STROBE_CHUNK_SLOTS, 2, STROBE_KEEP_NEWEST),
        .writers = 3,
        .seconds = strobe_trial_seconds(1.0),
        .pause_ns = 1000000,
    };
    s.least = 100 * strobe_ring_slot_count(&s.ring);
    storm_run(&s);
    assert_true(records_of(&s) > 3 * (s.turns[1] + 1) * strobe_ring_slot_count(&s.ring));
    strobe_sample_ring_free(&s.ring);
}

static void many_writers_fill_a_keep_oldest_ring_and_lose_no_accepted_record_S14(void **state)
{
    (void)state;
    enum { CHUNKS = 64 };
    for (uint32_t round = 0; round < strobe_trial_rounds(60); round++) {
        struct storm s = {
            .ring = strobe_sample_ring(CHUNKS * STROBE_CHUNK_SLOTS, 16, STROBE_KEEP_OLDEST),
            .writers = 8,
            .fill_only = true,
        };
        storm_run(&s);
        struct strobe_sample_census c = strobe_sample_census(&s.ring);
        for (uint32_t k = 0; k < s.writers; k++) {
            assert_int_equal(s.writer[k].refused, 1); /* each wrote until a write was refused */
            assert_int_equal(s.writer[k].w.overwrote, 0);
        }
        assert_int_equal(c.records, records_of(&s));
        for (uint32_t i = 0; i < CHUNKS; i++)
            assert_true(strobe_load_relaxed(&s.ring.chunks[i]) != 0);
        strobe_sample_ring_free(&s.ring);
    }
}

/* --- death --- */

struct will { /* state of a writer in shared memory, which stays after its death */
    struct strobe_ring_writer w;
    strobe_a64 written;
};

static void write_until_killed(const struct strobe_ring *ring, struct will *will, uint64_t tid)
{
    uint64_t random = tid, number = tid << 40;
    strobe_ring_writer_init(ring, &will->w, tid);
    for (;;) {
        bool metrics = strobe_trial_below(&random, 2);
        if (strobe_sample_write(ring, &will->w, ++number, 1, 1, metrics) == STROBE_OK)
            strobe_bump(&will->written, 1);
        if (strobe_trial_below(&random, 100) == 0)
            strobe_ring_writer_close(ring, &will->w);
    }
}

/* Processes that share the ring stand for threads, because a process can be killed at any instruction. */
static void killed_writers_delay_no_writer_and_their_chunks_are_used_again_S16(void **state)
{
    (void)state;
    enum { DEAD = 3, SLOTS = 16 * STROBE_CHUNK_SLOTS };
    uint64_t random = seed;
    for (uint32_t round = 0; round < strobe_trial_rounds(40); round++) {
        struct strobe_ring ring = strobe_sample_ring(SLOTS, 2, STROBE_KEEP_NEWEST);
        struct will *wills =
            mmap(NULL, DEAD * sizeof *wills, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        struct strobe_ring_writer w = {0};
        uint64_t written = 0, open = 0;
        pid_t pid[DEAD];
        for (uint32_t i = 0; i < DEAD; i++) {
            pid[i] = fork();
            if (pid[i] == 0)
                write_until_killed(&ring, &wills[i], i + 1);
            assert_true(pid[i] > 0);
        }
        strobe_ring_writer_init(&ring, &w, 9);
        for (uint32_t i = 0; i < DEAD; i++) {
            while (!strobe_load_relaxed(&wills[i].written))
                pause_ns(20000);
            pause_ns(strobe_trial_below(&random, 1000000));
            kill(pid[i], SIGKILL);
            assert_int_equal(waitpid(pid[i], NULL, 0), pid[i]);
        }
        /* The dead writers hold three chunks of sixteen, so another chunk is always available. */
        for (uint32_t i = 0; i < 4 * SLOTS; i++, written++)
            assert_int_equal(strobe_sample_write(&ring, &w, i, 1, 1, false), STROBE_OK);
        struct strobe_sample_census c = strobe_sample_census(&ring);
        assert_int_equal(c.torn, 0);
        assert_in_range(c.busy, 0, DEAD);

        for (uint32_t i = 0; i < DEAD; i++)
            strobe_ring_seal_dead(&ring, &wills[i].w);
        for (uint32_t i = 0; i < SLOTS / STROBE_CHUNK_SLOTS; i++)
            open += strobe_load_relaxed(&ring.chunks[i]) & 1;
        assert_int_equal(open, 1); /* the live writer's chunk */
        for (uint32_t i = 0; i < 4 * SLOTS; i++, written++)
            assert_int_equal(strobe_sample_write(&ring, &w, i, 1, 1, false), STROBE_OK);
        c = strobe_sample_census(&ring);
        assert_int_equal(c.records, SLOTS); /* every slot of the ring is in use again */

        /* Each death may leave a record that is not counted yet, or two overwritten records that are counted too late
         * or early. */
        uint64_t found = c.samples + w.overwrote;
        for (uint32_t i = 0; i < DEAD; i++) {
            written += strobe_load_relaxed(&wills[i].written);
            found += wills[i].w.overwrote;
        }
        assert_true(found + 2 * DEAD >= written && found <= written + 2 * DEAD);
        munmap(wills, DEAD * sizeof *wills);
        strobe_sample_ring_free(&ring);
    }
}

int main(void)
{
    seed = strobe_trial_seed("test_ring_threads");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_torn_record_is_accepted_and_all_are_accounted_for_S10),
        cmocka_unit_test(a_chunk_is_its_owners_alone_however_long_it_stalls_S13),
        cmocka_unit_test(a_read_of_many_laps_accepts_only_whole_records_and_losses_are_counted_S18),
        cmocka_unit_test(many_writers_fill_a_keep_oldest_ring_and_lose_no_accepted_record_S14),
        cmocka_unit_test(killed_writers_delay_no_writer_and_their_chunks_are_used_again_S16),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
