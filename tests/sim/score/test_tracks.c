/* Tracks: recorded directly, received from the engine's timeline, and written as a trace. */
#include "sim/score/tracks.h"

#include "engine/trace/export/packets.h"
#include "engine/trace/import/perfetto/proto_read.h"
#include "engine/trace/model/sink.h"
#include "tests/sim/support/story.h"
#include "tests/support/temporary.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

/* Compares the events of a track with a text in the notation of story.h. */
static void assert_events(const struct sim_tracks *t, uint32_t track, const char *expected)
{
    char text[400] = "";
    for (size_t i = 0; i < t->tracks[track].event_count; i++) {
        const struct sim_event *e = &t->tracks[track].events[i];
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%llu %s", i ? " " : "",
                 (unsigned long long)e->time_ns, e->name == SIM_CALL_END ? "." : t->names.texts[e->name]);
    }
    assert_string_equal(text, expected);
}

/* ---- recorded directly */

static void what_is_open_ends_with_the_thread(void **state)
{
    (void)state;
    struct sim_tracks t;
    sim_tracks_open(&t);
    uint32_t track = story(&t, 1, "main", "5 A 10 B 12 #3 20 @1 50 !");
    const struct sim_track *tr = &t.tracks[track];
    assert_events(&t, track, "5 A 10 B 50 . 50 .");
    assert_true(tr->begin_ns == 5 && tr->end_ns == 50 && tr->depth == 0 && t.end_ns == 50);
    assert_true(tr->message_count == 1 && tr->messages[0].begin_ns == 12 && tr->messages[0].end_ns == 50);
    assert_true(tr->cpu_count == 1 && tr->cpu[0].value == 1 && tr->cpu[0].end_ns == 50);
    sim_tracks_close(&t);
}

static void spans_that_go_on_are_one_and_empty_ones_none(void **state)
{
    (void)state;
    struct sim_tracks t;
    sim_tracks_open(&t);
    uint32_t track = story(&t, 1, "main", "0 @2 10 @- 10 @2 30 @3 30 @- 40 @0 50 @- 60 !");
    const struct sim_track *tr = &t.tracks[track];
    assert_int_equal(tr->cpu_count, 2);
    assert_true(tr->cpu[0].begin_ns == 0 && tr->cpu[0].end_ns == 30 && tr->cpu[0].value == 2);
    assert_true(tr->cpu[1].begin_ns == 40 && tr->cpu[1].end_ns == 50 && tr->cpu[1].value == 0);
    sim_tracks_close(&t);
}

static void a_message_ends_when_the_next_begins_or_none_does(void **state)
{
    (void)state;
    struct sim_tracks t;
    sim_tracks_open(&t);
    uint32_t track = story(&t, 1, "main", "0 #1 10 #2 20 #0 30 #3 40 !");
    const struct sim_track *tr = &t.tracks[track];
    assert_int_equal(tr->message_count, 3);
    assert_true(tr->messages[1].begin_ns == 10 && tr->messages[1].end_ns == 20 && tr->messages[1].value == 2);
    assert_true(tr->messages[2].begin_ns == 30 && tr->messages[2].end_ns == 40);
    sim_tracks_close(&t);
}

static void names_and_tracks_keep_their_numbers_however_many_come(void **state)
{
    (void)state;
    struct sim_tracks t;
    char name[64];
    sim_tracks_open(&t);
    for (uint32_t i = 0; i < 3000; i++) {
        snprintf(name, sizeof name, "thread with a name of more than thirty letters %u", i);
        assert_int_equal(sim_track_add(&t, i, 1, name, false, 0), i);
        assert_int_equal(sim_tracks_name(&t, name), i);
        sim_track_call(&t, i, i, i, SIM_CALL_METHOD);
    }
    for (uint32_t i = 0; i < 3000; i++) {
        sim_track_end(&t, i, 5000);
        assert_int_equal(t.tracks[i].events[0].name, i);
        assert_int_equal(strlen(t.tracks[i].name), sizeof t.tracks[i].name - 1);
    }
    assert_false(t.failed);
    sim_tracks_close(&t);
}

/* ---- received from the timeline */

/* A session with threads and two functions only. Its clock shows 1000 when the lab's clock shows 0. */
struct session {
    struct strobe_session_header header;
    struct strobe_reader_thread threads[3];
    struct strobe_reader reader;
    void *memory;
    struct strobe_function_tree *tree;
    uint32_t name[2];
    struct sim_tracks tracks;
    struct strobe_sink *sink;
};

