/* Any file that may contain ftrace text: plain, compressed, HTML. Its events become packets that a reader of the wire
 * format accepts to the last byte, as many as there were lines of events, also when the text comes in pieces. */
#include "engine/trace/import/ftrace/ftrace_convert.h"
#include "engine/trace/import/perfetto/proto_read.h"
#include "engine/trace/merge/merge_text.h"
#include "engine/util/outfile.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static uint64_t count_fields(struct strobe_proto m, uint32_t number, struct strobe_proto *last)
{
    struct strobe_proto_field f;
    enum strobe_proto_step step;
    uint64_t n = 0;
    while ((step = strobe_proto_next(&m, &f)) == STROBE_PROTO_FIELD) {
        n += f.number == number;
        *last = f.number == number ? f.bytes : *last;
    }
    if (step != STROBE_PROTO_END)
        abort();
    return n;
}

/* Counts the events in the packets of [at, end). */
static uint64_t count_events(const uint8_t *at, const uint8_t *end)
{
    struct strobe_proto trace = {at, end}, bundle, event;
    struct strobe_proto_field packet;
    uint64_t n = 0;
    while (strobe_proto_next(&trace, &packet) == STROBE_PROTO_FIELD)
        if (count_fields(packet.bytes, 1, &bundle))
            n += count_fields(bundle, 2, &event);
    if (trace.at != trace.end)
        abort();
    return n;
}

static uint64_t write_events(struct strobe_merge_text *text, struct strobe_sched_states *states)
{
    static char *path;
    struct strobe_outfile out;
    struct strobe_packets packets;
    struct strobe_whole_file file;
    const struct strobe_merge_text_options how = {.sequence = 1, .states = states, .name = "x", .report = NULL};
    if (!path) {
        const char *folder = getenv("TMPDIR");
        if (asprintf(&path, "%s/fuzz_merge_text.%d", folder ? folder : "/tmp", (int)getpid()) < 0)
            abort();
    }
    if (strobe_outfile_open(&out, path, 1) != STROBE_OK || !strobe_packets_open(&packets, &out, 0))
        abort();
    if (strobe_merge_text_write(text, &packets, &how) != STROBE_OK)
        abort();
    strobe_packets_close(&packets);
    if (strobe_outfile_finish(&out, 0) != STROBE_OK || strobe_whole_file_open(path, &file) != STROBE_OK)
        abort();
    uint64_t n = count_events((const uint8_t *)file.at, (const uint8_t *)file.at + file.bytes);
    strobe_whole_file_close(&file);
    unlink(path);
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct strobe_merge_text text = {.file = {.at = (const char *)data, .bytes = bytes}};
    struct strobe_merge_reference reference = {0};
    struct strobe_sched_states states = {0};
    struct strobe_merge_section section = {.tid = 10};
    struct strobe_error error = {""};
    uint64_t spent[STROBE_SCHED_STATE_COUNT];
    reference.sections = malloc(sizeof *reference.sections);
    *reference.sections = section;
    strobe_text_number(&reference.names, "work", 4);
    reference.section_count = reference.section_names = 1;
    strobe_merge_reference_add_clocks(&reference, 1000, 900, 5000);
    strobe_merge_reference_add_time(&reference, 100000000000);
    strobe_sched_states_watch(&states, 10);
    enum strobe_status status = strobe_merge_text_scan(&text, &reference, &error);
    if (status == STROBE_OK) {
        strobe_merge_align(&reference, &text.timing, &text.alignment);
        uint64_t written = write_events(&text, &states);
        if (written != text.events || !written)
            abort();
    } else if (!error.text[0]) {
        abort();
    }
    if (!strobe_sched_states_finish(&states))
        abort();
    if (strobe_sched_states_between(&states, 10, 0, UINT64_MAX / 2, spent) &&
        spent[0] + spent[1] + spent[2] + spent[3] > states.last_ns)
        abort();
    strobe_merge_text_close(&text);
    strobe_merge_reference_free(&reference);
    strobe_sched_states_free(&states);
    return 0;
}
