/* The packet ring: sizes at their limits, messages of every length (read complete or reported as missing), and the
 * ring after a crash. The regressions R-9. */
#include "engine/method/rhea/packet_ring.h"
#include "tests/unit/support/temp_dir.h"
#include "tests/unit/support/trial.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { MOST = STROBE_PACKET_MESSAGE_MAX };

static struct strobe_packet_ring ring;
static void *memory;
static size_t memory_bytes;

static void make(uint32_t slots)
{
    memory_bytes = strobe_packet_ring_bytes(slots);
    free(memory);
    memory = aligned_alloc(128, (memory_bytes + 127) / 128 * 128);
    assert_non_null(memory);
    memset(memory, 0, memory_bytes);
    strobe_packet_ring_create(memory, slots);
    assert_int_equal(strobe_packet_ring_open(memory, memory_bytes, &ring), STROBE_OK);
}

static int unmake(void **state)
{
    (void)state;
    free(memory);
    memory = NULL;
    return 0;
}

/* Makes a message of `bytes` whose bytes depend on its number and on their index. */
static void fill(unsigned char *to, size_t bytes, uint32_t number)
{
    for (size_t i = 0; i < bytes; i++)
        to[i] = (unsigned char)(number * 7 + i * 13 + bytes);
}

static enum strobe_status put(uint32_t number, size_t bytes)
{
    unsigned char message[MOST];
    fill(message, bytes, number);
    return strobe_packet_write(&ring, message, bytes);
}

static void must_read(struct strobe_packet_reader *r, uint32_t number, size_t bytes)
{
    unsigned char message[MOST], expected[MOST];
    size_t got;
    assert_true(strobe_packet_read(r, message, &got));
    assert_int_equal(got, bytes);
    fill(expected, bytes, number);
    assert_memory_equal(message, expected, bytes);
}

static void must_end(struct strobe_packet_reader *r)
{
    unsigned char message[MOST];
    size_t bytes;
    assert_false(strobe_packet_read(r, message, &bytes));
    assert_int_equal(r->end, r->before + r->packets + r->parts + r->early + r->busy + r->lapped);
}

static struct strobe_packet_slot *slot(uint32_t i)
{
    return &ring.slots[i];
}

/* ---- sizes */

static void a_size_above_the_maximum_is_clamped_to_the_maximum(void **state)
{
    (void)state;
    assert_int_equal(strobe_packet_ring_slots(5000001), 5000000);
    assert_int_equal(strobe_packet_ring_slots(UINT64_MAX), 5000000);
    assert_int_equal(strobe_packet_ring_slots(UINT64_C(1) << 32), 5000000);
}

static void sizes_within_the_limits_are_kept_and_none_is_the_default(void **state)
{
    (void)state;
    assert_int_equal(strobe_packet_ring_slots(0), 100000);
    assert_int_equal(strobe_packet_ring_slots(1), 10000);
    assert_int_equal(strobe_packet_ring_slots(9999), 10000);
    assert_int_equal(strobe_packet_ring_slots(10000), 10000);
    assert_int_equal(strobe_packet_ring_slots(500000), 500000);
    assert_int_equal(strobe_packet_ring_slots(5000000), 5000000);
    assert_int_equal(strobe_packet_ring_bytes(100000) - strobe_packet_ring_bytes(0), 6400000);
}

/* ---- messages */

static void a_ring_of_one_slot_holds_the_last_message_of_one_packet(void **state)
{
    struct strobe_packet_reader r;
    (void)state;
    make(1);
    strobe_packet_read_begin(&r, &ring);
    must_end(&r);
    for (uint32_t i = 0; i < 100; i++)
        assert_int_equal(put(i, 1 + i % 52), STROBE_OK);
    strobe_packet_read_begin(&r, &ring);
    must_read(&r, 99, 1 + 99 % 52);
    must_end(&r);
    assert_int_equal(r.before, 99);
    assert_int_equal(put(1, 53), STROBE_FULL);
    assert_int_equal(strobe_packet_tickets(&ring), 100);
}