static size_t resolve(void *ctx, uint64_t address, struct strobe_symbol *out, size_t max)
{
    (void)ctx;
    (void)max;
    *out = (struct strobe_symbol){.function = address == 1 ? "f" : "g",
                                  .image = "",
                                  .file = "",
                                  .function_id = (uint32_t)address,
                                  .function_address = address};
    return 1;
}

static void open_session(struct session *s)
{
    enum { NODES = 16 };
    memset(s, 0, sizeof *s);
    s->header.ticks_per_second = 1000000000;
    s->header.begin = (struct strobe_clock_pair){1000, 1000, 1000, 1000};
    s->header.config.metrics = STROBE_METRIC_CPU | STROBE_METRIC_SWITCHES;
    for (unsigned i = 0; i < 3; i++) {
        s->threads[i] = (struct strobe_reader_thread){
            .tid = 10 + i, .generation = 1, .start_ticks = 1000, .end_ticks = 1200, .is_main = !i};
        snprintf(s->threads[i].name, sizeof s->threads[i].name, "t%u", i);
        s->threads[i].samples = 7;
    }
    s->reader = (struct strobe_reader){.threads = s->threads, .thread_count = 3, .last_ticks = 1300, .item_count = 3};
    s->reader.session.header = &s->header;
    s->reader.all.dropped = 4;
    s->reader.all.overwritten = 5;
    s->memory = aligned_alloc(64, (strobe_stack_table_bytes(NODES) + 63) / 64 * 64);
    assert_non_null(s->memory);
    memset(s->memory, 0, strobe_stack_table_bytes(NODES));
    strobe_stack_table_create(s->memory, NODES);
    assert_int_equal(strobe_stack_table_open(s->memory, strobe_stack_table_bytes(NODES), &s->reader.session.stacks),
                     STROBE_OK);
    struct strobe_resolver resolver = {.resolve = resolve, .ctx = NULL};
    assert_int_equal(strobe_function_tree_open(&s->reader.session.stacks, resolver, &s->tree), STROBE_OK);
    for (uint32_t i = 0; i < 2; i++) {
        const uint32_t *names;
        uint32_t first;
        assert_int_equal(strobe_function_tree_at(s->tree, i + 1, &names, &first), 1);
        s->name[i] = names[0];
    }
    sim_tracks_open(&s->tracks);
    s->sink = sim_tracks_sink(&s->tracks, 1000);
    assert_non_null(s->sink);
    s->sink->start(s->sink, &s->reader, s->tree);
}

static void close_session(struct session *s)
{
    sim_tracks_close(&s->tracks);
    strobe_function_tree_close(s->tree);
    free(s->memory);
}

static struct strobe_slice slice(uint32_t name, enum strobe_slice_class class, uint64_t begin_ns)
{
    return (struct strobe_slice){.name = name, .class = class, .arg = 99, .begin = {.time_ns = begin_ns}};
}

static void emit_slice(struct session *s, struct strobe_slice slice, struct strobe_moment end)
{
    s->sink->slice_begin(s->sink, &slice);
    s->sink->slice_end(s->sink, &slice, &end);
}

static void slices_become_calls_of_their_names_and_classes(void **state)
{
    (void)state;
    struct session s;
    open_session(&s);
    struct strobe_slice outer = slice(s.name[0], STROBE_SLICE_FUNCTION, 1010);
    s.sink->thread_begin(s.sink, &s.threads[0]);
    s.sink->slice_begin(s.sink, &outer);
    emit_slice(&s, slice(s.name[1], STROBE_SLICE_FUNCTION, 1020), (struct strobe_moment){.time_ns = 1030});
    emit_slice(&s, slice(STROBE_NAME_OFF_CPU, STROBE_SLICE_OFF_CPU, 1030), (struct strobe_moment){.time_ns = 1040});
    s.sink->slice_end(s.sink, &outer, &(struct strobe_moment){.time_ns = 1050});
    emit_slice(&s, slice(STROBE_NAME_NO_STACK, STROBE_SLICE_PLACEHOLDER, 1060),
               (struct strobe_moment){.time_ns = 1070});
    s.sink->thread_end(s.sink);
    assert_int_equal(s.sink->finish(s.sink), STROBE_OK);
    assert_events(&s.tracks, 0, "10 f 20 g 30 . 50 . 60 [no stack] 70 .");
    assert_int_equal(s.tracks.tracks[0].events[4].class, SIM_CALL_METHOD);
    assert_true(s.tracks.tracks[0].is_main && s.tracks.tracks[0].tid == 10);
    assert_true(s.tracks.tracks[0].begin_ns == 0 && s.tracks.tracks[0].end_ns == 200);
    close_session(&s);
}

