/* The session file: it is created completely or not at all, opened only when its header is valid, and no larger than
 * its content. */
#include "engine/store/session.h"
#include "tests/unit/support/sample.h"
#include "tests/unit/support/temp_dir.h"
#include "tests/unit/support/trial.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static uint64_t seed;

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

static const char *fresh(const char *name)
{
    const char *path = temp_dir_path(name);
    unlink(path);
    return path;
}

static void what_the_traced_process_wrote_is_what_a_reader_finds(void **state)
{
    (void)state;
    const char *path = fresh("whole");
    struct strobe_config config = config_small();
    struct strobe_session s, r;
    assert_int_equal(strobe_session_create(path, &config, "prog a b", 0, &s), STROBE_OK);
    assert_true(s.fd >= 0);
    strobe_session_unmap(&s);
    assert_int_equal(strobe_session_attach(path, 77, &s), STROBE_OK);
    assert_int_equal(strobe_session_attach(path, 78, &r), STROBE_EXISTS);

    struct strobe_ring_writer w = {0};
    struct strobe_stack_cursor cursor = {0};
    const uint64_t frames[3] = {1, 2, 3};
    uint32_t id, index;
    assert_int_equal(strobe_session_add_thread(&s, 100077, 1, 12345, &index), STROBE_OK);
    strcpy(s.threads[index].name, "main");
    struct strobe_image_entry *image = strobe_session_add_image(&s);
    strcpy(image->path, "/bin/true");
    strobe_store_release(&image->published, 1);
    assert_int_equal(strobe_stack_intern(&s.stacks, &cursor, frames, 3, &id), STROBE_OK);
    strobe_ring_writer_init(&s.ring, &w, 77);
    assert_int_equal(strobe_sample_write(&s.ring, &w, 5, 6, id, true), STROBE_OK);
    const struct strobe_clock_pair end = {1, 2, 3, 4};

    /* Committed content is readable although the session did not end. */
    assert_int_equal(strobe_session_open(path, &r), STROBE_OK);
    assert_int_equal(strobe_load_relaxed(&r.header->state), STROBE_SESSION_RUNNING);
    assert_int_equal(strobe_sample_census(&r.ring).records, 1);
    strobe_session_unmap(&r);
    strobe_session_finish(&s, &end);
    strobe_session_unmap(&s);

    assert_int_equal(strobe_session_open(path, &r), STROBE_OK);
    assert_int_equal(strobe_load_relaxed(&r.header->state), STROBE_SESSION_CLOSED);
    assert_memory_equal(&r.header->end, &end, sizeof end);
    assert_memory_equal(&r.header->config, &config, sizeof config);
    assert_string_equal(r.header->command, "prog a b");
    assert_int_equal(r.header->pid, 77);
    assert_int_equal(strobe_session_thread_count(&r), 1);
    assert_int_equal(r.threads[0].tid, 100077);
    assert_int_equal(r.threads[0].generation, 1);
    assert_int_equal(r.threads[0].start_ticks, 12345);
    assert_int_equal(strobe_load_relaxed(&r.threads[0].state), STROBE_THREAD_LIVE);
    assert_string_equal(r.threads[0].name, "main");
    assert_int_equal(strobe_session_image_count(&r), 1);
    assert_string_equal(r.images[0].path, "/bin/true");
    struct strobe_sample_census c = strobe_sample_census(&r.ring);
    assert_int_equal(c.records, 1);
    assert_int_equal(c.samples, 6);
    assert_int_equal(c.torn, 0);
    uint64_t out[3];
    uint32_t count;
    assert_int_equal(strobe_stack_frames(&r.stacks, id, out, 3, &count), STROBE_OK);
    assert_memory_equal(out, frames, sizeof frames);

    /* nothing written through a reader's view reaches the file */
    r.header->pid = 1;
    strobe_sample_write(&r.ring, &(struct strobe_ring_writer){0}, 9, 9, 9, false);
    strobe_session_unmap(&r);
    assert_null(r.header);
    assert_int_equal(strobe_session_open(path, &r), STROBE_OK);
    assert_int_equal(r.header->pid, 77);
    assert_int_equal(strobe_sample_census(&r.ring).records, 1);
    strobe_session_unmap(&r);
}