static void messages_of_52_53_and_1024_bytes_take_1_2_and_20_packets(void **state)
{
    struct strobe_packet_reader r;
    (void)state;
    make(64);
    assert_int_equal(put(1, 52), STROBE_OK);
    assert_int_equal(strobe_packet_tickets(&ring), 1);
    assert_int_equal(put(2, 53), STROBE_OK);
    assert_int_equal(strobe_packet_tickets(&ring), 3);
    assert_int_equal(put(3, 1024), STROBE_OK);
    assert_int_equal(strobe_packet_tickets(&ring), 23);
    strobe_packet_read_begin(&r, &ring);
    must_read(&r, 1, 52);
    must_read(&r, 2, 53);
    must_read(&r, 3, 1024);
    must_end(&r);
    assert_int_equal(r.messages, 3);
}

static void every_length_comes_back_across_the_wrap(void **state)
{
    struct strobe_packet_reader r;
    (void)state;
    make(37);
    for (size_t bytes = 1; bytes <= MOST; bytes++) {
        assert_int_equal(put((uint32_t)bytes, bytes), STROBE_OK);
        strobe_packet_read_begin(&r, &ring);
        r.next = r.end - (bytes + 51) / 52;
        r.before = r.next;
        must_read(&r, (uint32_t)bytes, bytes);
        must_end(&r);
    }
}

static void a_message_in_two_parts_is_read_as_one(void **state)
{
    unsigned char whole[MOST], got[MOST];
    struct strobe_packet_reader r;
    size_t bytes;
    (void)state;
    make(64);
    fill(whole, MOST, 5);
    for (size_t head = 0; head <= 200; head += 8) {
        assert_int_equal(strobe_packet_write_parts(&ring, whole, head, whole + head, 210 - head), STROBE_OK);
        strobe_packet_read_begin(&r, &ring);
        r.next = r.end - 5;
        assert_true(strobe_packet_read(&r, got, &bytes));
        assert_int_equal(bytes, 210);
        assert_memory_equal(got, whole, 210);
    }
}

static void empty_messages_and_those_too_long_are_refused_and_take_nothing(void **state)
{
    unsigned char message[MOST + 1] = {0};
    (void)state;
    make(64);
    assert_int_equal(strobe_packet_write(&ring, message, 0), STROBE_BAD_INPUT);
    assert_int_equal(strobe_packet_write(&ring, message, MOST + 1), STROBE_BAD_INPUT);
    assert_int_equal(strobe_packet_write_parts(&ring, message, MOST, message, 1), STROBE_BAD_INPUT);
    assert_int_equal(strobe_packet_write_parts(&ring, message, 1, message, SIZE_MAX), STROBE_BAD_INPUT);
    assert_int_equal(strobe_packet_tickets(&ring), 0);
}

static void a_message_whose_begin_was_overwritten_is_reported_as_parts(void **state)
{
    struct strobe_packet_reader r;
    (void)state;
    make(20);
    assert_int_equal(put(1, MOST), STROBE_OK);
    assert_int_equal(put(2, 10), STROBE_OK);
    strobe_packet_read_begin(&r, &ring);
    must_read(&r, 2, 10);
    must_end(&r);
    assert_int_equal(r.parts, 19);
    assert_int_equal(r.before, 1);
}

/* ---- overtaken readers, damaged slots */

static void a_reader_that_is_lapped_gets_no_message_of_two(void **state)
{
    struct strobe_packet_reader r;
    (void)state;
    make(20);
    for (uint32_t i = 0; i < 10; i++)
        put(i, 104);
    strobe_packet_read_begin(&r, &ring);
    must_read(&r, 0, 104);
    must_read(&r, 1, 104);
    for (uint32_t i = 10; i < 15; i++)
        put(i, 104);
    must_read(&r, 5, 104); /* 2, 3 and 4 were overwritten meanwhile */
    assert_int_equal(r.lapped, 6);
    for (uint32_t i = 6; i < 10; i++)
        must_read(&r, i, 104);
    must_end(&r);
}