static void a_wait_blocked_if_it_switched_or_used_little_cpu(void **state)
{
    (void)state;
    struct session s;
    open_session(&s);
    s.sink->thread_begin(s.sink, &s.threads[0]);
    struct strobe_moment end = {.time_ns = 1110, .cpu_ns = 5};
    emit_slice(&s, slice(STROBE_KIND_MUTEX, STROBE_SLICE_WAIT, 1010), end);
    struct strobe_slice busy = slice(STROBE_KIND_READ, STROBE_SLICE_WAIT, 1110), both = busy;
    busy.begin.cpu_ns = 5;
    emit_slice(&s, busy, (struct strobe_moment){.time_ns = 1120, .cpu_ns = 15});
    both.begin.time_ns = 1120;
    both.begin.cpu_ns = 15;
    emit_slice(&s, both, (struct strobe_moment){.time_ns = 1130, .cpu_ns = 25, .counter[STROBE_COUNTER_SWITCHES] = 1});
    struct strobe_slice released = slice(STROBE_KIND_WRITE, STROBE_SLICE_WAIT, 1130);
    released.begin.cpu_ns = 25;
    released.no_wait = 1;
    emit_slice(&s, released,
               (struct strobe_moment){.time_ns = 1180, .cpu_ns = 25, .counter[STROBE_COUNTER_SWITCHES] = 1});
    s.sink->thread_end(s.sink);
    s.sink->finish(s.sink);
    const struct sim_track *t = &s.tracks.tracks[0];
    assert_int_equal(t->wait_count, 4);
    assert_true(t->waits[0].blocked && !t->waits[1].blocked && t->waits[2].blocked && !t->waits[3].blocked);
    assert_true(t->waits[0].begin_ns == 10 && t->waits[0].end_ns == 110 && t->waits[0].what == 99);
    assert_true(t->waits[0].kind == STROBE_KIND_MUTEX && t->waits[0].waker == SIM_NOBODY);
    assert_true(t->known_cpu && t->known_switches && !t->known_alloc);
    assert_true(t->totals.cpu_ns == 25 && t->totals.voluntary_switches == 1);
    close_session(&s);
}

/* Only the entry after a notification is part of the wait: not one in code that runs in it, and not a later one. */
static void entering_the_monitor_again_is_part_of_the_wait_for_a_notification(void **state)
{
    (void)state;
    struct session s;
    open_session(&s);
    struct strobe_slice wait = slice(STROBE_KIND_COND, STROBE_SLICE_WAIT, 1010);
    struct strobe_slice f = slice(s.name[0], STROBE_SLICE_FUNCTION, 1040);
    s.sink->thread_begin(s.sink, &s.threads[0]);
    s.sink->slice_begin(s.sink, &wait);
    emit_slice(&s, slice(STROBE_KIND_MONITOR, STROBE_SLICE_WAIT, 1020), (struct strobe_moment){.time_ns = 1030});
    s.sink->slice_begin(s.sink, &f);
    emit_slice(&s, slice(STROBE_KIND_MONITOR, STROBE_SLICE_WAIT, 1050), (struct strobe_moment){.time_ns = 1060});
    s.sink->slice_end(s.sink, &f, &(struct strobe_moment){.time_ns = 1070});
    s.sink->slice_end(s.sink, &wait, &(struct strobe_moment){.time_ns = 1080});
    emit_slice(&s, slice(STROBE_KIND_MONITOR, STROBE_SLICE_WAIT, 1090), (struct strobe_moment){.time_ns = 1100});
    s.sink->thread_end(s.sink);
    s.sink->finish(s.sink);
    assert_events(&s.tracks, 0, "10 [cond wait] 40 f 50 [monitor wait] 60 . 70 . 80 . 90 [monitor wait] 100 .");
    assert_int_equal(s.tracks.tracks[0].wait_count, 4);
    close_session(&s);
}

/* A signal handler, say, waits for a notification while its thread enters the monitor again. */
static void a_wait_within_the_entry_of_a_monitor_leaves_the_wait_outside_open(void **state)
{
    (void)state;
    struct session s;
    open_session(&s);
    struct strobe_slice wait = slice(STROBE_KIND_COND, STROBE_SLICE_WAIT, 1010);
    struct strobe_slice entry = slice(STROBE_KIND_MONITOR, STROBE_SLICE_WAIT, 1020);
    s.sink->thread_begin(s.sink, &s.threads[0]);
    s.sink->slice_begin(s.sink, &wait);
    s.sink->slice_begin(s.sink, &entry);
    emit_slice(&s, slice(STROBE_KIND_COND, STROBE_SLICE_WAIT, 1030), (struct strobe_moment){.time_ns = 1040});
    s.sink->slice_end(s.sink, &entry, &(struct strobe_moment){.time_ns = 1050});
    s.sink->slice_end(s.sink, &wait, &(struct strobe_moment){.time_ns = 1060});
    s.sink->thread_end(s.sink);
    s.sink->finish(s.sink);
    assert_events(&s.tracks, 0, "10 [cond wait] 30 [cond wait] 40 . 60 .");
    close_session(&s);
}

