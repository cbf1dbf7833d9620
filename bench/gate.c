/* Fixed work for counting instructions: the same every time, with no clock, no thread and no address in it.
 *
 *     gate-driver intern | ring
 *
 * What is counted is what the function measured_MODE calls; see gate.py. */
#include "bench/stackgen.h"

#include "engine/store/ring.h"
#include "engine/store/stack_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    STACKS = 20000,
    NODE_CAPACITY = 1 << 17,
    RECORDS = 50000,
    SLOTS = 1 << 13,
    SUBS = 4,
    MERGES_OF_4 = 3,
};

void measured_intern(const struct strobe_stack_table *table, const struct stackgen_stream *stream);
void measured_ring(const struct strobe_ring *ring);

static void *zeroed(size_t bytes)
{
    void *p = aligned_alloc(4096, (bytes + 4095) & ~(size_t)4095);
    if (!p)
        abort();
    return memset(p, 0, bytes);
}

static void check(enum strobe_status status)
{
    if (status != STROBE_OK) {
        fprintf(stderr, "gate-driver: %s\n", strobe_status_text(status));
        exit(1);
    }
}

void measured_intern(const struct strobe_stack_table *table, const struct stackgen_stream *stream)
{
    struct strobe_stack_cursor cursor = { 0 };
    for (uint32_t i = 0; i < stream->count; i++) {
        uint32_t id, depth = (uint32_t)(stream->start[i + 1] - stream->start[i]);
        check(strobe_stack_intern(table, &cursor, stream->frames + stream->start[i], depth, &id));
    }
}

static void intern(void)
{
    struct stackgen_options options = { .samples = STACKS, .tree_nodes = 20000, .fresh_permille = 50 };
    struct stackgen_stream stream;
    struct strobe_stack_table table;
    size_t bytes = strobe_stack_table_bytes(NODE_CAPACITY);
    void *memory = zeroed(bytes);
    stackgen_collect(&options, &stream);
    strobe_stack_table_create(memory, NODE_CAPACITY);
    check(strobe_stack_table_open(memory, bytes, &table));
    measured_intern(&table, &stream);
    stackgen_release(&stream);
    free(memory);
}

void measured_ring(const struct strobe_ring *ring)
{
    struct strobe_ring_writer writer = { 0 };
    struct strobe_record record = { .count = 1, .kind = STROBE_KIND_ALLOC };
    struct strobe_metrics metrics = { .alloc_count = 1 };
    strobe_ring_writer_init(ring, &writer, 4711);
    for (uint32_t i = 0; i < RECORDS; i++) {
        record.ticks = i;
        record.count = 1;
        check(strobe_ring_write(ring, &writer, &record, i % 8 ? NULL : &metrics));
        for (uint32_t m = 0; i % 4 == 1 && m < MERGES_OF_4; m++) {
            record.count++;
            enum strobe_status status = strobe_ring_rewrite(ring, &writer, &record, NULL);
            if (status != STROBE_NO_ENTRY)
                check(status);
        }
    }
    strobe_ring_writer_close(ring, &writer);
    struct strobe_ring_item item;
    for (uint32_t i = 0; i < strobe_ring_slot_count(ring); i++)
        strobe_ring_look(ring, i, &item);
}

static void ring(void)
{
    struct strobe_ring ring;
    size_t bytes = strobe_ring_bytes(SLOTS, SUBS);
    void *memory = zeroed(bytes);
    strobe_ring_create(memory, SLOTS, SUBS, STROBE_KEEP_NEWEST);
    check(strobe_ring_open(memory, bytes, &ring));
    measured_ring(&ring);
    free(memory);
}

int main(int argc, char **argv)
{
    static const struct { const char *name; void (*run)(void); } modes[] = {
        { "intern", intern },
        { "ring", ring },
    };
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        if (argc == 2 && !strcmp(argv[1], modes[i].name)) {
            modes[i].run();
            return 0;
        }
    fprintf(stderr, "usage: gate-driver intern | ring\n");
    return 2;
}
