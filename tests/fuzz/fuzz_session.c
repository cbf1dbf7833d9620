/* Damaged sessions: with any bytes of a session file, opening, checking and converting it end in a status, without a
 * crash, a hang or a read out of bounds.
 *
 * libFuzzer's input is not the file itself, because nearly all files would be refused at their first bytes. It is a
 * list of edits to a small valid session with a section of scheduling. The first byte selects the output format, the
 * presence of a call log, the repair of calls, a comparison of the session with itself, and a report. The next two
 * bytes state where the file ends. Every following ten bytes are an offset (2), a width (1) and a value (7) to write
 * there. */
#include "engine/base/error.h"
#include "engine/store/session.h"
#include "engine/trace/diff/diff.h"
#include "engine/trace/export/convert.h"
#include "engine/trace/report/report.h"
#include "tests/support/temporary.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/* A valid session, and a list of the offsets in it that hold data: edits go there, and not into the empty rest. */
static struct valid {
    uint8_t *at;
    size_t bytes;
    uint32_t *places;
    size_t place_count;
} with_calls, without_calls;
static char path[64];
enum { SCHED_EVENTS = 40 };
static int fd;
static FILE *nowhere;

static void must(int ok, const char *what)
{
    if (!ok) {
        perror(what);
        abort();
    }
}

/* Writes calls of the threads: some have no end, and some ends have no begin. */
static void fill_calls(const struct strobe_session *s)
{
    for (uint32_t t = 0; t < 3 && s->calls.head; t++) {
        struct strobe_call_writer w = {0};
        for (uint64_t i = 0; i < 60; i++) {
            must(w.next != w.end || strobe_call_refill(&s->calls, &w, t), "refill");
            strobe_call_put(&w, 3000 + 700000 * i,
                            (0x401000 + 256 * (i * 7 % 5)) | (i % 3 == 2 ? STROBE_CALL_EXIT : 0));
        }
        strobe_call_refuse(&s->calls, t, t);
        if (t)
            strobe_call_finish(&s->calls, &w, t);
    }
}

static void fill(struct strobe_session *s)
{
    struct strobe_stack_cursor *cursor = calloc(1, sizeof *cursor);
    must(cursor != NULL, "calloc");
    for (uint32_t t = 0; t < 3; t++) {
        uint32_t index;
        must(strobe_session_add_thread(s, 100 + t, t == 0, 1000, &index) == STROBE_OK, "add thread");
        struct strobe_ring_writer w = {0};
        strobe_ring_writer_init(&s->ring, &w, 100 + t);
        for (uint64_t i = 0; i < 40; i++) {
            uint64_t frames[4] = {0x400000 + t, 0x401000 + i % 5, 0x402000 + i % 3, 0x403000 + i};
            struct strobe_record r = {.ticks = 2000 + 1000000 * i,
                                      .duration = i % 4 ? 0 : 500000,
                                      .thread = index,
                                      .cpu_ns = 1000 * i,
                                      .count = i % 4 ? 1 : 1 + (uint32_t)i % 3,
                                      .message = 1};
            struct strobe_metrics m = {.alloc_count = i, .minor_faults = (uint32_t)i};
            r.kind = (uint8_t)(1 + i % (STROBE_KIND_COUNT - 1));
            r.flags = i % 4 ? STROBE_FLAG_CPU : STROBE_FLAG_SCOPE;
            r.count = r.flags & STROBE_FLAG_SCOPE ? 1 : r.count;
            must(strobe_stack_intern(&s->stacks, cursor, frames, 1 + i % 4, &r.stack) == STROBE_OK, "intern");
            must(strobe_ring_write(&s->ring, &w, &r, i % 6 ? NULL : &m) == STROBE_OK, "write");
            struct strobe_account *a = &s->threads[index].account[r.kind];
            strobe_bump(&a->requests, r.count);
            strobe_bump(&a->sampled, r.count);
        }
        strobe_ring_writer_close(&s->ring, &w);
    }
    struct strobe_image_entry *image = strobe_session_add_image(s);
    must(image != NULL, "add image");
    image->start = 0x400000;
    image->end = 0x500000;
    snprintf(image->path, sizeof image->path, "/bin/true");
    strobe_store_release(&image->published, 1);
    must(strobe_names_add(&s->names, 0x403001, "void a.b.c(int)", 15, 0) == STROBE_OK, "name");
    must(strobe_names_add(&s->names, 0x403002, "gone", 4, STROBE_NAME_STALE) == STROBE_OK, "name");
    fill_calls(s);
    free(cursor);
}

/* Events of a section of scheduling. */
static void fill_sched(uint8_t *at)
{
    struct strobe_sched_head head = {.magic = STROBE_SCHED_MAGIC,
                                     .source = STROBE_SCHED_BY_TRACEPOINTS,
                                     .event_bytes = sizeof(struct strobe_sched_event),
                                     .count = SCHED_EVENTS};
    memcpy(at, &head, sizeof head);
    for (uint32_t i = 0; i < SCHED_EVENTS; i++) {
        struct strobe_sched_event e = {.time_ns = 2000000 + 1000000 * (uint64_t)i,
                                       .tid = 100 + i % 3,
                                       .other = i % 4 == 2 ? 101 : 0,
                                       .cpu = (uint16_t)(i % 2),
                                       .what = (uint8_t)(i % STROBE_SCHED_WHAT_COUNT),
                                       .state = (uint8_t)(1 + i / 4 % 3),
                                       .flags = i % 8};
        memcpy(at + sizeof head + i * sizeof e, &e, sizeof e);
    }
}

