/* The heap: objects in one reserved region below 4 GiB, in pages of equal cells, or, for large objects, in pages of
 * their own. Objects never move. For heap.c, collect.c and entrypoints.c. */
#ifndef STROBE_SIM_FAKE_ART_HEAP_H
#define STROBE_SIM_FAKE_ART_HEAP_H

#include "sim/fake/art/fake.h"

enum {
    FAKE_HEAP_BYTES = 256 << 20,
    FAKE_HEAP_KEPT = 16 << 20, /* reserve of it for OutOfMemoryErrors */
    FAKE_PAGE_BYTES = 16 << 10,
    FAKE_PAGES = FAKE_HEAP_BYTES / FAKE_PAGE_BYTES,
    FAKE_CELL_LEAST = 16,
    FAKE_CELL_MOST = 4096,
    FAKE_CELL_CLASSES = 35, /* 16, 32, ... 512, then 1024, 2048, 4096 */
    FAKE_PAGE_WORDS = FAKE_PAGE_BYTES / FAKE_CELL_LEAST / 64,
};

enum fake_page_kind { FAKE_PAGE_FREE, FAKE_PAGE_CELLS, FAKE_PAGE_LARGE, FAKE_PAGE_LARGE_REST };

struct fake_page {
    uint8_t kind;                   /* enum fake_page_kind */
    uint8_t class;                  /* CELLS: of cells */
    uint32_t next;                  /* CELLS: next page of its class with a free cell + 1; 0 = none */
    uint32_t pages;                 /* LARGE: number of its pages */
    uint64_t live[FAKE_PAGE_WORDS]; /* a bit for each cell; LARGE: bit 0 */
    uint64_t mark[FAKE_PAGE_WORDS];
};

/* GcType and GcCause ("runtime/gc/collector/gc_type.h", "runtime/gc/gc_cause.h", Android Open Source Project). */
enum { FAKE_GC_NONE = 0, FAKE_GC_FULL = 3 };
enum { FAKE_GC_FOR_ALLOC = 1, FAKE_GC_EXPLICIT = 3 };

struct fake_instrumentation {
    struct fake_mutex lock;
    uint32_t users; /* of instrumented entry points */
};

struct fake_heap {
    const void *card_table; /* runtime.c's; near the begin, where tracers search for it */
    struct fake_mutex lock; /* protects cells and pages; never held at a suspension point */
    uintptr_t base;
    uint32_t room[FAKE_CELL_CLASSES]; /* first page of each class with a free cell + 1 */
    uint32_t lowest_free;             /* no page before it is free */
    size_t bytes, target;             /* allocated; amount at which a collection is due */
    struct fake_mutex gc_lock;        /* protects the following; its holder does nothing else */
    struct fake_cond gc_done;
    bool gc_running;
    _Atomic uint32_t gc_count; /* completed collections; read without the lock */
    void *_Atomic listener;    /* AllocationListener; NULL = none */
    struct fake_instrumentation instrumentation;
};
extern struct fake_heap fake_the_heap;
extern struct fake_page fake_pages[FAKE_PAGES];

uint32_t fake_cell_bytes(uint32_t class);
/* Returns memory that is zeroed except for its class. NULL: OutOfMemoryError pending. May collect. */
struct fake_object *fake_heap_take(struct fake_thread *self, struct fake_class *c, size_t bytes);
/* Returns the page and the bit of the object that begins at an address. Returns false when no object begins there. */
bool fake_heap_find(uintptr_t address, struct fake_page **page, uint32_t *cell);
/* Collects through the exported CollectGarbageInternal. Returns false when another thread has just done the requested
 * collection. */
bool fake_heap_collect(struct fake_thread *self, int cause, uint32_t seen_count);
void fake_heap_sweep(void); /* frees unmarked objects; all threads are suspended */

#endif