static uint32_t state_of(const char *path)
{
    struct strobe_session s;
    assert_int_equal(strobe_session_open(path, &s), STROBE_OK);
    uint32_t is = strobe_load_relaxed(&s.header->state);
    strobe_session_unmap(&s);
    return is;
}

static void how_a_process_ended_is_noted_in_a_session_that_it_has_not_closed_only(void **state)
{
    (void)state;
    const char *path = fresh("noted");
    struct strobe_config config = config_small();
    struct strobe_session s;
    assert_int_equal(strobe_session_create(path, &config, NULL, 0, &s), STROBE_OK);
    assert_int_equal(strobe_session_note_end(path, STROBE_SESSION_EXITED), STROBE_OK);
    assert_int_equal(state_of(path), STROBE_SESSION_CREATED);
    assert_int_equal(strobe_session_begin(&s, 77), STROBE_OK);
    assert_int_equal(strobe_session_note_end(path, STROBE_SESSION_KILLED), STROBE_OK);
    assert_int_equal(state_of(path), STROBE_SESSION_KILLED);
    assert_int_equal(strobe_session_note_end(path, STROBE_SESSION_EXITED), STROBE_OK);
    assert_int_equal(state_of(path), STROBE_SESSION_KILLED);
    strobe_session_finish(&s, &(struct strobe_clock_pair){1, 2, 3, 4});
    assert_int_equal(strobe_session_note_end(path, STROBE_SESSION_EXITED), STROBE_OK);
    assert_int_equal(state_of(path), STROBE_SESSION_CLOSED);
    strobe_session_unmap(&s);
    assert_int_equal(strobe_session_note_end(fresh("none"), STROBE_SESSION_EXITED), STROBE_IO);
}

static void the_defaults_are_valid_and_take_under_100_megabytes(void **state)
{
    (void)state;
    struct strobe_config c;
    struct strobe_session s;
    strobe_config_default(&c);
    assert_in_range(strobe_session_file_bytes(&c), 40u << 20, 100u << 20);
    assert_int_equal(strobe_session_create(fresh("default"), &c, NULL, 0, &s), STROBE_OK);
    assert_true(s.mapped_bytes == strobe_session_file_bytes(&c));
    assert_true(strobe_ring_slot_count(&s.ring) >= 262144);
    assert_string_equal(s.header->command, "");
    strobe_session_unmap(&s);
    unlink(temp_dir_path("default"));
}

/* The header of the engine's config says what each setting is for. The defaults are those of published tracers (S-1 to
 * S-8). */
static void defaults_are_those_of_published_tracers(void **state)
{
    (void)state;
    const uint64_t us = 1000, ms = 1000000;
    struct strobe_config c;
    memset(&c, 0xff, sizeof c);
    strobe_config_default(&c);
    assert_int_equal(c.interval_main_ns, 1 * ms);
    assert_int_equal(c.interval_other_ns, 1 * ms);
    assert_int_equal(c.scope_min_ns, 100 * us);
    assert_int_equal(c.metrics_interval_ns, 1 * ms);
    assert_int_equal(c.async_interval_ns, 1 * ms);
    assert_int_equal(c.refresh_main_ns, 30 * ms);
    assert_int_equal(c.refresh_other_ns, 300 * ms);
    assert_int_equal(c.active_cpu_ns, 10 * us);
    assert_in_range(c.merge_gap_ns, c.interval_main_ns, c.refresh_main_ns);
    assert_in_range(c.suspend_timeout_ns, c.async_interval_ns, c.refresh_main_ns);
    assert_int_equal(c.metrics, STROBE_METRIC_CPU | STROBE_METRIC_ALLOC);
    assert_int_equal(c.unwind, STROBE_UNWIND_FP);
    assert_int_equal(c.ring_mode, STROBE_KEEP_NEWEST);
    assert_in_range(c.ring_slots, 200000, 1 << 18);
    assert_int_equal(c.ring_subs, STROBE_RING_SUBS_DEFAULT);
    assert_int_equal(c.stack_nodes, 1 << 20);
    assert_int_equal(c.depth_max, STROBE_STACK_DEPTH_MAX);
    assert_int_equal(c.threads_max, STROBE_THREADS_MAX_DEFAULT);
    assert_int_equal(c.images_max, STROBE_IMAGES_MAX_DEFAULT);
    assert_int_equal(c.follow | c.suspend_signal | c.message_per_poll | c.delay_ns | c.seed, 0);
    assert_int_equal(c.calls | c.call_units, 0);
}

