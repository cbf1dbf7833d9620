/* Damaged sessions: whatever the bytes of a session file are, opening, checking and converting it ends in a status,
 * never in a crash, a hang or a read out of bounds.
 *
 * libFuzzer's input is not the file itself (that would be refused at its first bytes for ever) but a list of edits to a
 * small valid session: the first byte picks the output format, the next two where the file ends, and every
 * ten after that are a place (2), a width (1) and a value (7) to write there. */
#include "engine/store/session.h"
#include "engine/trace/convert.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/* The valid session, and a list of the places in it that hold something: edits go there, not into the empty rest. */
static uint8_t *valid;
static size_t valid_bytes;
static uint32_t *places;
static size_t place_count;
static char path[64];
static int fd;

static void must(int ok, const char *what)
{
    if (!ok) {
        perror(what);
        abort();
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
            struct strobe_record r = {.ticks = 2000 + 1000000 * i, .duration = i % 4 ? 0 : 500000, .thread = index,
                                      .cpu_ns = 1000 * i, .count = i % 4 ? 1 : 1 + (uint32_t)i % 3, .message = 1};
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
    free(cursor);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    char name[] = "/tmp/strobe-fuzz-XXXXXX";
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
    int file = mkstemp(name);
    must(file >= 0, name);
    must(strobe_session_create(name, &config, "true", 1, &s) == STROBE_OK, "create");
    strobe_session_unmap(&s);
    must(strobe_session_attach(name, 100, &s) == STROBE_OK, "attach");
    fill(&s);
    strobe_session_finish(&s, &end);
    valid_bytes = s.mapped_bytes;
    valid = malloc(valid_bytes);
    places = malloc(valid_bytes / 8 * sizeof *places);
    must(valid && places, "malloc");
    memcpy(valid, s.header, valid_bytes);
    for (uint32_t at = 0; at + 8 <= valid_bytes; at += 8) {
        uint64_t word;
        memcpy(&word, valid + at, 8);
        if (word)
            places[place_count++] = at;
    }
    strobe_session_unmap(&s);
    close(file);
    unlink(name);
    fd = memfd_create("session", 0);
    must(fd >= 0, "memfd_create");
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct strobe_convert_options options = {.symbols = STROBE_SYMBOLS_NO_LINES, .replace = 1};
    char why[256];
    if (bytes < 3)
        return 0;
    options.format = (enum strobe_format)(data[0] & 3);
    options.deflate = data[0] >> 7;
    size_t length = data[1] || data[2] ? valid_bytes * ((size_t)data[1] << 8 | data[2]) / 65535 : valid_bytes;
    must(ftruncate(fd, 0) == 0 && ftruncate(fd, (off_t)length) == 0, "ftruncate");
    must(pwrite(fd, valid, length, 0) == (ssize_t)length, "pwrite");
    for (size_t at = 3; at + 10 <= bytes; at += 10) {
        size_t place = places[((size_t)data[at] << 8 | data[at + 1]) % place_count] + (data[at + 2] >> 5);
        size_t width = 1 + (data[at + 2] & 7);
        uint8_t value[8] = {0};
        memcpy(value, data + at + 3, 7);
        if (place + width <= length)
            must(pwrite(fd, value, width, (off_t)place) == (ssize_t)width, "pwrite");
    }
    /* A record may claim millions of merged samples: a large output, not a hang. */
    struct strobe_reader *reader;
    if (strobe_reader_open(path, &reader, why, sizeof why) == STROBE_OK) {
        options.timeline.no_samples = reader->all.present > 100000;
        strobe_reader_check(reader, why, sizeof why);
        strobe_reader_close(reader);
    }
    strobe_convert(path, "/dev/null", &options, NULL, why, sizeof why);
    return 0;
}
