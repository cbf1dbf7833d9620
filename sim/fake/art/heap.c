/* Allocation: cells of a page, found by its bitmap; large objects as runs of pages. A collection is due when the heap
 * has half as much again as the objects that survived the last one. */
#include "sim/fake/art/heap.h"

#include <string.h>
#include <sys/mman.h>

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

enum { LEAST_TARGET = 8 << 20, FINE_CLASSES = 32 };

int fake_art_gc_wait(struct fake_heap *h, int cause, struct fake_thread *self)
    FAKE_EXPORT("_ZN3art2gc4Heap19WaitForGcToCompleteENS0_7GcCauseEPNS_6ThreadE");

struct fake_heap fake_the_heap;
struct fake_page fake_pages[FAKE_PAGES];

/* Object references have 32 bits. One of these fixed addresses below 4 GiB is free on every known machine. */
static uintptr_t reserve_heap(void)
{
    for (uintptr_t at = 0x20000000; at <= 0xe0000000; at += 0x08000000) {
        void *m = mmap((void *)at, FAKE_HEAP_BYTES, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
        if (m == (void *)at)
            return at;
        if (m != MAP_FAILED)
            munmap(m, FAKE_HEAP_BYTES);
    }
    return 0;
}

void *fake_heap(void)
{
    struct fake_heap *h = &fake_the_heap;
    if (!h->base) {
        fake_mutex_init(&h->lock);
        fake_mutex_init(&h->gc_lock);
        fake_cond_init(&h->gc_done);
        fake_mutex_init(&h->instrumentation.lock);
        h->target = LEAST_TARGET;
        h->base = reserve_heap();
        FAKE_CHECK(h->base);
    }
    return h;
}

uint32_t fake_cell_bytes(uint32_t class)
{
    return class < FINE_CLASSES ? (class + 1) * FAKE_CELL_LEAST : 1024u << (class - FINE_CLASSES);
}

static uint32_t size_class_of(size_t bytes)
{
    uint32_t class = bytes <= (size_t)FINE_CLASSES * FAKE_CELL_LEAST
                         ? (uint32_t)((bytes + FAKE_CELL_LEAST - 1) / FAKE_CELL_LEAST) - 1
                         : FINE_CLASSES;
    while (fake_cell_bytes(class) < bytes)
        class ++;
    return class;
}

static uintptr_t heap_page_at(uint32_t page)
{
    return fake_the_heap.base + (uintptr_t)page * FAKE_PAGE_BYTES;
}

/* Returns a run of free pages, or FAKE_PAGES when there is none. */
static uint32_t free_pages(struct fake_heap *h, uint32_t count, bool kept)
{
    uint32_t end = kept ? FAKE_PAGES : FAKE_PAGES - FAKE_HEAP_KEPT / FAKE_PAGE_BYTES, run = 0;
    while (h->lowest_free < end && fake_pages[h->lowest_free].kind != FAKE_PAGE_FREE)
        h->lowest_free++;
    for (uint32_t page = h->lowest_free; page < end; page++) {
        run = fake_pages[page].kind == FAKE_PAGE_FREE ? run + 1 : 0;
        if (run == count)
            return page + 1 - count;
    }
    return FAKE_PAGES;
}

static uintptr_t take_cell(struct fake_heap *h, uint32_t class, bool kept)
{
    uint32_t cell_bytes = fake_cell_bytes(class), cells = FAKE_PAGE_BYTES / cell_bytes;
    for (;;) {
        uint32_t page = h->room[class];
        if (!page) {
            page = free_pages(h, 1, kept);
            if (page == FAKE_PAGES)
                return 0;
            fake_pages[page] = (struct fake_page){.kind = FAKE_PAGE_CELLS, .class = (uint8_t) class};
            h->room[class] = ++page;
        }
        struct fake_page *p = &fake_pages[--page];
        for (uint32_t word = 0; word * 64 < cells; word++) {
            if (p->live[word] == UINT64_MAX)
                continue;
            uint32_t cell = word * 64 + (uint32_t)__builtin_ctzll(~p->live[word]);
            if (cell >= cells)
                break;
            p->live[word] |= UINT64_C(1) << cell % 64;
            return heap_page_at(page) + (uintptr_t)cell * cell_bytes;
        }
        h->room[class] = p->next;
    }
}

static uintptr_t take_pages(struct fake_heap *h, size_t bytes, bool kept)
{
    uint32_t count = (uint32_t)((bytes + FAKE_PAGE_BYTES - 1) / FAKE_PAGE_BYTES);
    uint32_t page = free_pages(h, count, kept);
    if (page == FAKE_PAGES)
        return 0;
    fake_pages[page] = (struct fake_page){.kind = FAKE_PAGE_LARGE, .pages = count, .live = {1}};
    for (uint32_t i = 1; i < count; i++)
        fake_pages[page + i] = (struct fake_page){.kind = FAKE_PAGE_LARGE_REST};
    return heap_page_at(page);
}

/* Returns NULL when a collection is due, or there is no memory. */
static struct fake_object *heap_take_object(struct fake_class *c, size_t asked, bool may_grow, bool kept)
{
    struct fake_heap *h = &fake_the_heap;
    bool small = asked <= FAKE_CELL_MOST;
    uint32_t class = small ? size_class_of(asked) : 0;
    size_t bytes = small ? fake_cell_bytes(class) : (asked + FAKE_PAGE_BYTES - 1) / FAKE_PAGE_BYTES * FAKE_PAGE_BYTES;
    if (bytes > FAKE_HEAP_BYTES)
        return NULL;
    fake_mutex_lock(&h->lock);
    uintptr_t at = 0;
    if (may_grow || h->bytes + bytes <= h->target)
        at = small ? take_cell(h, class, kept) : take_pages(h, bytes, kept);
    if (at) {
        h->bytes += bytes;
        memset((void *)at, 0, asked);
        ((struct fake_object *)at)->class = fake_ref_of(fake_class_mirror(c));
    }
    fake_mutex_unlock(&h->lock);
    return (struct fake_object *)at;
}

static struct fake_object *throw_out_of_memory(struct fake_thread *self)
{
    struct fake_parts *parts = fake_thread_parts(self);
    FAKE_CHECK(!parts->out_of_memory);
    parts->out_of_memory = true;
    fake_throw(self, "Ljava/lang/OutOfMemoryError;", "the heap is full");
    parts->out_of_memory = false;
    return NULL;
}

struct fake_object *fake_heap_take(struct fake_thread *self, struct fake_class *c, size_t bytes)
{
    bool kept = fake_thread_parts(self)->out_of_memory;
    struct fake_object *o = heap_take_object(c, bytes, kept, kept);
    if (o)
        return o;
    /* a collection by another thread may have freed memory meanwhile */
    uint32_t seen = fake_the_heap.gc_count;
    fake_art_gc_wait(&fake_the_heap, FAKE_GC_FOR_ALLOC, self);
    o = heap_take_object(c, bytes, false, kept);
    if (!o) {
        fake_heap_collect(self, FAKE_GC_FOR_ALLOC, seen);
        o = heap_take_object(c, bytes, true, kept);
    }
    return o ? o : throw_out_of_memory(self);
}

bool fake_heap_find(uintptr_t address, struct fake_page **page, uint32_t *cell)
{
    uintptr_t at = address - fake_the_heap.base;
    if (!fake_the_heap.base || at >= FAKE_HEAP_BYTES)
        return false;
    struct fake_page *p = &fake_pages[at / FAKE_PAGE_BYTES];
    uint32_t offset = (uint32_t)(at % FAKE_PAGE_BYTES);
    if (p->kind != FAKE_PAGE_CELLS && p->kind != FAKE_PAGE_LARGE)
        return false;
    uint32_t cell_bytes = p->kind == FAKE_PAGE_LARGE ? FAKE_PAGE_BYTES : fake_cell_bytes(p->class);
    *page = p;
    *cell = offset / cell_bytes;
    return offset % cell_bytes == 0 && (p->live[*cell / 64] >> *cell % 64 & 1);
}

/* Returns the bytes of live objects in a page of cells after the sweep. */
static size_t sweep_cells(struct fake_heap *h, uint32_t page)
{
    struct fake_page *p = &fake_pages[page];
    uint32_t live = 0, cell_bytes = fake_cell_bytes(p->class);
    for (uint32_t word = 0; word < FAKE_PAGE_WORDS; word++) {
        p->live[word] &= p->mark[word];
        p->mark[word] = 0;
        live += (uint32_t)__builtin_popcountll(p->live[word]);
    }
    if (!live) {
        p->kind = FAKE_PAGE_FREE;
    } else if (live < FAKE_PAGE_BYTES / cell_bytes) {
        p->next = h->room[p->class];
        h->room[p->class] = page + 1;
    }
    return (size_t)live * cell_bytes;
}

static size_t sweep_large(uint32_t page)
{
    uint32_t count = fake_pages[page].pages;
    if (fake_pages[page].mark[0]) {
        fake_pages[page].mark[0] = 0;
        return (size_t)count * FAKE_PAGE_BYTES;
    }
    for (uint32_t i = 0; i < count; i++)
        fake_pages[page + i].kind = FAKE_PAGE_FREE;
    madvise((void *)heap_page_at(page), (size_t)count * FAKE_PAGE_BYTES, MADV_DONTNEED);
    return 0;
}

void fake_heap_sweep(void)
{
    struct fake_heap *h = &fake_the_heap;
    size_t bytes = 0;
    memset(h->room, 0, sizeof h->room);
    for (uint32_t page = FAKE_PAGES; page-- > 0;) {
        if (fake_pages[page].kind == FAKE_PAGE_CELLS)
            bytes += sweep_cells(h, page);
        else if (fake_pages[page].kind == FAKE_PAGE_LARGE)
            bytes += sweep_large(page);
    }
    h->lowest_free = 0;
    h->bytes = bytes;
    h->target = bytes + bytes / 2 > LEAST_TARGET ? bytes + bytes / 2 : LEAST_TARGET;
}