static void a_slot_that_is_being_written_is_busy_and_its_message_missing(void **state)
{
    struct strobe_packet_reader r;
    struct strobe_packet p;
    (void)state;
    make(16);
    put(1, 104);
    put(2, 104);
    put(3, 30);
    assert_int_equal(strobe_load_relaxed(&slot(3)->seq), 2);
    strobe_store_relaxed(&slot(3)->seq, 1);
    assert_int_equal(strobe_packet_at(&ring, 3, &p), STROBE_PACKET_BUSY);
    assert_int_equal(strobe_packet_at(&ring, 4, &p), STROBE_PACKET_HERE);
    assert_int_equal(strobe_packet_at(&ring, 5, &p), STROBE_PACKET_EARLY);
    strobe_packet_read_begin(&r, &ring);
    must_read(&r, 1, 104);
    must_read(&r, 3, 30);
    must_end(&r);
    assert_int_equal(r.busy, 1);
    assert_int_equal(r.parts, 1);
}

static void a_sequence_word_of_another_turn_is_early_or_lapped(void **state)
{
    struct strobe_packet p;
    (void)state;
    make(4);
    for (uint32_t i = 0; i < 8; i++)
        put(i, 20);
    assert_int_equal(strobe_packet_at(&ring, 3, &p), STROBE_PACKET_LAPPED);
    assert_int_equal(strobe_packet_at(&ring, 7, &p), STROBE_PACKET_HERE);
    assert_int_equal(strobe_packet_at(&ring, 8, &p), STROBE_PACKET_EARLY);
    strobe_store_relaxed(&slot(3)->seq, 2);
    assert_int_equal(strobe_packet_at(&ring, 7, &p), STROBE_PACKET_EARLY);
    strobe_store_relaxed(&slot(3)->seq, 6);
    assert_int_equal(strobe_packet_at(&ring, 7, &p), STROBE_PACKET_LAPPED);
    strobe_store_relaxed(&slot(3)->seq, 5);
    assert_int_equal(strobe_packet_at(&ring, 7, &p), STROBE_PACKET_LAPPED);
}

static void a_packet_of_another_stream_ends_a_message_without_its_rest(void **state)
{
    struct strobe_packet_reader r;
    (void)state;
    make(16);
    put(1, 104);
    put(2, 104);
    put(3, 104);
    strobe_store_relaxed(&slot(3)->stream, 77);
    strobe_packet_read_begin(&r, &ring);
    must_read(&r, 1, 104);
    must_read(&r, 3, 104);
    must_end(&r);
    assert_int_equal(r.parts, 2);
}

static void damaged_shapes_are_no_messages(void **state)
{
    static const uint32_t shapes[] = {0, 1, 3, 53u << 2 | 1, 20u << 2 | 3, 52u << 2, UINT32_MAX, 52u << 2 | 2};
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        struct strobe_packet_reader r;
        make(16);
        put(1, 20);
        put(2, 20);
        strobe_store_relaxed(&slot(0)->shape, shapes[i]);
        strobe_packet_read_begin(&r, &ring);
        must_read(&r, 2, 20);
        must_end(&r);
        assert_int_equal(r.parts, 1);
    }
}

/* ---- writers that meet unfinished ones */

static void a_writer_that_laps_an_unfinished_one_drops_and_counts(void **state)
{
    struct strobe_packet_reader r;
    (void)state;
    make(4);
    for (uint32_t i = 0; i < 4; i++)
        put(i, 20);
    strobe_store_relaxed(&slot(1)->seq, 1); /* leaves it as a writer that stopped here */
    assert_int_equal(put(4, 20), STROBE_OK);
    assert_int_equal(put(5, 20), STROBE_LATE);
    assert_int_equal(put(6, 20), STROBE_OK);
    assert_int_equal(strobe_packet_dropped(&ring), 1);
    strobe_packet_read_begin(&r, &ring);
    must_read(&r, 3, 20);
    must_read(&r, 4, 20);
    must_read(&r, 6, 20);
    must_end(&r);
    assert_int_equal(r.early, 1);
}

static void a_message_that_meets_one_in_its_middle_leaves_no_half(void **state)
{
    struct strobe_packet_reader r;
    (void)state;
    make(8);
    strobe_store_relaxed(&slot(2)->seq, 1);
    assert_int_equal(put(1, 52 * 4), STROBE_LATE);
    assert_int_equal(put(2, 20), STROBE_OK);
    strobe_packet_read_begin(&r, &ring);
    must_read(&r, 2, 20);
    must_end(&r);
    assert_int_equal(r.parts, 2);
    assert_int_equal(r.busy, 1);
    assert_int_equal(r.early, 1);
}