/* The file's descriptor is 0 then. */
static void a_process_without_standard_input_can_be_recorded(void **state)
{
    (void)state;
    struct strobe_config config = config_small();
    struct strobe_session s;
    int kept = dup(0);
    close(0);
    enum strobe_status status = strobe_session_create(fresh("no-input"), &config, NULL, 0, &s);
    int fd = s.fd;
    if (status == STROBE_OK) {
        strobe_session_unmap(&s);
        close(fd);
    }
    if (kept >= 0) {
        dup2(kept, 0);
        close(kept);
    }
    assert_int_equal(status, STROBE_OK);
    assert_int_equal(fd, 0);
}

static void a_config_out_of_range_is_refused_and_leaves_no_file(void **state)
{
    (void)state;
    struct strobe_config c = config_small();
    struct strobe_session s;
    const struct {
        uint32_t *field, below, above;
    } bounds[] = {
        /* below, above: the nearest invalid values */
        {&c.metrics, 16, 16},
        {&c.unwind, 2, 2},
        {&c.ring_slots, 0, STROBE_RING_SLOTS_MAX + 1},
        {&c.ring_subs, 0, 512},
        {&c.ring_subs, 3, 257},
        {&c.ring_mode, 2, 2},
        {&c.stack_nodes, 0, STROBE_STACK_NODES_MAX + 1},
        {&c.threads_max, 0, (1u << 20) + 1},
        {&c.images_max, 0, (1u << 16) + 1},
        {&c.depth_max, 0, STROBE_STACK_DEPTH_MAX + 1},
        {&c.follow, 2, 2},
        {&c.skip_max, (1u << 16) + 1, UINT32_MAX},
        {&c.suspend_signal, 65, UINT32_MAX},
    };
    const char *path = fresh("range");
    for (size_t i = 0; i < 2 * sizeof bounds / sizeof *bounds; i++) {
        uint32_t *field = bounds[i / 2].field, good = *field;
        *field = i & 1 ? bounds[i / 2].above : bounds[i / 2].below;
        assert_int_equal(strobe_session_create(path, &c, NULL, 0, &s), STROBE_BAD_INPUT);
        *field = good;
        assert_int_equal(access(path, F_OK), -1);
    }
    const struct {
        uint8_t polls, calls;
        uint16_t call_units;
    } small[] = {
        {2, 0, 0},
        {0, STROBE_CALLS_ONLY, 0},
        {0, 2 * STROBE_CALLS_ONLY, 1},
    };
    for (size_t i = 0; i < sizeof small / sizeof *small; i++) {
        struct strobe_config bad = c;
        bad.message_per_poll = small[i].polls;
        bad.calls = small[i].calls;
        bad.call_units = small[i].call_units;
        assert_int_equal(strobe_session_create(path, &bad, NULL, 0, &s), STROBE_BAD_INPUT);
    }
    uint64_t *const times[] = {&c.interval_main_ns, &c.merge_gap_ns, &c.suspend_timeout_ns, &c.delay_ns};
    for (size_t i = 0; i < 4; i++) {
        uint64_t good = *times[i];
        *times[i] = UINT64_MAX;
        assert_int_equal(strobe_session_create(path, &c, NULL, 0, &s), STROBE_BAD_INPUT);
        *times[i] = good;
    }
    assert_int_equal(strobe_session_create(path, &c, NULL, 0, &s), STROBE_OK);
    strobe_session_unmap(&s);
}

