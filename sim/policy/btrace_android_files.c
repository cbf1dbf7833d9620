#include "sim/policy/btrace_android_files.h"
#include "engine/base/error_format.h"

#include "engine/trace/import/btrace3/btrace3.h"
#include "engine/util/outfile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { POINTER_STEP = 32, TIDS = 1 << 16 };
#define METHODS_START UINT64_C(0x70000000)
#define WAITS_START   UINT64_C(0x6f000000)

const char *sim_btrace_wait_frame(enum strobe_kind kind)
{
    switch (kind) {
    case STROBE_KIND_IPC:
        return "boolean android.os.BinderProxy.transactNative(int, android.os.Parcel, android.os.Parcel, int)";
    case STROBE_KIND_COND: return "void java.lang.Object.wait(long, int)";
    case STROBE_KIND_PARK: return "void jdk.internal.misc.Unsafe.park(boolean, long)";
    case STROBE_KIND_LOAD:
        return "java.lang.String java.lang.Runtime.nativeLoad(java.lang.String, java.lang.ClassLoader, "
               "java.lang.Class)";
    default: return NULL;
    }
}

static void put_le(struct strobe_outfile *out, uint64_t value, unsigned bytes)
{
    uint8_t text[8];
    for (unsigned i = 0; i < bytes; i++)
        text[i] = (uint8_t)(value >> 8 * i);
    strobe_outfile_write(out, text, bytes);
}

static uint64_t pointer_of_frame(uint64_t frame)
{
    return frame & SIM_BTRACE_WAIT ? WAITS_START + POINTER_STEP * (frame & ~SIM_BTRACE_WAIT)
                                   : METHODS_START + POINTER_STEP * (frame - 1);
}

static void put_sampling(const struct sim_btrace_android_dump *d, uint64_t *frames, struct strobe_outfile *out)
{
    char extra[64];
    int bytes = snprintf(extra, sizeof extra, "{\"processId\": %u}", (unsigned)d->pid);
    put_le(out, STROBE_BTRACE3_MAGIC, 4);
    put_le(out, 0, 4);
    put_le(out, 5, 4);
    put_le(out, 0, 8);
    put_le(out, d->count, 4);
    put_le(out, (uint64_t)bytes, 4);
    strobe_outfile_write(out, extra, (size_t)bytes);
    for (size_t i = 0; i < d->count; i++) {
        const struct sim_btrace_record *r = &d->records[i];
        uint32_t depth = sim_btrace_frames(d->stacks, r->stack, frames);
        put_le(out, r->type, 2);
        put_le(out, r->tid, 2);
        put_le(out, 0, 4);
        const uint64_t words[] = {r->nano, r->end_nano, r->cpu, r->end_cpu, r->objects, r->bytes};
        for (size_t k = 0; k < sizeof words / sizeof *words; k++)
            put_le(out, words[k], 8);
        const uint32_t counts[] = {r->major_faults, r->voluntary_switches, r->involuntary_switches, depth, depth};
        for (size_t k = 0; k < sizeof counts / sizeof *counts; k++)
            put_le(out, counts[k], 4);
        while (depth)
            put_le(out, pointer_of_frame(frames[--depth]), 8);
    }
}

/* Calls `put` for each frame that occurs in the stacks, once each, and returns their number. */
static uint32_t for_each_frame(const struct sim_btrace_android_dump *d, uint8_t *seen, struct strobe_outfile *out,
                               void (*put)(const struct sim_btrace_android_dump *, uint64_t, struct strobe_outfile *))
{
    uint32_t count = 0;
    memset(seen, 0, d->scenario->method_count + STROBE_KIND_COUNT);
    for (size_t n = 1; n < d->stacks->count; n++) {
        uint64_t frame = d->stacks->nodes[n].frame;
        uint8_t *place =
            frame & SIM_BTRACE_WAIT ? &seen[d->scenario->method_count + (frame & ~SIM_BTRACE_WAIT)] : &seen[frame - 1];
        if (*place)
            continue;
        *place = 1;
        count++;
        if (put)
            put(d, frame, out);
    }
    return count;
}

static void put_method(const struct sim_btrace_android_dump *d, uint64_t frame, struct strobe_outfile *out)
{
    const char *wait =
        frame & SIM_BTRACE_WAIT ? sim_btrace_wait_frame((enum strobe_kind)(frame & ~SIM_BTRACE_WAIT)) : NULL;
    const char *name = frame & SIM_BTRACE_WAIT ? wait ? wait : "wait" : d->scenario->methods[frame - 1].name;
    put_le(out, pointer_of_frame(frame), 8);
    put_le(out, strlen(name), 2);
    strobe_outfile_text(out, name);
}

static void put_thread_names(const struct sim_btrace_android_dump *d, uint8_t *seen, struct strobe_outfile *out)
{
    memset(seen, 0, TIDS);
    for (size_t i = 0; i < d->count; i++) {
        uint16_t tid = d->records[i].tid;
        const char *name = d->thread_name(d->ctx, tid);
        if (seen[tid]++ || !strcmp(name, "Thread"))
            continue;
        put_le(out, tid, 2);
        put_le(out, strlen(name) + 1, 1);
        strobe_outfile_text(out, name);
        strobe_outfile_text(out, "\n");
    }
}

static enum strobe_status open_file(struct strobe_outfile *out, char *path, size_t bytes, const char *folder,
                                    const char *name, bool replace)
{
    snprintf(path, bytes, "%s/%s", folder, name);
    return strobe_outfile_open(out, path, replace);
}

enum strobe_status sim_btrace_android_write(const struct sim_btrace_android_dump *d, const char *folder, bool replace,
                                            struct strobe_error *error)
{
    struct strobe_outfile out;
    char path[4096];
    uint32_t deepest = 0;
    for (size_t n = 1; n < d->stacks->count; n++)
        deepest = d->stacks->nodes[n].depth > deepest ? d->stacks->nodes[n].depth : deepest;
    uint64_t *frames = malloc((deepest + 1) * sizeof *frames);
    uint8_t *seen = malloc(TIDS + d->scenario->method_count + STROBE_KIND_COUNT);
    enum strobe_status status =
        frames && seen ? open_file(&out, path, sizeof path, folder, "sampling", replace) : STROBE_IO;
    if (status == STROBE_OK) {
        put_sampling(d, frames, &out);
        status = strobe_outfile_finish(&out, 0);
    }
    if (status == STROBE_OK)
        status = open_file(&out, path, sizeof path, folder, "sampling-mapping", replace);
    if (status == STROBE_OK) {
        put_le(&out, 0, 8);
        put_le(&out, 1, 4);
        put_le(&out, for_each_frame(d, seen, NULL, NULL), 4);
        for_each_frame(d, seen, &out, put_method);
        put_thread_names(d, seen, &out);
        status = strobe_outfile_finish(&out, 0);
    }
    if (status != STROBE_OK)
        strobe_error_set(error, "%.1000s: %s", frames && seen ? path : folder, strobe_status_text(status));
    free(frames);
    free(seen);
    return status;
}
