/* Ring of captured stacks of method pointers: what NetEase Cloud Music's native stack capture leaves behind until
 * somebody asks for names. Fixed size, nothing allocated after start; new captures overwrite old ones.
 *
 *   head    capacity N, frames of a place, `next`: the number that the next capture gets, `refused`
 *   place   x N:  word, ticks, tid | count << 32 | cut << 63, frame[frames]       frames outermost first
 *
 * A capture's number counts from 0; its place is number mod N. Captures overwritten are max(0, next - N), exactly:
 * one counts from the moment that the number of its successor is drawn. Of the last N numbers each is readable, or
 * missing: its sampler has not finished, has stopped for good in the middle, or was refused, as it found the place held
 * by such a one (counted).
 *
 * A place's word is 0 (never used), or (number + 1) << 1, and the lowest bit says that it is being written:
 *
 *   committed(older) or 0 -> busy(number)       the sampler that drew the number, by compare-and-swap
 *   busy(number) -> committed(number)           that sampler only
 *
 * A busy place is never taken from its sampler, and a number never takes the place of a later one. So several may
 * capture at once, and one that stops or dies in the middle costs one capture in each lap and delays nobody. A reader
 * looks at the word before and after it copies: what it returns is one capture, whole (a seqlock, see store/ring.h;
 * explored: netease/look, netease/two, netease/lapped, netease/frozen).
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
    uint32_t capacity; /* captures kept: 1 .. STROBE_NETEASE_CAPACITY_MAX */
    uint32_t frames;   /* of one capture: 1 .. STROBE_NETEASE_FRAMES_MAX */
    strobe_a64 next, refused;
};

/* A process-local view of a ring; cheap to make, holds no state of its own. */
struct strobe_netease_ring {
    struct strobe_netease_head *head;
    strobe_a64 *places;
};

struct strobe_netease_capture {
    uint64_t number;
    uint64_t ticks; /* when the thread stood */
    uint32_t tid;
    uint32_t count; /* frames that are kept */
    bool cut;       /* there were more, at the root end */
};

/* Bytes for a ring; 0 when one of the two is out of range. Any context. */
size_t strobe_netease_ring_bytes(uint32_t capacity, uint32_t frames);

/* Lays a ring out in zeroed, 8-byte aligned memory of strobe_netease_ring_bytes(), both in range. Start only. */
void strobe_netease_ring_create(void *memory, uint32_t capacity, uint32_t frames);

/* Opens a view of the ring in `memory` of `bytes`; STROBE_BAD_INPUT when header and memory disagree. Start only, and
 * readers. */
enum strobe_status strobe_netease_ring_open(void *memory, size_t bytes, struct strobe_netease_ring *out);

/* Adds a capture, of which ticks, tid and cut are taken; `frames`: `count` method pointers, outermost first. More than
 * a place holds are cut at the root end, and flagged. *number says which capture it is. STROBE_FULL: refused, counted;
 * its number is missing. Bounded steps whatever others do; async-signal-safe (explored: netease/two, netease/frozen).
 * Any thread, several at once; not while a thread is suspended (keeps that window short). */
enum strobe_status strobe_netease_ring_put(const struct strobe_netease_ring *ring,
                                           const struct strobe_netease_capture *capture, const uint64_t *frames,
                                           uint32_t count, uint64_t *number);

/* Numbers drawn so far, and how many of these captures are overwritten: max(0, drawn - capacity). Any context. */
uint64_t strobe_netease_ring_drawn(const struct strobe_netease_ring *ring);
uint64_t strobe_netease_ring_overwritten(const struct strobe_netease_ring *ring);

/* Copies the capture of this number; `frames` has room for head->frames. STROBE_OK: it is whole. STROBE_GONE: it is
 * overwritten, before or while it was read. STROBE_NO_ENTRY: not drawn yet, or missing for now. Writers are never held
 * up. Any context. */
enum strobe_status strobe_netease_ring_read(const struct strobe_netease_ring *ring, uint64_t number,
                                            struct strobe_netease_capture *out, uint64_t *frames);

/* A list of the captures, the newest first: of the numbers drawn when it began, the last N. What could not be read is
 * counted as it is met. */
struct strobe_netease_list {
    uint64_t next, end;     /* numbers next - 1 down to end are still to come */
    uint64_t gone, missing; /* overwritten since the list began; those there was no entry for */
};

/* Any context. */
void strobe_netease_list_begin(const struct strobe_netease_ring *ring, struct strobe_netease_list *list);

/* The next capture that can be read, older than all before; false when there are no more. Any context. */
bool strobe_netease_list_next(const struct strobe_netease_ring *ring, struct strobe_netease_list *list,
                              struct strobe_netease_capture *out, uint64_t *frames);

#endif