static void an_existing_file_is_replaced_only_on_request_and_only_a_regular_one(void **state)
{
    (void)state;
    struct strobe_config c = config_small();
    struct strobe_session s, old;
    const char *path = temp_dir_write("there", "precious", 8, 0600), *link = fresh("link");
    struct stat st;
    assert_int_equal(strobe_session_create(path, &c, NULL, 0, &s), STROBE_EXISTS);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_size, 8);
    assert_int_equal(strobe_session_create(path, &c, NULL, 1, &old), STROBE_OK);

    /* a process that still writes to the replaced session is not disturbed */
    assert_int_equal(strobe_session_create(path, &c, NULL, 1, &s), STROBE_OK);
    memset(old.threads, 1, old.header->region[STROBE_REGION_THREADS].bytes);
    assert_int_equal(s.threads[0].tid, 0);
    strobe_session_unmap(&old);
    strobe_session_unmap(&s);

    assert_int_equal(strobe_session_create(temp_dir_path("."), &c, NULL, 1, &s), STROBE_EXISTS);
    assert_int_equal(symlink("there", link), 0);
    assert_int_equal(strobe_session_create(link, &c, NULL, 1, &s), STROBE_EXISTS);
    assert_int_equal(lstat(link, &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    assert_int_equal(strobe_session_create("/dev/null", &c, NULL, 1, &s), STROBE_EXISTS);
    assert_int_equal(strobe_session_create(temp_dir_path("no/such/folder"), &c, NULL, 1, &s), STROBE_IO);
    assert_int_equal(errno, ENOENT);
}

/* --- files that are no sessions --- */

static void a_file_that_is_no_session_is_refused(void **state)
{
    (void)state;
    struct strobe_session s;
    char zeros[8192] = {0};
    assert_int_equal(strobe_session_open(temp_dir_path("nowhere"), &s), STROBE_IO);
    assert_int_equal(errno, ENOENT);
    assert_int_equal(strobe_session_open(temp_dir_path("."), &s), STROBE_BAD_INPUT);
    assert_int_equal(strobe_session_open("/dev/zero", &s), STROBE_BAD_INPUT);
    assert_int_equal(strobe_session_open(temp_dir_write("empty", "", 0, 0600), &s), STROBE_BAD_INPUT);
    assert_int_equal(strobe_session_open(temp_dir_write("zeros", zeros, sizeof zeros, 0600), &s), STROBE_BAD_INPUT);
    assert_int_equal(strobe_session_open(temp_dir_write("text", "STROBE\n\n and more", 17, 0600), &s),
                     STROBE_BAD_INPUT);
    memcpy(zeros, STROBE_SESSION_MAGIC, 8);
    zeros[8] = STROBE_SESSION_VERSION + 1;
    assert_int_equal(strobe_session_open(temp_dir_write("later", zeros, sizeof zeros, 0600), &s), STROBE_BAD_VERSION);
    assert_int_equal(strobe_session_attach(temp_dir_path("later"), 1, &s), STROBE_BAD_VERSION);
    assert_int_equal(strobe_session_trim(temp_dir_path("later")), STROBE_BAD_VERSION);
}

static void a_session_cut_anywhere_is_reported_as_truncated(void **state)
{
    (void)state;
    struct strobe_config c = config_small();
    struct strobe_session s;
    const char *path = fresh("cut");
    uint64_t random = seed;
    assert_int_equal(strobe_session_create(path, &c, NULL, 0, &s), STROBE_OK);
    uint32_t bytes = (uint32_t)s.mapped_bytes;
    strobe_session_unmap(&s);
    size_t got;
    char *whole = temp_dir_read("cut", &got);
    assert_int_equal(got, bytes);
    for (uint32_t round = 0; round < strobe_trial_rounds(300); round++) {
        uint32_t at = round < 20   ? round
                      : round < 40 ? bytes - 1 - (round - 20)
                                   : strobe_trial_below(&random, round % 2 ? bytes : 4096);
        temp_dir_write("cut", whole, at, 0600);
        assert_int_equal(strobe_session_open(path, &s), at < 8 ? STROBE_BAD_INPUT : STROBE_TRUNCATED);
        assert_null(s.header);
        assert_int_equal(strobe_session_attach(path, 1, &s), at < 8 ? STROBE_BAD_INPUT : STROBE_TRUNCATED);
    }
    temp_dir_write("cut", whole, bytes, 0600);
    assert_int_equal(strobe_session_open(path, &s), STROBE_OK);
    strobe_session_unmap(&s);
    free(whole);
}

/* --- entries --- */

enum { ENTRIES = 2000, TAKERS = 8, EACH = 600 };

struct hiring {
    struct strobe_session s;
    strobe_a32 taken[2][ENTRIES + TAKERS];
    strobe_a32 refused[2];
};

static void hire(void *arg, uint32_t index)
{
    struct hiring *h = arg;
    for (uint32_t i = 0; i < EACH; i++) {
        uint32_t at, tid = index * EACH + i;
        if (strobe_session_add_thread(&h->s, tid, 0, i, &at) == STROBE_OK)
            strobe_add_relaxed(&h->taken[0][at], h->s.threads[at].tid == tid ? 1 : 100);
        else
            strobe_add_relaxed(&h->refused[0], 1);
        struct strobe_image_entry *image = strobe_session_add_image(&h->s);
        strobe_add_relaxed(image ? &h->taken[1][image - h->s.images] : &h->refused[1], 1);
    }
}

static void every_entry_goes_to_one_taker_and_a_full_table_is_reported_S45(void **state)
{
    (void)state;
    struct strobe_config c = config_small();
    c.threads_max = c.images_max = ENTRIES;
    for (uint32_t round = 0; round < strobe_trial_rounds(60); round++) {
        struct hiring *h = calloc(1, sizeof *h);
        assert_int_equal(strobe_session_create(temp_dir_path("entries"), &c, NULL, 1, &h->s), STROBE_OK);
        strobe_trial_crowd(TAKERS, hire, h);
        for (uint32_t i = 0; i < ENTRIES + TAKERS; i++) {
            assert_int_equal(strobe_load_relaxed(&h->taken[0][i]), i < ENTRIES);
            assert_int_equal(strobe_load_relaxed(&h->taken[1][i]), i < ENTRIES);
            if (i < ENTRIES)
                assert_int_equal(h->s.threads[i].generation, i + 1);
        }
        for (uint32_t k = 0; k < 2; k++)
            assert_int_equal(strobe_load_relaxed(&h->refused[k]), TAKERS * EACH - ENTRIES);
        assert_int_equal(strobe_session_thread_count(&h->s), ENTRIES);
        assert_int_equal(strobe_session_image_count(&h->s), ENTRIES);
        assert_in_range(strobe_load_relaxed(&h->s.header->thread_count), ENTRIES, ENTRIES + TAKERS);
        assert_in_range(strobe_load_relaxed(&h->s.header->image_count), ENTRIES, ENTRIES + TAKERS);
        strobe_store_relaxed(&h->s.header->thread_count, ENTRIES + TAKERS); /* as if all had drawn at once */
        strobe_store_relaxed(&h->s.header->image_count, ENTRIES + TAKERS);
        assert_int_equal(strobe_session_thread_count(&h->s), ENTRIES);
        assert_int_equal(strobe_session_image_count(&h->s), ENTRIES);
        strobe_session_unmap(&h->s);
        free(h);
    }
}

/* --- blocks --- */

static uint64_t blocks_bytes(const char *path)
{
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    return (uint64_t)st.st_blocks * 512;
}

static bool holes_can_be_punched(void)
{
    int fd = open(temp_dir_write("punched", "12345678", 8, 0600), O_RDWR);
    int done = fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 8);
    close(fd);
    return done == 0;
}

