/* Any Perfetto trace as an input of a merge: the scan ends and stays within the bounds. Its parts are the whole packets
 * of the file, once and in order; a copy without new ids is the same bytes; with new ids it is a trace again. */
#include "engine/trace/import/perfetto/proto_read.h"
#include "engine/trace/merge/merge_packets.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static const char *temporary_file(void)
{
    static char *path;
    const char *folder = getenv("TMPDIR");
    if (!path && asprintf(&path, "%s/fuzz_merge_packets.%d", folder ? folder : "/tmp", (int)getpid()) < 0)
        abort();
    return path;
}

/* Copies all parts to a file and opens it. */
static void copy_parts(struct strobe_merge_packets *p, struct strobe_whole_file *copy)
{
    struct strobe_outfile out;
    if (strobe_outfile_open(&out, temporary_file(), 1) != STROBE_OK)
        abort();
    p->next_part = 0;
    while (strobe_merge_packets_copy(p, &out))
        ;
    if (strobe_outfile_finish(&out, 0) != STROBE_OK || strobe_whole_file_open(temporary_file(), copy) != STROBE_OK)
        abort();
    unlink(temporary_file());
}

static void give_new_ids(struct strobe_merge_packets *p)
{
    for (size_t i = 0; p->sequences.slots && i <= p->sequences.mask; i++)
        if (p->sequences.slots[i].used)
            strobe_idmap_add(&p->new_sequences, p->sequences.slots[i].a, 0, UINT32_MAX - (uint32_t)i);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct strobe_merge_packets p = {.file = {.at = (const char *)data, .bytes = bytes}};
    struct strobe_sched_states states = {0};
    struct strobe_error error = {""};
    struct strobe_whole_file copy;
    struct strobe_proto_field f;
    strobe_sched_states_watch(&states, 1);
    strobe_sched_states_watch(&states, 70000);
    strobe_merge_is_packets((const char *)data, bytes);
    if (strobe_merge_packets_scan(&p, &states, &error) == STROBE_OK) {
        if (p.parts[0].offset || p.whole_bytes > bytes)
            abort();
        copy_parts(&p, &copy);
        if (copy.bytes != p.whole_bytes || memcmp(copy.at, data, copy.bytes) != 0)
            abort();
        strobe_whole_file_close(&copy);
        give_new_ids(&p);
        copy_parts(&p, &copy);
        struct strobe_proto trace = {(const uint8_t *)copy.at, (const uint8_t *)copy.at + copy.bytes};
        while (strobe_proto_next(&trace, &f) == STROBE_PROTO_FIELD)
            ;
        if (trace.at != trace.end)
            abort();
        strobe_whole_file_close(&copy);
    } else if (!error.text[0]) {
        abort();
    }
    if (!strobe_sched_states_finish(&states))
        abort();
    strobe_sched_states_free(&states);
    strobe_merge_packets_close(&p);
    return 0;
}
