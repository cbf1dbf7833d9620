#include "sim/explore/sharing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    WORD = 4,
    PAGE = 4096,
    ARENA_BYTES = 16 << 10, /* for each thread, and for the setup */
    ARENAS = EXPLORE_THREADS_MAX + 1,
    BLOCKS_MAX = 512,
    REGIONS_MAX = 16,
    WORDS_SPARE = 4096, /* for memory that is shared in addition to the state */
};

/* The last accesses to a word; valid for one execution. Clocks are numbers of events of the thread + 1, 0 = never. */
struct word {
    uint32_t execution;
    uint8_t writer, write_mask, read_mask;
    bool freed;
    uint16_t write_clock;
    uint16_t read_clock[EXPLORE_THREADS_MAX]; /* plain loads */
    uint16_t atomic_store_clock[EXPLORE_THREADS_MAX];
    uint16_t atomic_load_clock[EXPLORE_THREADS_MAX];
    struct explore_site write_site, read_site, atomic_site;
};

struct region {
    uintptr_t from, to;
    size_t first_word;
};

struct block {
    uintptr_t at;
    size_t bytes;
    bool live;
};

static struct {
    char *memory; /* the state, then the arenas */
    size_t state_bytes, state_room;
    struct region region[REGIONS_MAX]; /* 0: the memory above */
    uint32_t region_count;
    struct word *word;
    uint16_t *variable_of_word; /* + 1 */
    size_t word_count, word_room;
    struct explore_variable variable[EXPLORE_PLACES_MAX];
    uint32_t variable_count;
    uint32_t execution;
    size_t arena_used[ARENAS];
    struct block block[BLOCKS_MAX];
    uint32_t block_count;
    uint16_t freed[ARENAS][BLOCKS_MAX]; /* stacks of blocks for reuse */
    uint32_t freed_count[ARENAS];
} s;

static bool more_words(size_t words)
{
    if (s.word_count + words <= s.word_room) {
        s.word_count += words;
        return true;
    }
    size_t room = s.word_count + words + WORDS_SPARE;
    struct word *word = calloc(room, sizeof *word); /* the system zeroes pages when they are used */
    uint16_t *variable = calloc(room, sizeof *variable);
    bool more = word && variable;
    if (more && s.word_count) {
        memcpy(word, s.word, s.word_count * sizeof *word);
        memcpy(variable, s.variable_of_word, s.word_count * sizeof *variable);
    }
    free(more ? (void *)s.word : word);
    free(more ? (void *)s.variable_of_word : variable);
    if (!more)
        return false;
    s.word = word;
    s.variable_of_word = variable;
    s.word_room = room;
    s.word_count += words;
    return true;
}

static bool add_region(uintptr_t from, size_t bytes)
{
    size_t first = s.word_count;
    if (s.region_count == REGIONS_MAX || !more_words((bytes + WORD - 1) / WORD))
        return false;
    s.region[s.region_count++] = (struct region){from, from + bytes, first};
    return true;
}

bool explore_sharing_open(size_t state_bytes)
{
    explore_sharing_close();
    s.state_bytes = state_bytes;
    s.state_room = (state_bytes + PAGE - 1) & ~(size_t)(PAGE - 1);
    size_t bytes = s.state_room + (size_t)ARENAS * ARENA_BYTES;
    s.memory = aligned_alloc(PAGE, bytes);
    if (s.memory)
        memset(s.memory, 0, bytes); /* drops what an earlier program has left there */
    return s.memory && add_region((uintptr_t)s.memory, bytes);
}

void explore_sharing_close(void)
{
    free(s.memory);
    free(s.word);
    free(s.variable_of_word);
    memset(&s, 0, sizeof s);
}

void *explore_sharing_reset(void)
{
    s.execution++;
    memset(s.memory, 0, s.state_bytes);
    for (uint32_t i = 0; i < ARENAS; i++) {
        memset(s.memory + s.state_room + (size_t)i * ARENA_BYTES, 0, s.arena_used[i]);
        s.arena_used[i] = 0;
        s.freed_count[i] = 0;
    }
    s.block_count = 0;
    return s.memory;
}

static const struct region *region_of(uintptr_t at)
{
    for (uint32_t i = 0; i < s.region_count; i++)
        if (at - s.region[i].from < s.region[i].to - s.region[i].from)
            return &s.region[i];
    return NULL;
}

bool explore_is_shared(uintptr_t at)
{
    return region_of(at) != NULL;
}

void explore_sharing_add(void *memory, size_t bytes)
{
    uintptr_t at = (uintptr_t)memory & ~(uintptr_t)(WORD - 1);
    if (!explore_is_shared(at) && !add_region(at, (uintptr_t)memory + bytes - at))
        abort();
}

