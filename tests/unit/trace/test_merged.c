/* Sessions of several processes in one trace, and ids that let traces be joined. */
#include "engine/base/error.h"
#include "engine/trace/export/convert.h"
#include "engine/trace/export/packets.h"
#include "engine/trace/import/perfetto/proto_read.h"
#include "tests/unit/support/session_builder.h"
#include "tests/unit/support/temp_dir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#define MS UINT64_C(1000000)

struct made {
    const char *file;
    uint32_t pid;
    const char *exe;
    uint64_t begin_ns;
};
static const struct made first = {"set/main.strobe", 100, "/usr/bin/shell", 5000 * MS},
                         second = {"set/200.strobe", 200, "/usr/bin/tool one", 5002 * MS};

/* Makes the session of a process with one thread, which waits 1 ms and is its own waker. */
static void make_session(const struct made *m, enum strobe_session_state state)
{
    struct strobe_build build;
    struct strobe_config config = strobe_build_config();
    mkdir(temp_dir_path("set"), 0700);
    strobe_build_begin(&build, temp_dir_path(m->file), &config);
    struct strobe_session_header *h = build.session.header;
    h->pid = m->pid;
    h->begin.boottime_ns = m->begin_ns;
    h->begin.realtime_ns = m->begin_ns + 1000000 * MS;
    snprintf(h->exe, sizeof h->exe, "%s", m->exe);
    snprintf(h->command, sizeof h->command, "%s --do", m->exe);
    uint32_t thread = strobe_build_thread(&build, m->pid, "main");
    const uint64_t stack[] = {0x100, 0x200};
    struct strobe_record r = {.duration = MS,
                              .stack = strobe_build_stack(&build, stack, 2),
                              .arg = 9,
                              .thread = thread,
                              .kind = STROBE_KIND_READ,
                              .flags = STROBE_FLAG_SCOPE};
    strobe_build_record(&build, r, NULL);
    strobe_build_end(&build, 2 * MS);
    if (state == STROBE_SESSION_CREATED) {
        struct strobe_session s;
        assert_int_equal(strobe_session_open(temp_dir_path(m->file), &s), STROBE_OK);
        size_t at = (size_t)((char *)&s.header->state - (char *)s.header);
        strobe_session_unmap(&s);
        FILE *f = fopen(temp_dir_path(m->file), "r+b");
        assert_non_null(f);
        assert_int_equal(fseek(f, (long)at, SEEK_SET), 0);
        assert_int_equal(fwrite("\0\0\0\0", 1, 4, f), 4);
        fclose(f);
    }
}

static char *convert(const char *from, enum strobe_format format, struct strobe_convert_stats *stats, size_t *bytes)
{
    struct strobe_convert_options options = {.format = format, .replace = 1};
    struct strobe_error error = {""};
    if (strobe_convert(temp_dir_path(from), temp_dir_path("out"), &options, stats, &error))
        fail_msg("%s", error.text);
    return temp_dir_read("out", bytes);
}

static char *convert_both(enum strobe_format format, struct strobe_convert_stats *stats, size_t *bytes)
{
    make_session(&second, STROBE_SESSION_CLOSED);
    make_session(&first, STROBE_SESSION_CLOSED);
    return convert("set", format, stats, bytes);
}

/* ---- ids */

enum { IDS_MAX = 64 };
struct ids {
    uint64_t track[IDS_MAX], sequence[IDS_MAX], pid[IDS_MAX];
    size_t tracks, sequences, pids;
};

static void add(uint64_t *list, size_t *count, uint64_t id)
{
    for (size_t i = 0; i < *count; i++)
        if (list[i] == id)
            return;
    assert_true(*count < IDS_MAX);
    list[(*count)++] = id;
}

static uint64_t number_in(struct strobe_proto message, uint32_t field)
{
    struct strobe_proto_field f;
    while (strobe_proto_next(&message, &f) == STROBE_PROTO_FIELD)
        if (f.number == field && f.wire == STROBE_WIRE_VARINT)
            return f.value;
    return 0;
}