/* ---- many threads */

enum { CROWD = 4, EACH = 3000 };

static void write_many(void *arg, uint32_t index)
{
    unsigned char message[200];
    uint32_t *late = arg;
    for (uint32_t i = 0; i < EACH; i++) {
        uint32_t number = index * EACH + i;
        size_t bytes = 8 + number % 150;
        fill(message, bytes, number);
        memcpy(message, &number, sizeof number);
        late[index] += strobe_packet_write(&ring, message, bytes) == STROBE_LATE;
    }
}

static void threads_lose_only_what_is_counted(void **state)
{
    static uint32_t late[CROWD];
    struct strobe_packet_reader r;
    unsigned char message[MOST], expected[MOST];
    uint32_t last[CROWD] = {0}, dropped = 0;
    size_t bytes;
    (void)state;
    make(CROWD * EACH * 4);
    memset(late, 0, sizeof late);
    strobe_trial_crowd(CROWD, write_many, late);
    strobe_packet_read_begin(&r, &ring);
    while (strobe_packet_read(&r, message, &bytes)) {
        uint32_t number;
        memcpy(&number, message, sizeof number);
        assert_in_range(number, 0, CROWD * EACH - 1);
        assert_int_equal(bytes, 8 + number % 150);
        fill(expected, bytes, number);
        assert_memory_equal(message + 4, expected + 4, bytes - 4);
        assert_true(number % EACH == 0 || number % EACH == last[number / EACH] + 1);
        last[number / EACH] = number % EACH;
    }
    for (uint32_t i = 0; i < CROWD; i++)
        dropped += late[i];
    assert_int_equal(dropped, 0);
    assert_int_equal(strobe_packet_dropped(&ring), 0);
    assert_int_equal(r.messages, CROWD * EACH);
}

/* ---- the ring of a killed process */

static int open_file(const char *path, uint32_t slots, void **at)
{
    size_t bytes = strobe_packet_ring_bytes(slots);
    int fd = open(path, O_RDWR | O_CREAT, 0600);
    assert_true(fd >= 0 && ftruncate(fd, (off_t)bytes) == 0);
    *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_ptr_not_equal(*at, MAP_FAILED);
    return fd;
}

static void a_file_whose_process_was_killed_in_a_write_holds_whole_messages_only(void **state)
{
    const char *path = temp_dir_path("ring");
    const uint32_t slots = 256;
    struct strobe_packet_reader r;
    unsigned char message[MOST], expected[MOST];
    size_t bytes;
    void *at;
    (void)state;
    int fd = open_file(path, slots, &at);
    strobe_packet_ring_create(at, slots);
    pid_t child = fork();
    if (child == 0) {
        struct strobe_packet_ring mine;
        if (strobe_packet_ring_open(at, strobe_packet_ring_bytes(slots), &mine) != STROBE_OK)
            _exit(1);
        for (uint32_t i = 0;; i++) {
            size_t length = 60 + i % 900;
            fill(message, length, i);
            memcpy(message, &i, sizeof i);
            strobe_packet_write(&mine, message, length);
        }
    }
    assert_true(child > 0);
    struct strobe_packet_ring seen;
    assert_int_equal(strobe_packet_ring_open(at, strobe_packet_ring_bytes(slots), &seen), STROBE_OK);
    while (strobe_packet_tickets(&seen) < 5000) {}
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    munmap(at, strobe_packet_ring_bytes(slots));
    close(fd);

    fd = open_file(path, slots, &at);
    assert_int_equal(strobe_packet_ring_open(at, strobe_packet_ring_bytes(slots), &ring), STROBE_OK);
    strobe_packet_read_begin(&r, &ring);
    uint32_t last = 0;
    while (strobe_packet_read(&r, message, &bytes)) {
        uint32_t number;
        memcpy(&number, message, sizeof number);
        assert_true(!last || number == last + 1);
        last = number;
        assert_int_equal(bytes, 60 + number % 900);
        fill(expected, bytes, number);
        assert_memory_equal(message + 4, expected + 4, bytes - 4);
    }
    assert_true(r.messages > 3);
    assert_true(r.busy <= 1);
    /* The file can be written again after it is opened: the dead writer's slot is recovered. */
    assert_int_equal(strobe_packet_ring_recover(&ring), r.busy);
    for (uint32_t i = 0; i < 2 * slots; i++)
        assert_int_equal(put(i, 52), STROBE_OK);
    munmap(at, strobe_packet_ring_bytes(slots));
    close(fd);
    unlink(path);
}