/* Punching holes under a process that still writes would lose what it writes. */
static void a_session_whose_process_lives_is_not_trimmed(void **state)
{
    (void)state;
    struct strobe_config c = config_small();
    struct strobe_session s;
    const char *path = fresh("alive");
    assert_int_equal(strobe_session_create(path, &c, NULL, 0, &s), STROBE_OK);
    strobe_session_unmap(&s);
    uint64_t whole = blocks_bytes(path);
    void (*hangup)(int) = signal(SIGHUP, SIG_DFL);
    pid_t pid = fork();
    if (pid)
        signal(SIGHUP, hangup);
    if (pid == 0) {
        alarm(20); /* ends the child if the test fails before it kills it */
        pause();
    }
    assert_int_equal(strobe_session_attach(path, (uint32_t)pid, &s), STROBE_OK);
    assert_int_equal(strobe_session_trim(path), STROBE_EXISTS);
    strobe_session_finish(&s, &(struct strobe_clock_pair){1, 1, 1, 1});
    assert_int_equal(strobe_session_trim(path), STROBE_EXISTS);
    assert_true(blocks_bytes(path) == whole);
    strobe_session_unmap(&s);
    kill(pid, SIGKILL);
    int ended = 0;
    assert_int_equal(waitpid(pid, &ended, 0), pid);
    assert_true(WIFSIGNALED(ended) && WTERMSIG(ended) == SIGKILL); /* the check for the process sent no signal */
    enum strobe_status status = strobe_session_trim(path);
    assert_true(status == STROBE_OK ? blocks_bytes(path) < whole : status == STROBE_UNSUPPORTED);

    /* The app of a container can be its process 1. */
    path = fresh("first");
    assert_int_equal(strobe_session_create(path, &c, NULL, 0, &s), STROBE_OK);
    strobe_session_unmap(&s);
    assert_int_equal(strobe_session_attach(path, 1, &s), STROBE_OK);
    strobe_session_unmap(&s);
    assert_int_equal(strobe_session_trim(path), STROBE_EXISTS);
}