static void wakers_are_tracks_even_of_threads_that_show_nothing(void **state)
{
    (void)state;
    struct session s;
    open_session(&s);
    for (unsigned i = 0; i < 2; i++) {
        struct strobe_slice wait = slice(STROBE_KIND_MUTEX, STROBE_SLICE_WAIT, 1010);
        s.sink->thread_begin(s.sink, &s.threads[i]);
        s.sink->slice_begin(s.sink, &wait);
        /* The second thread, which is emitted later, wakes the first. A thread that is never emitted wakes the second.
         * */
        s.sink->wake(
            s.sink, &(struct strobe_wake_flow){
                        .id = i + 1, .waiter = i, .waker = i + 1, .time_ns = 1050, .release_ns = 1040, .end_ns = 1050});
        s.sink->slice_end(s.sink, &wait, &(struct strobe_moment){.time_ns = 1050});
        s.sink->thread_end(s.sink);
    }
    s.sink->finish(s.sink);
    assert_int_equal(s.tracks.track_count, 3);
    assert_int_equal(s.tracks.tracks[0].waits[0].waker, 1);
    assert_int_equal(s.tracks.tracks[0].waits[0].release_ns, 40);
    assert_int_equal(s.tracks.tracks[1].waits[0].waker, 2);
    assert_int_equal(s.tracks.tracks[2].tid, 12);
    close_session(&s);
}

static void samples_losses_and_bytes_are_those_of_the_session(void **state)
{
    (void)state;
    struct session s;
    open_session(&s);
    for (unsigned i = 0; i < 2; i++) {
        s.sink->thread_begin(s.sink, &s.threads[i]);
        s.sink->thread_end(s.sink);
    }
    s.sink->finish(s.sink);
    assert_int_equal(s.tracks.samples, 14);
    assert_int_equal(s.tracks.tracks[1].samples, 7);
    assert_int_equal(s.tracks.lost, 9);
    assert_int_equal(s.tracks.bytes, 3 * 64);
    close_session(&s);
}

static void what_lies_before_our_clock_begins_is_shown_at_its_begin(void **state)
{
    (void)state;
    struct session s;
    open_session(&s);
    s.threads[0].start_ticks = 1100;
    s.sink->thread_begin(s.sink, &s.threads[0]);
    emit_slice(&s, slice(STROBE_KIND_MUTEX, STROBE_SLICE_WAIT, 900), (struct strobe_moment){.time_ns = 1150});
    s.sink->thread_end(s.sink);
    assert_int_equal(s.sink->finish(s.sink), STROBE_OK);
    assert_events(&s.tracks, 0, "100 [mutex wait] 150 .");
    assert_int_equal(s.tracks.tracks[0].waits[0].begin_ns, 100);
    close_session(&s);
}

/* ---- written as a trace */

struct seen {
    unsigned begins, ends, instants, flows, flow_ends, names, tracks;
    uint64_t flow, flow_end;
};

static void look_at(struct strobe_proto m, unsigned parent, struct seen *s)
{
    struct strobe_proto_field f;
    enum strobe_proto_step step;
    while ((step = strobe_proto_next(&m, &f)) == STROBE_PROTO_FIELD) {
        if (parent == PACKET_TRACK_EVENT && f.number == EVENT_TYPE) {
            s->begins += f.value == TYPE_BEGIN;
            s->ends += f.value == TYPE_END;
            s->instants += f.value == TYPE_INSTANT;
        } else if (parent == PACKET_TRACK_EVENT && f.number == EVENT_FLOW) {
            s->flows++;
            s->flow ^= f.value;
        } else if (parent == PACKET_TRACK_EVENT && f.number == EVENT_FLOW_END) {
            s->flow_ends++;
            s->flow_end ^= f.value;
        }
        s->names += parent == PACKET_INTERNED && f.number == INTERNED_NAME;
        s->tracks += parent == TRACE_PACKET && f.number == PACKET_TRACK_DESCRIPTOR;
        if (f.wire == STROBE_WIRE_BYTES &&
            ((!parent && f.number == TRACE_PACKET) ||
             (parent == TRACE_PACKET && (f.number == PACKET_TRACK_EVENT || f.number == PACKET_INTERNED))))
            look_at(f.bytes, f.number, s);
    }
    assert_int_equal(step, STROBE_PROTO_END);
}