static size_t region_word_at(const struct region *r, uintptr_t at)
{
    return r->first_word + (at - r->from) / WORD;
}

/* ---- atomic variables */

static bool variables_overlap(const struct explore_variable *v, uintptr_t at, uint64_t bytes)
{
    return v->at < at + bytes && at < v->at + v->bytes;
}

/* Returns the variable in one of the words around [at, at + bytes) that is the same, or overlaps. */
static uint32_t find_variable(const struct region *r, uintptr_t at, uint64_t bytes, bool same)
{
    size_t first = region_word_at(r, at), last = region_word_at(r, at + bytes - 1);
    if (!same && first > r->first_word)
        first--;
    for (size_t w = first; w <= last; w++)
        for (uint32_t i = s.variable_of_word[w]; i; i = s.variable[i - 1].next) {
            const struct explore_variable *v = &s.variable[i - 1];
            if (same ? v->at == at && v->bytes == bytes : variables_overlap(v, at, bytes))
                return i;
        }
    return 0;
}

uint16_t explore_place_at(uintptr_t at, uint32_t bytes)
{
    const struct region *r = region_of(at);
    uint32_t found = find_variable(r, at, bytes, true);
    if (!found) {
        if (s.variable_count == EXPLORE_PLACES_MAX || find_variable(r, at, bytes, false))
            return EXPLORE_NOBODY;
        uint16_t *word = &s.variable_of_word[region_word_at(r, at)];
        s.variable[s.variable_count++] = (struct explore_variable){.at = at, .bytes = bytes, .next = *word};
        found = *word = (uint16_t)s.variable_count;
    }
    struct explore_variable *v = &s.variable[found - 1];
    if (v->execution != s.execution) {
        v->initial = explore_memory_read(at, bytes);
        v->execution = s.execution;
    }
    return (uint16_t)(found - 1);
}

struct explore_variable *explore_variable_of(uint16_t place)
{
    return &s.variable[place];
}

uint16_t explore_place_within(uintptr_t at, uint64_t bytes)
{
    const struct region *r = region_of(at);
    uint32_t found = r ? find_variable(r, at, bytes, false) : 0;
    return found && s.variable[found - 1].execution == s.execution ? (uint16_t)(found - 1) : EXPLORE_NOBODY;
}

uint64_t explore_memory_read(uintptr_t at, uint32_t bytes)
{
    const void *from = (const void *)at;
    switch (bytes) {
    case 1: return *(const uint8_t *)from;
    case 2: return *(const uint16_t *)from;
    case 4: return *(const uint32_t *)from;
    default: return *(const uint64_t *)from;
    }
}

void explore_memory_write(uintptr_t at, uint32_t bytes, uint64_t value)
{
    void *to = (void *)at;
    switch (bytes) {
    case 1: *(uint8_t *)to = (uint8_t)value; break;
    case 2: *(uint16_t *)to = (uint16_t)value; break;
    case 4: *(uint32_t *)to = (uint32_t)value; break;
    default: *(uint64_t *)to = value; break;
    }
}

/* ---- races */

static struct explore_conflict make_conflict(enum explore_fault fault, uint32_t thread, bool store,
                                             struct explore_site site)
{
    return (struct explore_conflict){.fault = fault, .thread = thread, .store = store, .site = site};
}

static bool access_is_ordered(const struct explore_access *a, uint32_t thread, uint16_t clock)
{
    return thread == a->thread || clock == 0 || a->hb->of[thread] >= clock;
}

static uint32_t first_unordered_thread(const struct explore_access *a, const uint16_t *clock)
{
    uint32_t t = 0;
    while (t < EXPLORE_THREADS_MAX && access_is_ordered(a, t, clock[t]))
        t++;
    return t;
}

static struct explore_conflict find_conflict(const struct word *w, const struct explore_access *a, uint8_t mask)
{
    uint32_t other;
    if (w->freed) {
        struct explore_conflict c = make_conflict(EXPLORE_RECLAIMED, w->writer, true, w->write_site);
        c.freed = true;
        return c;
    }
    if (w->write_mask & mask && !access_is_ordered(a, w->writer, w->write_clock))
        return make_conflict(EXPLORE_RACE, w->writer, true, w->write_site);
    if (a->store && w->read_mask & mask && (other = first_unordered_thread(a, w->read_clock)) < EXPLORE_THREADS_MAX)
        return make_conflict(EXPLORE_RACE, other, false, w->read_site);
    if (!a->atomic && (other = first_unordered_thread(a, w->atomic_store_clock)) < EXPLORE_THREADS_MAX)
        return make_conflict(EXPLORE_RACE, other, true, w->atomic_site);
    if (!a->atomic && a->store && (other = first_unordered_thread(a, w->atomic_load_clock)) < EXPLORE_THREADS_MAX)
        return make_conflict(EXPLORE_RACE, other, false, w->atomic_site);
    return (struct explore_conflict){.fault = EXPLORE_FINE};
}