/* Its process may attach, and write, while the file is trimmed. */
static void a_session_that_has_not_begun_is_not_trimmed(void **state)
{
    (void)state;
    struct strobe_config c = config_small();
    struct strobe_session s;
    const char *path = fresh("begins");
    assert_int_equal(strobe_session_create(path, &c, NULL, 0, &s), STROBE_OK);
    assert_int_equal(strobe_session_trim(path), STROBE_EXISTS);
    strobe_store_relaxed(&s.header->state, STROBE_SESSION_RUNNING); /* attaching: the id follows */
    assert_int_equal(strobe_session_trim(path), STROBE_EXISTS);
    strobe_session_unmap(&s);
}

/* The recorded process has another id in this namespace, or none. */
static void a_session_of_another_namespace_is_not_trimmed(void **state)
{
    (void)state;
    struct strobe_config c = config_small();
    struct strobe_session s;
    const char *path = fresh("namespace");
    pid_t gone = fork();
    if (gone == 0)
        _exit(0);
    assert_int_equal(waitpid(gone, NULL, 0), gone);
    assert_int_equal(strobe_session_create(path, &c, NULL, 0, &s), STROBE_OK);
    strobe_session_unmap(&s);
    assert_int_equal(strobe_session_attach(path, (uint32_t)gone, &s), STROBE_OK);
    assert_true(s.header->pid_namespace == strobe_session_namespace());
    s.header->pid_namespace++;
    assert_int_equal(strobe_session_trim(path), STROBE_EXISTS);
    s.header->pid_namespace--;
    assert_int_not_equal(strobe_session_trim(path), STROBE_EXISTS);
    strobe_session_unmap(&s);
}

static void a_trimmed_file_keeps_its_content_and_the_blocks_of_what_was_written_S20(void **state)
{
    (void)state;
    struct strobe_config c;
    struct strobe_session s;
    const char *path = fresh("trim");
    strobe_config_default(&c);
    assert_int_equal(strobe_session_create(path, &c, NULL, 0, &s), STROBE_OK);
    struct strobe_ring_writer w = {0};
    struct strobe_stack_cursor cursor = {0};
    enum { RECORDS = 2000, STACKS = 30 };
    uint32_t id, thread;
    strobe_session_add_thread(&s, 1, 1, 1, &thread);
    strobe_ring_writer_init(&s.ring, &w, 1);
    for (uint64_t i = 0; i < RECORDS; i++) {
        uint64_t frame = 1 + i % STACKS;
        strobe_stack_intern(&s.stacks, &cursor, &frame, 1, &id);
        assert_int_equal(strobe_sample_write(&s.ring, &w, i, 1, id, false), STROBE_OK);
    }
    strobe_session_finish(&s, &(struct strobe_clock_pair){1, 1, 1, 1});
    strobe_session_unmap(&s);
    assert_true(blocks_bytes(path) >= strobe_session_file_bytes(&c)); /* all blocks were reserved */

    size_t before_bytes, after_bytes;
    char *before = temp_dir_read("trim", &before_bytes);
    enum strobe_status status = strobe_session_trim(path);
    if (status == STROBE_UNSUPPORTED && !holes_can_be_punched()) {
        free(before);
        print_message("this file system punches no holes\n");
        skip();
    }
    assert_int_equal(status, STROBE_OK);
    char *after = temp_dir_read("trim", &after_bytes);
    assert_int_equal(after_bytes, before_bytes);
    assert_memory_equal(after, before, before_bytes);
    free(before);
    free(after);
    /* header, thread, head with nodes, a page of slots for each stack, the ring's head and states, the records */
    uint64_t pages = 1 + 1 + 1 + STACKS + 2 + (RECORDS * 64 + 4095) / 4096 + 1;
    assert_in_range(blocks_bytes(path), RECORDS * 64, (pages + 4) * 4096); /* 4: the file's own extents */
    assert_int_equal(strobe_session_trim(path), STROBE_OK);
    assert_int_equal(strobe_session_open(path, &s), STROBE_OK);
    assert_int_equal(strobe_sample_census(&s.ring).records, RECORDS);
    strobe_session_unmap(&s);
    unlink(path);
}

