/* Writes the samples of a process to a Perfetto trace: PerfSample packets in a sequence of their own, whose dictionary
 * has the stacks, frames, functions and images that they name.
 *
 * A stack is interned at its first sample, with all its frames. The id of a frame follows from its address: the number
 * of the function in the function tree. Times are the differences of adjacent packets of the sequence. Samples of a
 * thread with equal stacks share one encoded message.
 *
 * Zeroed memory is valid. Not thread-safe; allocates. Reading half only. */
#ifndef STROBE_TRACE_EXPORT_PERFETTO_SAMPLES_H
#define STROBE_TRACE_EXPORT_PERFETTO_SAMPLES_H

#include "engine/trace/export/packets.h"
#include "engine/trace/model/sink.h"

struct strobe_perfetto_samples {
    struct strobe_packets *packets;
    const struct strobe_reader *reader;
    struct strobe_function_tree *tree;
    uint32_t sequence;
    uint64_t begin_ns; /* where the sequence's clock starts */
    int failed;        /* memory ran out */

    uint64_t sample_ns;                   /* time of the last packet; UINT64_MAX = the clock must be set */
    uint32_t last_stack, last_incomplete; /* stack of the message in `sample` */
    uint8_t sample[48];                   /* the perf sample of the last packet, reused for equal samples */
    size_t sample_bytes;                  /* 0 = none */

    /* The dictionary. */
    uint32_t *stack_iid[STROBE_STACK_INCOMPLETE_COUNT]; /* by stack; 0 = not interned */
    uint32_t stack_count;                               /* stack ids assigned so far */
    uint8_t *frame_known, *function_known, *image_known;
    size_t frame_room, function_room;
};

/* Begins the samples of a process, in a sequence that no other packets have. What an earlier process has interned is
 * forgotten. */
void strobe_perfetto_samples_begin(struct strobe_perfetto_samples *w, struct strobe_packets *packets, uint32_t sequence,
                                   const struct strobe_reader *reader, struct strobe_function_tree *tree);

/* The samples that follow are of another thread, and may be earlier. */
void strobe_perfetto_samples_next_thread(struct strobe_perfetto_samples *w);

/* Writes samples of the thread with these ids in the trace. When there are several, they are at equal distances. */
void strobe_perfetto_samples_add(struct strobe_perfetto_samples *w, uint32_t pid, uint32_t tid,
                                 const struct strobe_samples *s);

/* Frees the dictionary. `failed` keeps its value. */
void strobe_perfetto_samples_free(struct strobe_perfetto_samples *w);

#endif