/* Every track is described once, and every process too. */
static struct ids ids_of(const char *text, size_t bytes)
{
    struct ids ids = {.tracks = 0};
    struct strobe_proto trace = {(const uint8_t *)text, (const uint8_t *)text + bytes};
    struct strobe_proto_field packet, f, d;
    while (strobe_proto_next(&trace, &packet) == STROBE_PROTO_FIELD) {
        add(ids.sequence, &ids.sequences, number_in(packet.bytes, PACKET_SEQUENCE));
        while (strobe_proto_next(&packet.bytes, &f) == STROBE_PROTO_FIELD) {
            if (f.number != PACKET_TRACK_DESCRIPTOR)
                continue;
            size_t before = ids.tracks;
            add(ids.track, &ids.tracks, number_in(f.bytes, 1));
            assert_int_equal(ids.tracks, before + 1);
            while (strobe_proto_next(&f.bytes, &d) == STROBE_PROTO_FIELD)
                if (d.number == 3 && d.wire == STROBE_WIRE_BYTES)
                    add(ids.pid, &ids.pids, number_in(d.bytes, 1));
        }
    }
    return ids;
}

static bool share(const uint64_t *a, size_t a_count, const uint64_t *b, size_t b_count)
{
    for (size_t i = 0; i < a_count; i++)
        for (size_t k = 0; k < b_count; k++)
            if (a[i] == b[k])
                return true;
    return false;
}

static void two_traces_share_no_track_and_no_sequence(void **state)
{
    (void)state;
    size_t bytes;
    make_session(&first, STROBE_SESSION_CLOSED);
    make_session(&second, STROBE_SESSION_CLOSED);
    char *text = convert(first.file, STROBE_FORMAT_PERFETTO, NULL, &bytes);
    struct ids a = ids_of(text, bytes);
    free(text);
    text = convert(second.file, STROBE_FORMAT_PERFETTO, NULL, &bytes);
    struct ids b = ids_of(text, bytes);
    free(text);
    assert_true(a.tracks >= 2 && b.tracks >= 2 && a.sequences == 4 && b.sequences == 4);
    assert_false(share(a.track, a.tracks, b.track, b.tracks));
    assert_false(share(a.sequence, a.sequences, b.sequence, b.sequences));
}

static void one_session_gives_the_same_bytes_each_time(void **state)
{
    (void)state;
    size_t bytes, again_bytes;
    char *text = convert_both(STROBE_FORMAT_PERFETTO, NULL, &bytes);
    char *again = convert("set", STROBE_FORMAT_PERFETTO, NULL, &again_bytes);
    assert_int_equal(bytes, again_bytes);
    assert_memory_equal(text, again, bytes);
    free(text);
    free(again);
}

/* ---- one trace of several */

static void each_process_has_a_track_and_a_slice_of_its_life(void **state)
{
    (void)state;
    size_t bytes;
    struct strobe_convert_stats stats;
    char *text = convert_both(STROBE_FORMAT_PERFETTO, &stats, &bytes);
    struct ids ids = ids_of(text, bytes);
    assert_int_equal(stats.processes, 2);
    assert_int_equal(stats.threads, 2);
    assert_int_equal(stats.perfetto.lives, 2);
    assert_int_equal(ids.pids, 2);
    assert_int_equal(ids.pid[0], first.pid);
    assert_int_equal(ids.pid[1], second.pid);
    assert_int_equal(ids.sequences, 8);
    assert_non_null(memmem(text, bytes, "/usr/bin/tool one --do", 22));
    free(text);
    text = convert(first.file, STROBE_FORMAT_PERFETTO, &stats, &bytes);
    assert_int_equal(stats.perfetto.lives, 0);
    free(text);
}

/* A stack id of one process says nothing about the other, whose sequence needs an entry of its own. */
static void each_process_interns_the_stacks_of_its_samples(void **state)
{
    (void)state;
    size_t bytes, sequences = 0;
    uint64_t sequence[IDS_MAX];
    char *text = convert_both(STROBE_FORMAT_PERFETTO, NULL, &bytes);
    struct strobe_proto trace = {(const uint8_t *)text, (const uint8_t *)text + bytes};
    struct strobe_proto_field packet, f, entry;
    while (strobe_proto_next(&trace, &packet) == STROBE_PROTO_FIELD) {
        uint64_t of = number_in(packet.bytes, PACKET_SEQUENCE);
        while (strobe_proto_next(&packet.bytes, &f) == STROBE_PROTO_FIELD)
            while (f.number == PACKET_INTERNED && strobe_proto_next(&f.bytes, &entry) == STROBE_PROTO_FIELD)
                if (entry.number == INTERNED_STACK)
                    add(sequence, &sequences, of);
    }
    free(text);
    assert_int_equal(sequences, 2);
}