static void make(struct valid *v, uint16_t call_units)
{
    char name[TEMPORARY_BYTES];
    temporary_path(name, "strobe-fuzz-XXXXXX");
    struct strobe_session s;
    struct strobe_config config;
    struct strobe_clock_pair end = {50000000, 50000000, 50000000, 50000000};
    strobe_config_default(&config);
    config.ring_slots = 512;
    config.ring_subs = 2;
    config.stack_nodes = 256;
    config.threads_max = 4;
    config.images_max = 2;
    config.names_bytes = STROBE_NAMES_BYTES_MIN;
    config.call_units = call_units;
    int file = mkstemp(name);
    must(file >= 0, name);
    must(strobe_session_create(name, &config, "true", 1, &s) == STROBE_OK, "create");
    strobe_session_unmap(&s);
    must(strobe_session_attach(name, 100, &s) == STROBE_OK, "attach");
    fill(&s);
    strobe_session_finish(&s, &end);
    v->bytes = s.mapped_bytes + sizeof(struct strobe_sched_head) + SCHED_EVENTS * sizeof(struct strobe_sched_event);
    v->at = malloc(v->bytes);
    v->places = malloc(v->bytes / 8 * sizeof *v->places);
    must(v->at && v->places, "malloc");
    memcpy(v->at, s.header, s.mapped_bytes);
    fill_sched(v->at + s.mapped_bytes);
    for (uint32_t at = 0; at + 8 <= v->bytes; at += 8) {
        uint64_t word;
        memcpy(&word, v->at + at, 8);
        if (word)
            v->places[v->place_count++] = at;
    }
    strobe_session_unmap(&s);
    close(file);
    unlink(name);
}

/* Compares the session with itself: no difference may be found. */
static void compare(void)
{
    struct strobe_diff d;
    struct strobe_error error;
    strobe_diff_open(&d, &(struct strobe_diff_options){.symbols = STROBE_SYMBOLS_NO_LINES}, 1, 1);
    enum strobe_status status = strobe_diff_add(&d, STROBE_DIFF_BASE, path, &error);
    if (status == STROBE_OK)
        status = strobe_diff_add(&d, STROBE_DIFF_NEW, path, &error);
    if (status == STROBE_OK)
        must(strobe_diff_compare(&d) == STROBE_OK && d.real == 0, "compare");
    strobe_diff_close(&d);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    make(&without_calls, 0);
    make(&with_calls, 1);
    fd = memfd_create("session", 0);
    nowhere = fopen("/dev/null", "w");
    must(fd >= 0 && nowhere != NULL, "memfd_create");
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct strobe_convert_options options = {.symbols = STROBE_SYMBOLS_NO_LINES, .replace = 1};
    struct strobe_error error;
    if (bytes < 3)
        return 0;
    options.format = (enum strobe_format)((data[0] & 3) + (data[0] & 16 ? STROBE_FORMAT_SPEEDSCOPE : 0));
    options.deflate = data[0] >> 7;
    options.timeline.repair = data[0] & 8 ? STROBE_REPAIR_ENCLOSING : STROBE_REPAIR_LAST;
    const struct valid *v = data[0] & 4 ? &with_calls : &without_calls;
    size_t length = data[1] || data[2] ? v->bytes * ((size_t)data[1] << 8 | data[2]) / 65535 : v->bytes;
    must(ftruncate(fd, 0) == 0 && ftruncate(fd, (off_t)length) == 0, "ftruncate");
    must(pwrite(fd, v->at, length, 0) == (ssize_t)length, "pwrite");
    for (size_t at = 3; at + 10 <= bytes; at += 10) {
        size_t place = v->places[((size_t)data[at] << 8 | data[at + 1]) % v->place_count] + (data[at + 2] >> 5);
        size_t width = 1 + (data[at + 2] & 7);
        uint8_t value[8] = {0};
        memcpy(value, data + at + 3, 7);
        if (place + width <= length)
            must(pwrite(fd, value, width, (off_t)place) == (ssize_t)width, "pwrite");
    }
    /* A record may claim millions of merged samples. That gives a large output, and is not a hang. */
    struct strobe_reader *reader;
    if (strobe_reader_open(path, &reader, &error) == STROBE_OK) {
        options.timeline.no_samples = reader->all.present > 100000;
        strobe_reader_check(reader, &error);
        strobe_reader_close(reader);
    }
    strobe_convert(path, "/dev/null", &options, NULL, &error);
    if (data[0] & 32)
        compare();
    if (data[0] & 64) {
        struct strobe_report *report;
        const struct strobe_report_options how = {.symbols = STROBE_SYMBOLS_NO_LINES};
        if (strobe_report_session(path, &how, &report, &error) == STROBE_OK) {
            strobe_report_print(report, nowhere);
            strobe_report_print_json(report, nowhere);
            strobe_report_close(report);
        }
    }
    return 0;
}
