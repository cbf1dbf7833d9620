/* The atrace proxy: a message written to the marker file, against the same call led to the ring, as libcutils' own
 * slot leads it. The marker is a file in memory; a write by the kernel to its trace costs more. */
#include "bench/bench.h"
#include "engine/base/error.h"

#include "engine/method/rhea/art/rhea.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { BATCH = 1000 };

typedef ssize_t writer(int fd, const void *from, size_t bytes);

static const char begin_text[] = "B|12345|Choreographer#doFrame";
static const char long_text[] = "B|12345|B:com.example.gallery.ui.AlbumActivity$Adapter.onBindViewHolder";
static char folder[400];
static int marker = -1;
static void *cutils;
static writer *through_slot; /* target of libcutils' slot of write during a capture */

/* Rewinds the file after each batch, so that the time to grow a file is not measured. */
static void write_marker(struct gbench_state *s, const void *text)
{
    size_t bytes = strlen(text);
    while (gbench_loop(s)) {
        for (int i = 0; i < BATCH; i++)
            if (write(marker, text, bytes) != (ssize_t)bytes)
                abort();
        lseek(marker, 0, SEEK_SET);
    }
}

static void write_ring(struct gbench_state *s, const void *text)
{
    size_t bytes = strlen(text);
    while (gbench_loop(s))
        for (int i = 0; i < BATCH; i++)
            if (through_slot(marker, text, bytes) != (ssize_t)bytes)
                abort();
}

static ssize_t on_top(int fd, const void *from, size_t bytes)
{
    return write(fd, from, bytes);
}

/* Begins a capture over the lab's libcutils, and finds the proxy's address, as a hook on top of it would. */
static bool start_capture(void)
{
    struct strobe_error error = {""};
    char path[500];
    static struct strobe_hook hook;
    snprintf(path, sizeof path, "%s/../cutils/26/libcutils.so", folder);
    cutils = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    marker = memfd_create("marker", 0);
    if (!cutils || marker < 0)
        return false;
    struct strobe_rhea_options o = {.cutils = "libcutils.so"};
    enum strobe_status status = strobe_rhea_start(&o, &error);
    if (status != STROBE_OK)
        return false;
    *(int *)dlsym(cutils, "atrace_marker_fd") = marker;
    if (strobe_hook_slots(&hook, "write", (void *)(uintptr_t)on_top) != STROBE_OK)
        return false;
    memcpy(&through_slot, &hook.original, sizeof through_slot);
    return strobe_hook_remove(&hook) == STROBE_OK;
}

void bench_atrace_find(const char *built)
{
    snprintf(folder, sizeof folder, "%s", built);
}

void bench_atrace_add(void)
{
    if (!start_capture())
        return;
    gbench_add(&(struct gbench_spec){.name = "atrace/marker", .run = write_marker, .arg = begin_text, .batch = BATCH});
    gbench_add(&(struct gbench_spec){.name = "atrace/proxy", .run = write_ring, .arg = begin_text, .batch = BATCH});
    gbench_add(
        &(struct gbench_spec){.name = "atrace/marker_long", .run = write_marker, .arg = long_text, .batch = BATCH});
    gbench_add(&(struct gbench_spec){.name = "atrace/proxy_long", .run = write_ring, .arg = long_text, .batch = BATCH});
}

void bench_atrace_rows(void)
{
    if (!through_slot) {
        bench_row_skipped("atrace proxy, a message to the ring", "the lab's libcutils is not built");
        return;
    }
    strobe_rhea_stop();
    bench_row_ratio("atrace proxy, a message to the ring", "ns", gbench_median_ns("atrace/proxy"),
                    "write to a marker file in memory", gbench_median_ns("atrace/marker"), 0.2);
    bench_row_ratio("  the same of 71 bytes: two packets", "ns", gbench_median_ns("atrace/proxy_long"),
                    "write to a marker file in memory", gbench_median_ns("atrace/marker_long"), 0.2);
}