static void folded_stacks_begin_with_the_program(void **state)
{
    (void)state;
    size_t bytes;
    char *text = convert_both(STROBE_FORMAT_FOLDED, NULL, &bytes);
    assert_non_null(strstr(text, "shell;main;0x100;0x200;[read] 1000\n"));
    assert_non_null(strstr(text, "tool one;main;0x100;0x200;[read] 1000\n"));
    free(text);
    text = convert(first.file, STROBE_FORMAT_FOLDED, NULL, &bytes);
    assert_ptr_equal(strstr(text, "main;"), text);
    free(text);
}

static void speedscope_profiles_are_named_by_process_on_one_clock(void **state)
{
    (void)state;
    size_t bytes;
    char *text = convert_both(STROBE_FORMAT_SPEEDSCOPE, NULL, &bytes);
    assert_non_null(strstr(text, "\"name\":\"shell 100: main (100)\""));
    const char *other = strstr(text, "\"name\":\"shell 100: main (100)\"");
    assert_non_null(strstr(other, "\"at\":2000000}"));
    assert_non_null(strstr(other, "\"name\":\"tool one 200: main (200)\""));
    assert_null(strstr(strstr(text, "$schema") + 1, "$schema"));
    free(text);
}

static void chrome_events_have_the_pid_of_their_process(void **state)
{
    (void)state;
    size_t bytes;
    char *text = convert_both(STROBE_FORMAT_CHROME, NULL, &bytes);
    assert_non_null(strstr(text, "{\"ph\":\"B\",\"pid\":100,\"tid\":100,"));
    assert_non_null(strstr(text, "{\"ph\":\"B\",\"pid\":200,\"tid\":200,"));
    assert_null(strstr(strstr(text, "traceEvents") + 1, "traceEvents"));
    free(text);
}

static void a_window_of_several_processes_begins_with_the_first(void **state)
{
    (void)state;
    size_t bytes;
    struct strobe_convert_options options = {.format = STROBE_FORMAT_FOLDED, .replace = 1, .from_ns = 2 * MS + MS / 2};
    struct strobe_error error = {""};
    make_session(&first, STROBE_SESSION_CLOSED);
    make_session(&second, STROBE_SESSION_CLOSED);
    if (strobe_convert(temp_dir_path("set"), temp_dir_path("out"), &options, NULL, &error))
        fail_msg("%s", error.text);
    char *text = temp_dir_read("out", &bytes);
    assert_null(strstr(text, "shell"));
    assert_non_null(strstr(text, "tool one;main;0x100;0x200;[read] 500\n"));
    free(text);
}

/* ---- sets */

static void a_set_holds_the_sessions_that_a_process_has_attached_to_by_their_begin(void **state)
{
    (void)state;
    static const struct made waiting = {"set/300.strobe", 300, "/x", 5001 * MS};
    struct strobe_session_set set;
    make_session(&second, STROBE_SESSION_CLOSED);
    make_session(&first, STROBE_SESSION_CLOSED);
    make_session(&waiting, STROBE_SESSION_CREATED);
    temp_dir_write("set/notes.strobe", "not one", 7, 0600);
    temp_dir_write("set/STROBE", "STROBE\r\n", 8, 0600);
    assert_int_equal(strobe_session_set_list(temp_dir_path("set"), &set), STROBE_OK);
    assert_int_equal(set.count, 2);
    assert_non_null(strstr(set.paths[0], "main.strobe"));
    assert_non_null(strstr(set.paths[1], "200.strobe"));
    strobe_session_set_free(&set);
    mkdir(temp_dir_path("empty"), 0700);
    assert_int_equal(strobe_session_set_list(temp_dir_path("empty"), &set), STROBE_NO_ENTRY);
    struct strobe_convert_options options = {.replace = 1};
    struct strobe_error error;
    assert_int_equal(strobe_convert(temp_dir_path("empty"), "/dev/null", &options, NULL, &error), STROBE_BAD_INPUT);
    assert_non_null(strstr(error.text, "empty: a folder without sessions"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_traces_share_no_track_and_no_sequence),
        cmocka_unit_test(one_session_gives_the_same_bytes_each_time),
        cmocka_unit_test(each_process_has_a_track_and_a_slice_of_its_life),
        cmocka_unit_test(each_process_interns_the_stacks_of_its_samples),
        cmocka_unit_test(folded_stacks_begin_with_the_program),
        cmocka_unit_test(speedscope_profiles_are_named_by_process_on_one_clock),
        cmocka_unit_test(chrome_events_have_the_pid_of_their_process),
        cmocka_unit_test(a_window_of_several_processes_begins_with_the_first),
        cmocka_unit_test(a_set_holds_the_sessions_that_a_process_has_attached_to_by_their_begin),
    };
    return cmocka_run_group_tests(tests, temp_dir_open, temp_dir_close);
}
