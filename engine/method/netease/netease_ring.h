/* Ring of captured stacks of method pointers. NetEase Cloud Music's native stack capture keeps its stacks here until
 * names are needed. The ring has a fixed size and allocates nothing after start. New captures overwrite old ones.
 *
 *   head    capacity N, frames of a place, `next`: the number that the next capture gets, `refused`
 *   place   x N:  word, ticks, tid | count << 32 | cut << 63, frame[frames]       frames outermost first
 *
 * The number of a capture counts from 0. Its place is number mod N. Exactly max(0, next - N) captures are overwritten:
 * a capture counts as overwritten once the number of its successor is drawn. Each of the last N numbers is either
 * readable or missing. A number is missing while its sampler has not finished or when its sampler was stopped for good.
 * It is also missing when the ring refused the capture, because the place was held by such a sampler; the ring counts
 * this.
 *
 * A place's word is 0 (never used), or (number + 1) << 1. Its lowest bit is set while a sampler writes the place:
 *
 *   committed(older) or 0 -> busy(number)       the sampler that drew the number, by compare-and-swap
 *   busy(number) -> committed(number)           that sampler only
 *
 * No thread takes a busy place from its sampler, and no capture overwrites a later one. Several samplers may capture at
 * once. A sampler that stops or dies during a capture costs one capture in each lap and delays no other thread. A
 * reader reads the word before and after its copy. A copy that it returns is one whole capture (a seqlock, see
 * store/ring.h; explored: netease/look, netease/two, netease/lapped, netease/frozen).
 *
 * The scheme keeps this ring beside the session's record ring, because the two overwrite in different ways:
 *
 *   - Here the capacity counts captures. The newest N stay whole, and exactly the others are overwritten. The session's
 *     ring overwrites chunks of 32 records, and its stack table keeps the stacks of overwritten records.
 *   - The lab's policy `netease` models the published scheme with this ring (sim/policy/netease.c). Its scores
 *     depend on the capacity: cold_start at seed 1 draws 38075 captures for 8192 places.
 *   - Only the captures left at the end enter the session. Pseudo-methods are removed then, and methods are named.
 *
 * Source of the scheme: NetEase Cloud Music's article on native capture of Java stacks (its code is not public). */
#ifndef STROBE_METHOD_NETEASE_NETEASE_RING_H
#define STROBE_METHOD_NETEASE_NETEASE_RING_H

#include "engine/base/atomic.h"
#include "engine/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { STROBE_NETEASE_FRAMES_MAX = 1024, STROBE_NETEASE_CAPACITY_MAX = 1 << 20 };

struct strobe_netease_head {
    uint32_t capacity; /* number of captures kept: 1 .. STROBE_NETEASE_CAPACITY_MAX */
    uint32_t frames;   /* frames of one capture: 1 .. STROBE_NETEASE_FRAMES_MAX */
    strobe_a64 next, refused;
};

/* A process-local view of a ring. It holds pointers only; the state is in the ring's memory. */
struct strobe_netease_ring {
    struct strobe_netease_head *head;
    strobe_a64 *places;
};

struct strobe_netease_capture {
    uint64_t number;
    uint64_t ticks; /* when the thread was suspended */
    uint32_t tid;
    uint32_t count; /* number of frames kept */
    bool cut;       /* the stack has more frames, at the root end */
};

/* Returns the bytes of a ring, or 0 when one of the arguments is out of range. Any context. */
size_t strobe_netease_ring_bytes(uint32_t capacity, uint32_t frames);

/* Lays out a ring in zeroed, 8-byte aligned memory of strobe_netease_ring_bytes(). Both arguments are in range. Start
 * only. */
void strobe_netease_ring_create(void *memory, uint32_t capacity, uint32_t frames);

/* Opens a view of the ring in `memory` of `bytes`. STROBE_BAD_INPUT: the header is invalid, or the memory is smaller
 * than the header requires. Start only, and readers. */
enum strobe_status strobe_netease_ring_open(void *memory, size_t bytes, struct strobe_netease_ring *out);

/* Adds a capture with the ticks, tid and cut of `capture`. `frames` are `count` method pointers, outermost first. When
 * a place has fewer frames, the stack is cut at the root end and flagged. *number is set to the capture's number.
 * STROBE_FULL: the ring refused the capture and counted it; its number is missing. The function takes bounded steps
 * whatever other threads do, and is async-signal-safe (explored: netease/two, netease/frozen). Any thread, several at
 * once. The caller holds no thread suspended, to keep that window short. */
enum strobe_status strobe_netease_ring_put(const struct strobe_netease_ring *ring,
                                           const struct strobe_netease_capture *capture, const uint64_t *frames,
                                           uint32_t count, uint64_t *number);

/* Returns how many numbers were drawn, and how many of these captures are overwritten: max(0, drawn - capacity). Any
 * context. */
uint64_t strobe_netease_ring_drawn(const struct strobe_netease_ring *ring);
uint64_t strobe_netease_ring_overwritten(const struct strobe_netease_ring *ring);

/* Copies the capture of this number; `frames` has space for head->frames. STROBE_OK: the copy is whole. STROBE_GONE:
 * the capture was overwritten before or during the copy. STROBE_NO_ENTRY: the number is not drawn yet, or is missing
 * now. Readers never delay writers. Any context. */
enum strobe_status strobe_netease_ring_read(const struct strobe_netease_ring *ring, uint64_t number,
                                            struct strobe_netease_capture *out, uint64_t *frames);

/* A list of the captures, newest first. It covers the last N numbers that were drawn when the list began. It counts the
 * captures that it cannot read. */
struct strobe_netease_list {
    uint64_t next, end;     /* numbers next - 1 down to end are not listed yet */
    uint64_t gone, missing; /* gone: overwritten since the list began. missing: numbers without a readable capture */
};

/* Begins a list. Any context. */
void strobe_netease_list_begin(const struct strobe_netease_ring *ring, struct strobe_netease_list *list);

/* Copies the next readable capture, which is older than all before it. Returns false at the end of the list. Any
 * context. */
bool strobe_netease_list_next(const struct strobe_netease_ring *ring, struct strobe_netease_list *list,
                              struct strobe_netease_capture *out, uint64_t *frames);

#endif