static void memory_without_a_valid_ring_is_refused(void **state)
{
    struct strobe_packet_ring out;
    (void)state;
    make(16);
    assert_true(strobe_packet_ring_is(memory, memory_bytes));
    assert_false(strobe_packet_ring_is(memory, 7));
    assert_false(strobe_packet_ring_is("1|TRACE_START|", 14));
    assert_int_equal(strobe_packet_ring_open(memory, 16, &out), STROBE_BAD_INPUT);
    assert_int_equal(strobe_packet_ring_open(memory, memory_bytes - 1, &out), STROBE_TRUNCATED);
    ring.head->capacity = 0;
    assert_int_equal(strobe_packet_ring_open(memory, memory_bytes, &out), STROBE_BAD_INPUT);
    ring.head->capacity = STROBE_PACKET_SLOTS_MOST + 1;
    assert_int_equal(strobe_packet_ring_open(memory, memory_bytes, &out), STROBE_BAD_INPUT);
    ring.head->capacity = 17;
    assert_int_equal(strobe_packet_ring_open(memory, memory_bytes, &out), STROBE_TRUNCATED);
    ring.head->version++;
    assert_int_equal(strobe_packet_ring_open(memory, memory_bytes, &out), STROBE_BAD_VERSION);
    strobe_store_relaxed(&ring.head->magic, 0);
    assert_int_equal(strobe_packet_ring_open(memory, memory_bytes, &out), STROBE_BAD_INPUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_size_above_the_maximum_is_clamped_to_the_maximum),
        cmocka_unit_test(sizes_within_the_limits_are_kept_and_none_is_the_default),
        cmocka_unit_test_teardown(a_ring_of_one_slot_holds_the_last_message_of_one_packet, unmake),
        cmocka_unit_test_teardown(messages_of_52_53_and_1024_bytes_take_1_2_and_20_packets, unmake),
        cmocka_unit_test_teardown(every_length_comes_back_across_the_wrap, unmake),
        cmocka_unit_test_teardown(a_message_in_two_parts_is_read_as_one, unmake),
        cmocka_unit_test_teardown(empty_messages_and_those_too_long_are_refused_and_take_nothing, unmake),
        cmocka_unit_test_teardown(a_message_whose_begin_was_overwritten_is_reported_as_parts, unmake),
        cmocka_unit_test_teardown(a_reader_that_is_lapped_gets_no_message_of_two, unmake),
        cmocka_unit_test_teardown(a_slot_that_is_being_written_is_busy_and_its_message_missing, unmake),
        cmocka_unit_test_teardown(a_sequence_word_of_another_turn_is_early_or_lapped, unmake),
        cmocka_unit_test_teardown(a_packet_of_another_stream_ends_a_message_without_its_rest, unmake),
        cmocka_unit_test_teardown(damaged_shapes_are_no_messages, unmake),
        cmocka_unit_test_teardown(a_writer_that_laps_an_unfinished_one_drops_and_counts, unmake),
        cmocka_unit_test_teardown(a_message_that_meets_one_in_its_middle_leaves_no_half, unmake),
        cmocka_unit_test_teardown(threads_lose_only_what_is_counted, unmake),
        cmocka_unit_test(a_file_whose_process_was_killed_in_a_write_holds_whole_messages_only),
        cmocka_unit_test_teardown(memory_without_a_valid_ring_is_refused, unmake),
    };
    return cmocka_run_group_tests(tests, temp_dir_open, temp_dir_close);
}
