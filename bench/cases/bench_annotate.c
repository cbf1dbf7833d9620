/* Records an annotation, as strobe_counter and strobe_begin do once they have the thread's state, against the write of
 * a record of the same engine's ring with its clock read. The names of the section are as long as names are in apps. */
#include "bench/bench.h"
#include "bench/rig.h"

#include "engine/capture/annotate.h"

enum { BATCH = 1000, NAMES = 4 };

static struct rig *rig;

static void write_record(struct gbench_state *s, const void *arg)
{
    struct strobe_thread *t = rig->thread;
    (void)arg;
    while (gbench_loop(s))
        for (uint32_t i = 0; i < BATCH; i++) {
            struct strobe_record r = {
                .ticks = t->ticks(t->ticks_ctx), .stack = 1, .thread = t->index, .count = 1, .kind = STROBE_KIND_ALLOC};
            strobe_ring_write(&rig->engine.session.ring, &t->writer, &r, NULL);
        }
}

static void annotate_counter(struct gbench_state *s, const void *arg)
{
    (void)arg;
    while (gbench_loop(s))
        for (uint32_t i = 0; i < BATCH; i++)
            strobe_counter_report(rig->thread, "frames", i);
}

static void annotate_sections(struct gbench_state *s, const void *arg)
{
    static const char *const names[NAMES] = {"inflate the feed", "bind an item", "decode a thumbnail", "draw"};
    (void)arg;
    while (gbench_loop(s))
        for (uint32_t i = 0; i < BATCH / 2; i++) {
            strobe_section_begin(rig->thread, names[i % NAMES]);
            strobe_section_end(rig->thread);
        }
}

void bench_annotate_add(void)
{
    struct strobe_config config = rig_config();
    rig = rig_new(&config);
    gbench_add(&(struct gbench_spec){.name = "annotate/record", .run = write_record, .batch = BATCH});
    gbench_add(&(struct gbench_spec){.name = "annotate/counter", .run = annotate_counter, .batch = BATCH});
    gbench_add(&(struct gbench_spec){.name = "annotate/sections", .run = annotate_sections, .batch = BATCH});
}

void bench_annotate_rows(void)
{
    double record = gbench_median_ns("annotate/record");
    bench_row_ratio("annotation: a counter", "ns", gbench_median_ns("annotate/counter"), "record write", record, 1.2);
    bench_row_ratio("annotation: begin or end of a section", "ns", gbench_median_ns("annotate/sections"),
                    "record write", record, 1.2);
}
