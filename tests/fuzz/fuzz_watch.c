/* Watchers accept any events, in any order, of any thread, unbalanced, at times that jump and go back, and every
 * finding is well-formed.
 *
 * Input: one byte with the bits of the view and of the thresholds, then 8 bytes per event. The rest of the input is
 * the source of the texts. */
#include "engine/watch/finding.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

enum { EVENT_BYTES = 8, EVENTS_MAX = 4096 };

static uint64_t latest_ns;

static void fail(const char *what)
{
    fprintf(stderr, "%s\n", what);
    abort();
}

static void check_lines(const char *at)
{
    while (*at) {
        const char *end = strchr(at, '\n');
        if (!end)
            fail("a line of the stack does not end");
        long long count, ms;
        int depth, read = 0, commas = 0;
        const char *tail = end;
        for (; tail > at && commas < 2; tail--)
            commas += tail[-1] == ',';
        if (sscanf(at, "%d,", &depth) != 1 || depth < 0)
            fail("a line of the stack has no depth");
        if (commas != 2 || sscanf(tail, ",%lld,%lld%n", &count, &ms, &read) != 2 || tail + read != end || count < 1 ||
            ms < 0)
            fail("a line of the stack has no count or ms");
        at = end + 1;
    }
}

static void found(void *ctx, const struct strobe_finding *f)
{
    (void)ctx;
    if ((unsigned)f->kind >= STROBE_FINDING_KINDS || f->begin_ns > f->end_ns || f->end_ns > latest_ns)
        fail("a finding is of no kind or at no time");
    if (!f->scene || !f->blame || !f->stack || !f->key || !f->unseen)
        fail("a finding lacks a text");
    if (f->value_count > sizeof f->values / sizeof *f->values)
        fail("a finding has too many values");
    for (size_t i = 0; i < f->value_count; i++) {
        if (!f->values[i].key || !isfinite(f->values[i].value))
            fail("a value is none");
        for (size_t k = 0; k < i; k++)
            if (!strcmp(f->values[k].key, f->values[i].key))
                fail("a finding has a value twice");
    }
    check_lines(f->stack);
}

static uint64_t move(uint64_t now_ns, uint8_t by)
{
    switch (by >> 6) {
    case 0: return now_ns + (uint64_t)(by & 63) * 1000;
    case 1: return now_ns + (uint64_t)(by & 63) * 10000000;
    case 2: return now_ns + (uint64_t)(by & 63) * 500000000;
    default: return by & 32 ? now_ns << 1 ^ by : now_ns - (uint64_t)(by & 31) * 100000000;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static const char *const names[] = {"", "main", "a.b.MainActivity", "onCreate", "input\nlayer", "a,b", "doFrame"};
    static uint64_t frames[8];
    struct strobe_watch_options options;
    char rest[256] = "";
    if (!bytes)
        return 0;
    struct strobe_watch_view view = {.sampled = data[0] & 1,
                                     .resolution_ns = data[0] & 2 ? 1000000 : 1,
                                     .unseen_below_ns = data[0] & 4 ? 2000000 : 0,
                                     .knows_due = data[0] & 8,
                                     .refresh_hz = data[0] & 16   ? UINT32_MAX
                                                   : data[0] & 32 ? 120
                                                                  : 0};
    strobe_watch_defaults(&options);
    if (data[0] & 64)
        options.evil_ns = options.lag_ns = options.anr_ns = options.block_ns = 1;
    if (data[0] & 128)
        memset(&options, 0, sizeof options);
    struct strobe_watcher *w = strobe_watch_all(&options, &view, (struct strobe_finding_sink){found, NULL});
    if (!w)
        abort();
    uint64_t now_ns = latest_ns = 0;
    data++, bytes--;
    for (size_t i = 0; i < EVENTS_MAX && bytes >= EVENT_BYTES; i++, data += EVENT_BYTES, bytes -= EVENT_BYTES) {
        now_ns = move(now_ns, data[1]);
        latest_ns = now_ns > latest_ns ? now_ns : latest_ns;
        struct strobe_watch_frame frame = {.intended_ns = data[5] & 1 ? move(now_ns, data[6]) : 0,
                                           .begin_ns = now_ns - (uint64_t)data[4] * 4000000,
                                           .end_ns = data[5] & 2 ? move(now_ns, data[7]) : now_ns,
                                           .input_ns = data[6] * 1000000u,
                                           .animation_ns = data[5] & 4 ? UINT64_MAX : 0,
                                           .traversal_ns = data[7] * 1000000u,
                                           .total_ns = data[5] & 8 ? (uint64_t)data[7] << 55 : 0,
                                           .is_vsync = data[5] & 16};
        for (size_t n = 0; n < 8; n++)
            frames[n] = data[n];
        struct strobe_watch_stack stack = {.frames = frames, .count = data[6] & 7};
        struct strobe_watch_event e = {.what = (enum strobe_watch_what)(data[0] % (STROBE_WATCH_END + 2)),
                                       .time_ns = now_ns,
                                       .thread = data[2] & 7 ? 0 : data[2] >> 3,
                                       .code = data[3],
                                       .value = (int8_t)data[4],
                                       .when_ns = data[5] & 128 ? 0 : now_ns - data[6] * 10000000u,
                                       .node = data[7],
                                       .frame = &frame,
                                       .stack = &stack};
        uint32_t name = data[4] % 8;
        if (name == 7) {
            size_t length = bytes - EVENT_BYTES < sizeof rest - 1 ? bytes - EVENT_BYTES : sizeof rest - 1;
            memcpy(rest, data + EVENT_BYTES, length);
            rest[length] = 0;
        }
        e.text = name == 7 ? rest : names[name];
        if (data[3] > 250)
            e.code = UINT32_MAX - data[3];
        w->take_event(w, &e);
    }
    struct strobe_watch_event end = {.what = STROBE_WATCH_END, .time_ns = now_ns, .text = ""};
    w->take_event(w, &end);
    if (w->close(w) != STROBE_OK)
        abort();
    return 0;
}