static struct seen written(const struct sim_tracks *t)
{
    char path[TEMPORARY_BYTES];
    struct seen seen = {0};
    int file = mkstemp(temporary_path(path, "strobe-tracks-XXXXXX"));
    assert_true(file >= 0);
    assert_int_equal(sim_tracks_write(t, "app", path, 0), STROBE_EXISTS);
    assert_int_equal(sim_tracks_write(t, "app", path, 1), STROBE_OK);
    close(file);
    FILE *in = fopen(path, "r");
    uint8_t *bytes = malloc(1 << 20);
    assert_true(in && bytes);
    size_t count = fread(bytes, 1, 1 << 20, in);
    fclose(in);
    unlink(path);
    look_at((struct strobe_proto){bytes, bytes + count}, 0, &seen);
    free(bytes);
    return seen;
}

static void a_trace_of_tracks_has_their_calls_cores_and_messages(void **state)
{
    (void)state;
    struct sim_tracks t;
    sim_tracks_open(&t);
    story(&t, 1, "main", "0 @0 0 #1 0 A 10 B 20 . 20 B 30 . 30 #2 40 @1 60 !");
    story(&t, 2, "other", "0 @1 0 A 30 @- 30 . 60 !");
    struct seen s = written(&t);
    assert_int_equal(s.begins, 4 + 2 + 3); /* calls, messages, times on a core */
    assert_int_equal(s.ends, s.begins);
    assert_int_equal(s.names, 3);              /* A and B once for the first thread, A for the second */
    assert_int_equal(s.tracks, 1 + 2 + 1 + 2); /* process, threads, messages, cores */
    assert_int_equal(s.instants, 0);
    sim_tracks_close(&t);
}

static void each_waker_has_an_arrow_to_its_wait(void **state)
{
    (void)state;
    struct sim_tracks t;
    sim_tracks_open(&t);
    story(&t, 2, "waker", "0 A 60 . 60 !");
    uint32_t main = sim_track_add(&t, 1, 1, "main", true, 0), wait = sim_tracks_name(&t, "[mutex wait]");
    for (uint64_t at = 0; at < 50; at += 10) {
        sim_track_call(&t, main, at, wait, SIM_CALL_WAIT);
        sim_track_wait(&t, main,
                       &(struct sim_wait){at, at + 10, STROBE_KIND_MUTEX, true, 1, at == 20 ? SIM_NOBODY : 0, at + 8});
        sim_track_return(&t, main, at + 10, false);
    }
    sim_track_end(&t, main, 60);
    struct seen s = written(&t);
    assert_int_equal(s.flows, 4);
    assert_int_equal(s.flow_ends, 4);
    assert_int_equal(s.instants, 8);
    assert_true(s.flow == s.flow_end && s.flow == (1 ^ 2 ^ 3 ^ 4));
    sim_tracks_close(&t);
}

static void tracks_without_anything_are_a_trace_too(void **state)
{
    (void)state;
    struct sim_tracks t;
    sim_tracks_open(&t);
    assert_int_equal(written(&t).tracks, 1);
    sim_tracks_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_open_ends_with_the_thread),
        cmocka_unit_test(spans_that_go_on_are_one_and_empty_ones_none),
        cmocka_unit_test(a_message_ends_when_the_next_begins_or_none_does),
        cmocka_unit_test(names_and_tracks_keep_their_numbers_however_many_come),
        cmocka_unit_test(slices_become_calls_of_their_names_and_classes),
        cmocka_unit_test(a_wait_blocked_if_it_switched_or_used_little_cpu),
        cmocka_unit_test(entering_the_monitor_again_is_part_of_the_wait_for_a_notification),
        cmocka_unit_test(a_wait_within_the_entry_of_a_monitor_leaves_the_wait_outside_open),
        cmocka_unit_test(wakers_are_tracks_even_of_threads_that_show_nothing),
        cmocka_unit_test(samples_losses_and_bytes_are_those_of_the_session),
        cmocka_unit_test(what_lies_before_our_clock_begins_is_shown_at_its_begin),
        cmocka_unit_test(a_trace_of_tracks_has_their_calls_cores_and_messages),
        cmocka_unit_test(each_waker_has_an_arrow_to_its_wait),
        cmocka_unit_test(tracks_without_anything_are_a_trace_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
