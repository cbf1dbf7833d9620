/* Sessions under faults: system calls that fail, processes that are killed, files with flipped bits. */
#include "engine/store/session.h"
#include "tests/unit/support/sample.h"
#include "tests/unit/support/temp_dir.h"
#include "tests/unit/support/trial.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static uint64_t seed;

/* --- the n-th call fails --- */

static int calls_left; /* calls until the one that fails; 0 = no call fails */
static bool failed, reserving_unsupported;

static bool fails(int error)
{
    if (calls_left == 0 || --calls_left > 0)
        return false;
    failed = true;
    errno = error;
    return true;
}

static int faulty_open(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    unsigned mode = flags & O_CREAT ? va_arg(args, unsigned) : 0;
    va_end(args);
    return fails(EACCES) ? -1 : open(path, flags, mode);
}

static int faulty_posix_fallocate(int fd, off_t at, off_t bytes)
{
    if (reserving_unsupported)
        return EOPNOTSUPP;
    return fails(ENOSPC) ? ENOSPC : posix_fallocate(fd, at, bytes);
}

static int faulty_ftruncate(int fd, off_t bytes)
{
    return fails(EFBIG) ? -1 : ftruncate(fd, bytes);
}

static void *faulty_mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    return fails(ENOMEM) ? MAP_FAILED : mmap(at, bytes, protection, flags, fd, offset);
}

static ssize_t faulty_pread(int fd, void *out, size_t bytes, off_t at)
{
    return fails(EIO) ? -1 : pread(fd, out, bytes, at);
}

static int faulty_fstat(int fd, struct stat *out)
{
    return fails(EIO) ? -1 : fstat(fd, out);
}

/* Includes the session's sources with these functions in place of the system's, so that the linker needs no other
 * copy. */
#define open            faulty_open
#define posix_fallocate faulty_posix_fallocate
#define ftruncate       faulty_ftruncate
#define mmap            faulty_mmap
#define pread           faulty_pread
#define fstat(fd, out)  faulty_fstat(fd, out)
#include "engine/store/reserve.c"
#include "engine/store/session.c"
#undef open
#undef posix_fallocate
#undef ftruncate
#undef mmap
#undef pread
#undef fstat

static struct strobe_config config_small(void)
{
    struct strobe_config c;
    strobe_config_default(&c);
    c.ring_slots = 256;
    c.ring_subs = 2;
    c.stack_nodes = 500;
    c.threads_max = 8;
    c.images_max = 4;
    return c;
}

