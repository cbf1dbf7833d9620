#include "engine/trace/build/timeline_items.h"

#include "engine/trace/model/sink.h"

void strobe_item_first_cpu(const struct strobe_reader *reader, const struct strobe_item *item, uint64_t *time_ns,
                           uint64_t *cpu_ns)
{
    const struct strobe_record *r = &item->record;
    int knows_begin = strobe_item_knows_begin_cpu(r);
    *time_ns = strobe_reader_ns(reader, knows_begin || !r->duration ? r->ticks : r->ticks + r->duration);
    *cpu_ns = r->cpu_ns - (knows_begin ? r->cpu_span_ns : 0);
}

static uint64_t subtract_span(uint64_t total, uint32_t span)
{
    return total > span ? total - span : 0;
}

void strobe_item_counters(const struct strobe_reader *reader, const struct strobe_item *item, int at_begin,
                          uint64_t *counter)
{
    const struct strobe_metrics *m = &reader->metrics[item->metrics - 1];
    uint32_t on = at_begin ? UINT32_MAX : 0;
    counter[STROBE_COUNTER_ALLOC_BYTES] = subtract_span(m->alloc_bytes, m->alloc_bytes_span & on);
    counter[STROBE_COUNTER_ALLOCS] = subtract_span(m->alloc_count, m->alloc_count_span & on);
    counter[STROBE_COUNTER_MINOR_FAULTS] = subtract_span(m->minor_faults, m->minor_faults_span & on);
    counter[STROBE_COUNTER_MAJOR_FAULTS] = subtract_span(m->major_faults, m->major_faults_span & on);
    counter[STROBE_COUNTER_SWITCHES] = subtract_span(m->voluntary_switches, m->voluntary_switches_span & on);
    counter[STROBE_COUNTER_PREEMPTIONS] = subtract_span(m->involuntary_switches, m->involuntary_switches_span & on);
}
