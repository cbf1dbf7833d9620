/* The buffers in which a thread takes its stacks. They are the largest part of a thread's private memory, and only the
 * thread itself uses them. A thread takes a block of buffers at its first stack and gives it back when it ends, so that
 * a process with many short threads touches the memory of few.
 *
 * The pool is a list of free blocks, the one given back last first:
 *
 *     free: times | first -+        next[0] next[1] next[2] ...     blocks [0, made) have been in use
 *                          +--------------------> 0 = the last
 *
 * `times` counts the blocks taken from the list. A thread that loads `free`, stops, and continues when the same block
 * is first again finds another count, and tries again. (Explored: thread/buffers.) No operation waits. */
#ifndef STROBE_CAPTURE_BUFFERS_H
#define STROBE_CAPTURE_BUFFERS_H

#include "engine/capture/walk_again.h"

/* A thread may run on a signal stack or a coroutine stack, whose bounds are unknown. The engine then reads at most
 * this many bytes of that stack, with the host's safe read. */
enum { STROBE_FOREIGN_STACK_BYTES = 2048 };

/* The name of an annotation that a thread interned, by a hash of where the text was (annotate.c). A text is compared
 * before its id is used: another text may have taken its place. */
struct strobe_known_name {
    uint32_t stack; /* 0 = none */
    char text[60];  /* a longer name is not kept */
};

enum {
#ifdef STROBE_SMALL
    STROBE_KNOWN_NAMES = 1, /* for exploration */
#else
    STROBE_KNOWN_NAMES = 32, /* a power of two */
#endif
};

/* Zero, or as another thread left it: the cursors, the memory of walks and the names are caches that are valid for any
 * thread. */
struct strobe_buffers {
    struct strobe_stack_cursor cursor;
    struct strobe_stack_cursor tick_cursor; /* for ticks: stacks of hooks and ticks alternate, and differ in most
                                               frames */
    struct strobe_known_name names[STROBE_KNOWN_NAMES];
    struct strobe_walk_memory walk;
    uint64_t frames[STROBE_STACK_DEPTH_MAX];
    uint64_t copy[STROBE_FOREIGN_STACK_BYTES / 8]; /* bytes of a stack that is not the thread's own */
};

struct strobe_buffer_pool {
    strobe_a64 free;  /* times << 32 | index of the first free block + 1; 0 there: none is free */
    strobe_a32 made;  /* blocks that have been in use */
    strobe_a32 *next; /* of each free block the next one's index + 1, or 0 */
    struct strobe_buffers *blocks;
};

/* Returns the bytes of a pool of `blocks` blocks. Any context. */
size_t strobe_buffer_pool_bytes(uint32_t blocks);

/* Lays out a pool in zeroed `memory`, which is aligned to 64 bytes and strobe_buffer_pool_bytes(blocks) long. Start
 * only. */
void strobe_buffer_pool_init(struct strobe_buffer_pool *pool, void *memory, uint32_t blocks);

/* Takes a block. No more than `blocks` may be in use at a time. Any context; async-signal-safe (explored:
 * thread/buffers). */
struct strobe_buffers *strobe_buffers_take(struct strobe_buffer_pool *pool);

/* Gives back a block that is whole: its user was not stopped in the middle of a change. Same context. */
void strobe_buffers_give_back(struct strobe_buffer_pool *pool, struct strobe_buffers *block);

#endif