static int open_files(void)
{
    int n = 0;
    for (int fd = 0; fd < 256; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

/* Runs `act` with the first, second, third ... call failing until a run meets no fault. Each faulty run must return
 * STROBE_IO with that call's errno and leave neither a descriptor nor a mapping. `after` checks the rest. */
static void fail_each_call(enum strobe_status (*act)(struct strobe_session *), void (*after)(bool ok), int least)
{
    int n = 0, files = open_files();
    do {
        struct strobe_session s;
        calls_left = ++n;
        failed = false;
        errno = 0;
        enum strobe_status status = act(&s);
        int error = errno;
        calls_left = 0;
        assert_int_equal(status, failed ? STROBE_IO : STROBE_OK);
        if (failed) {
            assert_int_not_equal(error, 0);
            assert_null(s.header);
            assert_int_equal(s.fd, -1);
        } else {
            strobe_session_unmap(&s);
        }
        assert_int_equal(open_files(), files);
        after(!failed);
    } while (failed);
    assert_true(n > least);
}

static enum strobe_status create(struct strobe_session *s)
{
    struct strobe_config c = config_small();
    return strobe_session_create(temp_dir_path("faulty"), &c, "x", 0, s);
}

static enum strobe_status attach(struct strobe_session *s)
{
    return strobe_session_attach(temp_dir_path("faulty"), 1, s);
}

static enum strobe_status open_to_read(struct strobe_session *s)
{
    return strobe_session_open(temp_dir_path("faulty"), s);
}

static void a_file_is_there_only_if(bool ok)
{
    assert_int_equal(access(temp_dir_path("faulty"), F_OK), ok ? 0 : -1);
    if (ok)
        unlink(temp_dir_path("faulty"));
}

static void still_unattached_unless(bool ok)
{
    struct strobe_session s;
    assert_int_equal(open_to_read(&s), STROBE_OK);
    assert_int_equal(strobe_load_relaxed(&s.header->state), ok ? STROBE_SESSION_RUNNING : STROBE_SESSION_CREATED);
    strobe_session_unmap(&s);
}

static void nothing_more(bool ok)
{
    (void)ok;
}

static void whichever_call_fails_it_is_reported_and_nothing_is_left_behind(void **state)
{
    (void)state;
    struct strobe_session s;
    unlink(temp_dir_path("faulty"));
    fail_each_call(create, a_file_is_there_only_if, 3);
    reserving_unsupported = true; /* a file system that cannot reserve blocks: the file is sparse */
    fail_each_call(create, a_file_is_there_only_if, 3);
    reserving_unsupported = false;
    assert_int_equal(create(&s), STROBE_OK);
    strobe_session_unmap(&s);
    fail_each_call(open_to_read, nothing_more, 4);
    fail_each_call(attach, still_unattached_unless, 4);
}

/* --- killed --- */

enum { KILLED_THREADS = 3, FRAMES = 12 };

/* The frames of a stack follow from the thread's index and a number, so that a record can be checked against them. */
static uint32_t frames_of(uint32_t thread, uint64_t number, uint64_t *out)
{
    uint32_t depth = 1 + number % FRAMES;
    for (uint32_t i = 0; i < depth; i++)
        out[i] = 0x7f0000000000u + thread * 0x1000u + (number >> (i * 2)) % 7 * 16 + i;
    return depth;
}

/* Does what a capture does with each sample: intern, write or merge, count. */
static void sample_on(void *arg, uint32_t index)
{
    struct strobe_session *s = arg;
    struct strobe_ring_writer w = {0};
    static struct strobe_stack_cursor cursors[KILLED_THREADS];
    uint64_t random = seed + index, frames[FRAMES], number = 0;
    uint32_t thread, id = 0, count = 0;
    bool metrics = false;
    if (strobe_session_add_thread(s, index + 1, index == 0, 0, &thread))
        abort();
    struct strobe_thread_entry *t = &s->threads[thread];
    struct strobe_account *a = &t->account[STROBE_KIND_ALLOC];
    strobe_ring_writer_init(&s->ring, &w, thread);
    for (;;) {
        strobe_bump(&a->requests, 1);
        uint64_t key = (uint64_t)thread << 32 | number;
        if (w.last && strobe_trial_below(&random, 3) == 0 && count < 4 &&
            strobe_sample_rewrite(&s->ring, &w, key, count + 1, id, metrics) == STROBE_OK) {
            count++;
            strobe_bump(&a->sampled, 1);
            continue;
        }
        key = (uint64_t)thread << 32 | ++number;
        metrics = strobe_trial_below(&random, 3) == 0;
        count = 1;
        strobe_stack_intern(&s->stacks, &cursors[index], frames, frames_of(thread, number, frames), &id);
        bool written = strobe_sample_write(&s->ring, &w, key, 1, id, metrics) == STROBE_OK;
        strobe_bump(written ? &a->sampled : &a->dropped, 1);
        strobe_store_relaxed(&t->overwrote_samples, w.overwrote);
    }
}

static void run_until_killed(const char *path)
{
    struct strobe_session s;
    if (strobe_session_attach(path, (uint32_t)getpid(), &s))
        _exit(1);
    strobe_trial_crowd(KILLED_THREADS, sample_on, &s);
}

/* At whatever instruction the process was killed, the session opens, and each record is whole and has its stack. The
 * accounting of a thread is off by at most the sample that was being written and the two records (of up to four
 * samples) that it was to overwrite. */
static void check_what_was_left(const char *path)
{
    struct strobe_session s;
    assert_int_equal(strobe_session_open(path, &s), STROBE_OK);
    uint64_t sampled = 0, found = 0, frames[FRAMES], got[STROBE_STACK_DEPTH_MAX];
    uint32_t busy = 0, threads = strobe_session_thread_count(&s);
    for (uint32_t i = 0; i < threads; i++) {
        const struct strobe_account *a = &s.threads[i].account[STROBE_KIND_ALLOC];
        uint64_t requests = strobe_account_requests(a), outcomes;
        outcomes = strobe_load_relaxed(&a->sampled) + strobe_load_relaxed(&a->dropped);
        assert_true(outcomes <= requests && requests <= outcomes + 1);
        sampled += strobe_load_relaxed(&a->sampled);
        found += strobe_load_relaxed(&s.threads[i].overwrote_samples);
    }
    for (uint32_t i = 0; i < strobe_ring_slot_count(&s.ring); i++) {
        struct strobe_ring_item item;
        uint32_t depth;
        enum strobe_ring_look look = strobe_ring_look(&s.ring, i, &item);
        bool salvaged = look == STROBE_LOOK_BUSY && strobe_ring_salvage(&s.ring, i, &item);
        busy += look == STROBE_LOOK_BUSY;
        if (look != STROBE_LOOK_RECORD && !salvaged)
            continue;
        uint32_t want = frames_of((uint32_t)(item.record.ticks >> 32), item.record.ticks & UINT32_MAX, frames);
        assert_true(salvaged || strobe_sample_is_whole(&item));
        assert_int_equal(strobe_stack_frames(&s.stacks, item.record.stack, got, STROBE_STACK_DEPTH_MAX, &depth),
                         STROBE_OK);
        bool full = strobe_stack_node_count(&s.stacks) == s.header->config.stack_nodes;
        assert_true(depth == want || (full && depth < want));
        assert_memory_equal(got, frames, depth * sizeof *got);
        found += item.record.count;
    }
    assert_in_range(busy, 0, threads);
    assert_true(found + threads * 8 >= sampled && found <= sampled + threads * 8);
    strobe_session_unmap(&s);
}

static void a_process_killed_at_any_instant_leaves_a_session_that_adds_up(void **state)
{
    (void)state;
    uint64_t random = seed;
    for (uint32_t round = 0; round < strobe_trial_rounds(60); round++) {
        struct strobe_config c = config_small();
        struct strobe_session s;
        const char *path = temp_dir_path("killed");
        c.stack_nodes = 50000;
        c.ring_slots = round % 2 ? 256 : 1 << 14;
        c.ring_mode = round % 8 ? STROBE_KEEP_NEWEST : STROBE_KEEP_OLDEST;
        assert_int_equal(strobe_session_create(path, &c, "victim", 1, &s), STROBE_OK);
        strobe_session_unmap(&s);
        pid_t pid = fork();
        if (pid == 0)
            run_until_killed(path);
        nanosleep(&(struct timespec){.tv_nsec = strobe_trial_below(&random, 10000000)}, NULL);
        kill(pid, SIGKILL);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        check_what_was_left(path);
    }
}

/* --- flipped bits --- */

static const char *session_with_content(void)
{
    struct strobe_config c = config_small();
    struct strobe_session s;
    const char *path = temp_dir_path("content");
    assert_int_equal(strobe_session_create(path, &c, "x", 1, &s), STROBE_OK);
    struct strobe_ring_writer w = {0};
    struct strobe_stack_cursor cursor = {0};
    uint64_t frames[FRAMES];
    uint32_t id, thread;
    for (uint32_t i = 0; i < 5; i++) {
        assert_int_equal(strobe_session_add_thread(&s, i, 0, i, &thread), STROBE_OK);
        struct strobe_image_entry *image = strobe_session_add_image(&s);
        if (image)
            memset(image->path, 'p', sizeof image->path);
        memset(s.threads[i].name, 'n', sizeof s.threads[i].name);
    }
    memset(s.header->command, 'c', sizeof s.header->command);
    memset(s.header->exe, 'e', sizeof s.header->exe);
    for (uint32_t i = 0; i < 400; i++) {
        strobe_stack_intern(&s.stacks, &cursor, frames, frames_of(1, i, frames), &id);
        strobe_sample_write(&s.ring, &w, i, 1, id, i % 3 == 0);
    }
    strobe_session_finish(&s, &(struct strobe_clock_pair){1, 2, 3, 4});
    strobe_session_unmap(&s);
    return path;
}

/* Length of a text that ends within its array, as strobe_session_open guarantees. */
static size_t length_of(const char *text, size_t bytes)
{
    const char *end = memchr(text, 0, bytes);
    assert_non_null(end);
    return (size_t)(end - text);
}

/* Reads a session as a reader does, relying on what strobe_session_open guarantees. */
static uint64_t read_all(const struct strobe_session *s)
{
    uint64_t sum = 1000 / s->header->ticks_per_second, got[STROBE_STACK_DEPTH_MAX];
    uint32_t count;
    sum += length_of(s->header->command, sizeof s->header->command) + length_of(s->header->exe, sizeof s->header->exe);
    for (uint32_t i = 0; i < strobe_session_thread_count(s); i++)
        sum += length_of(s->threads[i].name, sizeof s->threads[i].name);
    for (uint32_t i = 0; i < strobe_session_image_count(s); i++) {
        sum += length_of(s->images[i].path, sizeof s->images[i].path);
        for (uint32_t k = 0; k < s->images[i].build_id_bytes; k++)
            sum += s->images[i].build_id[k];
    }
    for (uint32_t i = 0; i < strobe_ring_slot_count(&s->ring); i++) {
        struct strobe_ring_item item;
        if (strobe_ring_look(&s->ring, i, &item) != STROBE_LOOK_RECORD)
            continue;
        if (strobe_stack_frames(&s->stacks, item.record.stack, got, STROBE_STACK_DEPTH_MAX, &count) == STROBE_OK)
            for (uint32_t k = 0; k < count; k++)
                sum += got[k];
    }
    for (uint32_t id = 0; id <= strobe_stack_node_count(&s->stacks); id++)
        if (strobe_stack_node_of(&s->stacks, id))
            sum += strobe_stack_node_of(&s->stacks, id)->address;
    return sum + strobe_stack_table_used_bytes(&s->stacks);
}

/* Writes `byte` at `at` of the file, opens and reads, and puts the old byte back. True when it opened. */
static bool opens_with(const char *path, int fd, off_t at, unsigned char flip, uint64_t *sum)
{
    unsigned char old, now;
    struct strobe_session s;
    assert_int_equal(pread(fd, &old, 1, at), 1);
    now = old ^ flip;
    assert_int_equal(pwrite(fd, &now, 1, at), 1);
    enum strobe_status status = strobe_session_open(path, &s);
    if (!status)
        *sum += read_all(&s);
    if (!status)
        strobe_session_unmap(&s);
    assert_null(s.header);
    assert_int_equal(pwrite(fd, &old, 1, at), 1);
    return status == STROBE_OK;
}

static void a_flipped_bit_of_the_header_is_refused_or_harmless(void **state)
{
    (void)state;
    const char *path = session_with_content();
    int fd = open(path, O_RDWR);
    uint64_t sum = 0;
    const size_t layout_end = offsetof(struct strobe_session_header, config);
    for (size_t at = 0; at < sizeof(struct strobe_session_header); at++) {
        bool text = at >= offsetof(struct strobe_session_header, command) && at % 16 != 15;
        for (unsigned bit = 0; bit < 8 && !(text && bit); bit++) {
            bool opened = opens_with(path, fd, (off_t)at, (unsigned char)(1u << bit), &sum);
            if (at < offsetof(struct strobe_session_header, state))
                assert_false(opened);
            if (at >= offsetof(struct strobe_session_header, region) && at < layout_end)
                assert_false(opened);
        }
    }
    close(fd);
    assert_true(sum > 0);
}

static void a_header_from_before_stops_or_children_were_counted_says_nothing_of_them(void **state)
{
    (void)state;
    const char *path = session_with_content();
    struct strobe_session s;
    int fd = open(path, O_RDWR);
    const off_t bytes_at = offsetof(struct strobe_session_header, header_bytes);
    const uint32_t now = sizeof(struct strobe_session_header), then = offsetof(struct strobe_session_header, stops);
    const uint32_t between = offsetof(struct strobe_session_header, pid_namespace), children = 7;
    const uint32_t before = offsetof(struct strobe_session_header, native_gaps);
    const uint32_t no_cause = offsetof(struct strobe_session_header, cause), trigger = STROBE_TRIGGER_CRASH;
    const off_t children_at = offsetof(struct strobe_session_header, children_left);
    const uint64_t gaps = 9;
    assert_int_equal(strobe_session_open(path, &s), STROBE_OK);
    strobe_stops_add(&s.header->stops, 5);
    struct strobe_stops stops = s.header->stops;
    strobe_session_unmap(&s);
    assert_int_equal(pwrite(fd, &stops, sizeof stops, (off_t)then), sizeof stops);
    assert_int_equal(strobe_session_open(path, &s), STROBE_OK);
    assert_int_equal(strobe_stops_read(&s.header->stops).count, 1);
    strobe_session_unmap(&s);
    assert_int_equal(pwrite(fd, &children, sizeof children, children_at), sizeof children);
    assert_int_equal(pwrite(fd, &gaps, sizeof gaps, (off_t)before), sizeof gaps);
    assert_int_equal(pwrite(fd, &trigger, sizeof trigger, (off_t)no_cause), sizeof trigger);
    for (uint32_t bytes = 0; bytes <= 2 * now; bytes += 4) {
        assert_int_equal(pwrite(fd, &bytes, sizeof bytes, bytes_at), sizeof bytes);
        bool fits = bytes == now || bytes == then || bytes == between || bytes == before || bytes == no_cause;
        assert_int_equal(strobe_session_open(path, &s), fits ? STROBE_OK : STROBE_BAD_INPUT);
        if (fits)
            assert_int_equal(strobe_stops_read(&s.header->stops).count, bytes != then);
        if (fits)
            assert_int_equal(strobe_load_relaxed(&s.header->children_left), bytes >= before ? children : 0);
        if (fits)
            assert_int_equal(strobe_load_relaxed(&s.header->native_gaps), bytes >= no_cause ? gaps : 0);
        if (fits)
            assert_int_equal(s.header->cause.trigger, bytes == now ? trigger : 0);
        if (fits)
            strobe_session_unmap(&s);
    }
    close(fd);
}

static void a_header_that_would_mislead_is_refused(void **state)
{
    (void)state;
    const char *path = session_with_content();
    struct strobe_session s;
    int fd = open(path, O_RDWR);
    const uint64_t none = 0;
    uint64_t sum = 0, ticks_per_second;
    const off_t at = offsetof(struct strobe_session_header, ticks_per_second);
    assert_int_equal(strobe_session_open(path, &s), STROBE_OK);
    off_t stacks = (off_t)s.header->region[STROBE_REGION_STACKS].offset;
    off_t ring = (off_t)s.header->region[STROBE_REGION_RING].offset;
    ticks_per_second = s.header->ticks_per_second;
    strobe_session_unmap(&s);
    assert_int_equal(pwrite(fd, &none, sizeof none, at), sizeof none);
    assert_int_equal(strobe_session_open(path, &s), STROBE_BAD_INPUT);
    assert_int_equal(pwrite(fd, &ticks_per_second, sizeof none, at), sizeof none);
    assert_true(opens_with(path, fd, stacks + 64, 1, &sum));
    /* valid heads of another table and another ring */
    assert_false(opens_with(path, fd, stacks + offsetof(struct strobe_stack_table_head, node_capacity), 4, &sum));
    assert_false(opens_with(path, fd, ring + offsetof(struct strobe_ring_head, mode), 1, &sum));
    assert_false(opens_with(path, fd, ring + offsetof(struct strobe_ring_head, chunks_per_sub), 4 | 2, &sum));
    assert_false(opens_with(path, fd, ring + offsetof(struct strobe_ring_head, sub_count), 2 | 1, &sum));
    close(fd);
}

static void no_damage_anywhere_makes_a_reader_crash(void **state)
{
    (void)state;
    const char *path = session_with_content();
    uint64_t random = seed, sum = 0;
    int fd = open(path, O_RDWR);
    struct strobe_session s;
    assert_int_equal(strobe_session_open(path, &s), STROBE_OK);
    struct strobe_region region[STROBE_REGION_COUNT];
    memcpy(region, s.header->region, sizeof region);
    strobe_session_unmap(&s);
    uint32_t opened = 0, rounds = strobe_trial_rounds(4000);
    for (uint32_t round = 0; round < rounds; round++) {
        const struct strobe_region *r = &region[round % STROBE_REGION_COUNT];
        /* Half of the hits are near the region's head. Damage gathers over sixteen rounds. */
        uint32_t within = strobe_trial_below(&random, 2) ? 256 : (uint32_t)r->bytes;
        off_t at = (off_t)r->offset + strobe_trial_below(&random, within);
        unsigned char byte = (unsigned char)strobe_trial_random(&random);
        if (round % 16 == 0)
            session_with_content();
        if (round % 16 == 0)
            close(fd);
        if (round % 16 == 0)
            fd = open(path, O_RDWR);
        opened += opens_with(path, fd, at, byte | 1, &sum);
        if (round % 3)
            assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    }
    close(fd);
    assert_true(opened > rounds / 20);
}

int main(void)
{
    seed = strobe_trial_seed("test_session_faults");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whichever_call_fails_it_is_reported_and_nothing_is_left_behind),
        cmocka_unit_test(a_process_killed_at_any_instant_leaves_a_session_that_adds_up),
        cmocka_unit_test(a_flipped_bit_of_the_header_is_refused_or_harmless),
        cmocka_unit_test(a_header_from_before_stops_or_children_were_counted_says_nothing_of_them),
        cmocka_unit_test(a_header_that_would_mislead_is_refused),
        cmocka_unit_test(no_damage_anywhere_makes_a_reader_crash),
    };
    return cmocka_run_group_tests(tests, temp_dir_open, temp_dir_close);
}