/* Runs in a child with a small file system of its own. Returns 0 = passed, 1 = failed, 2 = cannot be tried. */
static int create_on_a_full_disk(const char *folder)
{
    char path[512];
    struct strobe_config c;
    struct strobe_session s;
    if (unshare(CLONE_NEWNS) && unshare(CLONE_NEWUSER | CLONE_NEWNS))
        return 2;
    if (mount("none", "/", "none", MS_REC | MS_PRIVATE, ""))
        return 2;
    if (mount("none", folder, "tmpfs", 0, "size=1m"))
        return 2;
    snprintf(path, sizeof path, "%s/session", folder);
    strobe_config_default(&c);
    errno = 0;
    if (strobe_session_create(path, &c, NULL, 0, &s) != STROBE_IO || errno != ENOSPC || s.header)
        return 1;
    if (access(path, F_OK) == 0)
        return 1;
    c = config_small();
    if (strobe_session_create(path, &c, NULL, 0, &s) != STROBE_OK)
        return 1;
    memset(s.images, 0xff, s.header->region[STROBE_REGION_IMAGES].bytes); /* reserved blocks: no SIGBUS */
    return 0;
}

static void a_full_disk_is_refused_at_once_and_leaves_nothing(void **state)
{
    (void)state;
    const char *folder = temp_dir_path("full");
    int status;
    mkdir(folder, 0700);
    pid_t pid = fork();
    if (pid == 0)
        _exit(create_on_a_full_disk(folder));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 2) {
        print_message("no file system can be mounted here\n");
        skip();
    }
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
    seed = strobe_trial_seed("test_session");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_traced_process_wrote_is_what_a_reader_finds),
        cmocka_unit_test(how_a_process_ended_is_noted_in_a_session_that_it_has_not_closed_only),
        cmocka_unit_test(the_defaults_are_valid_and_take_under_100_megabytes),
        cmocka_unit_test(defaults_are_those_of_published_tracers),
        cmocka_unit_test(a_process_without_standard_input_can_be_recorded),
        cmocka_unit_test(a_config_out_of_range_is_refused_and_leaves_no_file),
        cmocka_unit_test(an_existing_file_is_replaced_only_on_request_and_only_a_regular_one),
        cmocka_unit_test(a_file_that_is_no_session_is_refused),
        cmocka_unit_test(a_session_cut_anywhere_is_reported_as_truncated),
        cmocka_unit_test(every_entry_goes_to_one_taker_and_a_full_table_is_reported_S45),
        cmocka_unit_test(a_session_whose_process_lives_is_not_trimmed),
        cmocka_unit_test(a_session_that_has_not_begun_is_not_trimmed),
        cmocka_unit_test(a_session_of_another_namespace_is_not_trimmed),
        cmocka_unit_test(a_trimmed_file_keeps_its_content_and_the_blocks_of_what_was_written_S20),
        cmocka_unit_test(a_full_disk_is_refused_at_once_and_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, temp_dir_open, temp_dir_close);
}