static void remember_access(struct word *w, const struct explore_access *a, uint8_t mask)
{
    uint16_t clock = (uint16_t)(a->step + 1);
    if (a->atomic) {
        (a->store ? w->atomic_store_clock : w->atomic_load_clock)[a->thread] = clock;
        w->atomic_site = a->site;
    } else if (a->store) {
        w->write_mask = w->writer == a->thread ? w->write_mask | mask : mask;
        w->writer = (uint8_t)a->thread;
        w->write_clock = clock;
        w->write_site = a->site;
    } else {
        w->read_clock[a->thread] = clock;
        w->read_mask |= mask;
        w->read_site = a->site;
    }
}

static struct word *fresh_word(size_t i)
{
    struct word *w = &s.word[i];
    if (w->execution != s.execution) {
        memset(w, 0, sizeof *w);
        w->execution = s.execution;
    }
    return w;
}

struct explore_conflict explore_sharing_access(uintptr_t at, uint64_t bytes, const struct explore_access *a)
{
    const struct region *r = region_of(at);
    for (uintptr_t end = at + bytes; at < end && at < r->to;) {
        uintptr_t next = (at & ~(uintptr_t)(WORD - 1)) + WORD, stop = next < end ? next : end;
        uint8_t mask = (uint8_t)(((1u << (stop - at)) - 1) << (at % WORD));
        struct word *w = fresh_word(region_word_at(r, at));
        struct explore_conflict c = find_conflict(w, a, mask);
        if (c.fault)
            return c;
        remember_access(w, a, mask);
        at = stop;
    }
    return (struct explore_conflict){.fault = EXPLORE_FINE};
}

/* ---- allocation */

/* Returns a block that this thread has freed, as allocators with a cache for each thread do. The result depends on the
 * thread's own steps only. */
static struct block *reuse_block(uint32_t arena, size_t bytes)
{
    for (uint32_t i = s.freed_count[arena]; i-- > 0;) {
        struct block *b = &s.block[s.freed[arena][i]];
        if (b->bytes != bytes)
            continue;
        memmove(&s.freed[arena][i], &s.freed[arena][i + 1], (--s.freed_count[arena] - i) * sizeof s.freed[arena][0]);
        return b;
    }
    return NULL;
}

void *explore_sharing_alloc(uint32_t thread, size_t bytes)
{
    bytes = (bytes + 15) & ~(size_t)15;
    struct block *b = reuse_block(thread, bytes);
    if (b) {
        const struct region *r = region_of(b->at);
        for (size_t i = 0; i < bytes / WORD; i++)
            s.word[region_word_at(r, b->at) + i].freed = false;
    } else {
        if (s.block_count == BLOCKS_MAX || s.arena_used[thread] + bytes > ARENA_BYTES)
            return NULL;
        b = &s.block[s.block_count++];
        char *arena = s.memory + s.state_room + (size_t)thread * ARENA_BYTES;
        *b = (struct block){.at = (uintptr_t)arena + s.arena_used[thread], .bytes = bytes};
        s.arena_used[thread] += bytes;
    }
    b->live = true;
    return (void *)b->at;
}

struct explore_conflict explore_sharing_free(void *block, const struct explore_access *a)
{
    for (uint32_t i = 0; i < s.block_count; i++) {
        struct block *b = &s.block[i];
        if (b->at != (uintptr_t)block || !b->live)
            continue;
        struct explore_conflict c = explore_sharing_access(b->at, b->bytes, a);
        if (c.fault == EXPLORE_RACE)
            c.fault = EXPLORE_RECLAIMED;
        if (c.fault)
            return c;
        const struct region *r = region_of(b->at);
        for (size_t w = 0; w < b->bytes / WORD; w++)
            s.word[region_word_at(r, b->at) + w].freed = true;
        b->live = false;
        s.freed[a->thread][s.freed_count[a->thread]++] = (uint16_t)i;
        return c;
    }
    return make_conflict(EXPLORE_WILD, a->thread, true, a->site);
}

void explore_place_name(uintptr_t at, char *out, size_t bytes)
{
    for (uint32_t i = 0; i < s.block_count; i++)
        if (at - s.block[i].at < s.block[i].bytes) {
            snprintf(out, bytes, "block %u+0x%zx", i, (size_t)(at - s.block[i].at));
            return;
        }
    const struct region *r = region_of(at);
    if (!r)
        snprintf(out, bytes, "?");
    else if (r == s.region)
        snprintf(out, bytes, "state+0x%zx", (size_t)(at - r->from));
    else
        snprintf(out, bytes, "shared %u+0x%zx", (uint32_t)(r - s.region) - 1, (size_t)(at - r->from));
}
