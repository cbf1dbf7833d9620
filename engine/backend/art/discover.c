#include "engine/backend/art/discover.h"
#include "engine/base/error_format.h"

#include <stdio.h>
#include <string.h>

typedef uintptr_t word;

/* Bytes of each object that are searched. The list of a ThreadList comes after 8 KiB of thin-lock ids in use. */
enum {
    THREAD_LIST_BYTES = 16384,
    CLASS_LINKER_BYTES = 1024,
    HEAP_BYTES = 1024,
    CARD_TABLE_BYTES = 128,
    THREAD_BYTES = 512,
    IDS_BYTES = 64
};
enum { CHUNK = 64 }; /* number of words copied at once */
enum { LIST_NODES = 65536, LIST_TRIES = 3, OTHERS = 4 };
enum { CARD_DIRTY = 0x70, THIN_LOCK_ID_MAX = 65535 };

/* ---- safe copies ---- */

/* Copies up to `count` words. Returns the number of readable words. */
static size_t copy_readable_words(const struct strobe_host *host, word address, word *out, size_t count)
{
    size_t bytes;
    if (!address || address % sizeof(word) ||
        host->read(host->ctx, address, out, count * sizeof(word), &bytes) != STROBE_OK)
        return 0;
    return bytes / sizeof(word);
}

/* Calls found(ctx, host, address, value) for each readable word of an object until it returns true. Returns the address
 * of that word, or 0. */
static word find_word(const struct strobe_host *host, word object, size_t bytes,
                      bool (*found)(void *ctx, const struct strobe_host *host, word address, word value), void *ctx)
{
    word chunk[CHUNK];
    for (size_t done = 0; done < bytes; done += sizeof chunk) {
        size_t left = (bytes - done) / sizeof(word), want = left < CHUNK ? left : CHUNK;
        size_t count = copy_readable_words(host, object + done, chunk, want);
        for (size_t i = 0; i < count; i++)
            if (found(ctx, host, object + done + i * sizeof(word), chunk[i]))
                return object + done + i * sizeof(word);
        if (count < want)
            break;
    }
    return 0;
}

static bool is_equal_word(void *ctx, const struct strobe_host *host, word address, word value)
{
    (void)host, (void)address;
    return value == *(const word *)ctx;
}

/* ---- proofs: each returns the address that proves the object, or 0 */

/* The thread to find in a ThreadList, and other threads met before it. */
struct list {
    word self, other[OTHERS];
    size_t others;
};

static void add_other_thread(struct list *l, word thread)
{
    if (thread != l->self && l->others < OTHERS)
        l->other[l->others++] = thread;
}

/* Returns whether there is a ring of nodes from `head` back to it that contains the thread. In both C++ libraries a
 * node is two links and the value. The order of the links does not matter. */
static bool is_list_with_self(void *ctx, const struct strobe_host *host, word head, word first)
{
    struct list *l = ctx;
    word node[3], at = first;
    bool found = false;
    if (at == head || copy_readable_words(host, at, node, 3) != 3 || node[1] != head)
        return false;
    l->others = 0;
    for (size_t i = 0; at != head && i < LIST_NODES; i++) {
        if (copy_readable_words(host, at, node, 3) != 3)
            return false;
        found |= node[2] == l->self;
        add_other_thread(l, node[2]);
        at = node[0];
    }
    return found && at == head;
}

/* Searches more than once, because threads come and go during the search. */
static word prove_thread_list(const struct strobe_host *host, word object, struct list *l)
{
    word at = 0;
    for (int i = 0; i < LIST_TRIES && !at; i++)
        at = find_word(host, object, THREAD_LIST_BYTES, is_list_with_self, l);
    return at;
}

/* `between`: the words of the Runtime from its thread list to its class linker. */
static word prove_class_linker(const struct strobe_host *host, word object, const word *between, size_t count)
{
    word at = 0, probe;
    for (size_t i = 0; i < count && !at; i++) {
        word intern_table = between[i];
        if (copy_readable_words(host, intern_table, &probe, 1) == 1)
            at = find_word(host, object, CLASS_LINKER_BYTES, is_equal_word, &intern_table);
    }
    return at;
}

/* Returns whether a CardTable's biased begin is here: a begin that was moved up until its last byte is the dirty card's
 * value, followed by the distance. */
static bool is_biased_begin(void *ctx, const struct strobe_host *host, word address, word value)
{
    word moved;
    return (value & 0xff) == CARD_DIRTY && copy_readable_words(host, address + sizeof(word), &moved, 1) == 1 &&
           moved <= 0xff && find_word(host, *(const word *)ctx, THREAD_BYTES, is_equal_word, &value);
}

/* Returns whether a CardTable is here. The Thread holds the biased begin, too, among other members; it is left out. */
static bool is_card_table(void *ctx, const struct strobe_host *host, word address, word value)
{
    word self = *(const word *)ctx;
    (void)address;
    return (value + CARD_TABLE_BYTES < self || value >= self + THREAD_BYTES) &&
           find_word(host, value, CARD_TABLE_BYTES, is_biased_begin, ctx);
}

static word prove_heap(const struct strobe_host *host, word object, word self)
{
    return find_word(host, object, HEAP_BYTES, is_card_table, &self);
}

/* ---- Runtime ---- */

enum { RUNTIME_WORDS = STROBE_ART_SCAN_BYTES / sizeof(word) };

struct search {
    const struct strobe_host *host;
    const struct strobe_art_level *level;
    word vm, runtime;
    word at[RUNTIME_WORDS]; /* words of the Runtime, */
    size_t count;           /* number of readable words */
    struct list list;       /* of the proven thread list */
    size_t candidates, found;
    const char *lacks;                               /* what the last candidate lacks */
    size_t java_vm, thread_list, class_linker, heap; /* words of the Runtime */
};

/* Returns whether the proof is in the object itself. Objects are neighbours in memory, and their sizes are not known.
 * The check: nothing that the Runtime points to before its java_vm_ begins between the object and its proof. */
static bool is_proven_within(const struct search *s, size_t java_vm, word object, word proof)
{
    bool in = proof != 0;
    for (size_t i = 0; i < java_vm && in; i++)
        in = s->at[i] <= object || s->at[i] > proof;
    return in;
}

static bool are_distinct_words(const word *all, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < i; k++)
            if (all[i] == all[k])
                return false;
    return true;
}

/* A position of the thread list, and whether its object is proven. Beside many threads this proof takes milliseconds,
 * so it is made once for all positions of the other objects. */
struct list_position {
    size_t at; /* word of the Runtime */
    bool proven;
    struct list list;
};

static struct list_position examine_thread_list(const struct search *s, size_t java_vm, size_t at)
{
    struct list_position p = {.at = at, .list = {.self = s->list.self}};
    p.proven = is_proven_within(s, java_vm, s->at[at], prove_thread_list(s->host, s->at[at], &p.list));
    return p;
}

/* Checks the three objects at their words of the Runtime. Returns NULL when they are proven, else the one that is not.
 */
static const char *find_unproven(const struct search *s, size_t java_vm, const struct list_position *threads,
                                 size_t class_linker, size_t heap)
{
    word t = s->at[threads->at], c = s->at[class_linker], h = s->at[heap];
    const word all[] = {t, c, h, s->vm, s->runtime};
    if (!are_distinct_words(all, sizeof all / sizeof all[0]))
        return "thread list, class linker and heap are not three objects";
    if (!threads->proven)
        return "thread list is not proven";
    if (class_linker < threads->at ||
        !is_proven_within(s, java_vm, c,
                          prove_class_linker(s->host, c, s->at + threads->at + 1, class_linker - threads->at - 1)))
        return "class linker is not proven";
    if (!is_proven_within(s, java_vm, h, prove_heap(s->host, h, s->list.self)))
        return "heap is not proven";
    return NULL;
}

static size_t count_alternatives(const uint8_t before[4])
{
    size_t n = 0;
    while (n < 4 && before[n])
        n++;
    return n;
}

/* Tries a position of the thread list with all positions of the class linker and the heap that the level knows. */
static void try_thread_list(struct search *s, size_t java_vm, const struct list_position *threads)
{
    const struct strobe_art_level *v = s->level;
    size_t linkers = count_alternatives(v->class_linker_before), heaps = count_alternatives(v->heap_before);
    for (size_t i = 0; i < linkers * heaps; i++) {
        size_t c = v->class_linker_before[i % linkers], h = v->heap_before[i / linkers];
        if (c > java_vm || h > java_vm) {
            s->lacks = "members would stand before its begin";
            continue;
        }
        const char *lacks = find_unproven(s, java_vm, threads, java_vm - c, java_vm - h);
        if (lacks) {
            s->lacks = lacks;
            continue;
        }
        s->found++;
        s->list = threads->list;
        s->java_vm = java_vm;
        s->thread_list = threads->at;
        s->class_linker = java_vm - c;
        s->heap = java_vm - h;
    }
}

/* Tries a word that equals the JavaVM. */
static void try_java_vm(struct search *s, size_t java_vm)
{
    const uint8_t *before = s->level->thread_list_before;
    s->candidates++;
    for (size_t i = 0; i < count_alternatives(before); i++) {
        if (before[i] > java_vm) {
            s->lacks = "members would stand before its begin";
            continue;
        }
        struct list_position threads = examine_thread_list(s, java_vm, java_vm - before[i]);
        try_thread_list(s, java_vm, &threads);
    }
}

static enum strobe_status find_objects(struct search *s, struct strobe_error *error)
{
    s->count = copy_readable_words(s->host, s->runtime, s->at, RUNTIME_WORDS);
    for (size_t i = 0; i < s->count; i++)
        if (s->at[i] == s->vm)
            try_java_vm(s, i);
    if (s->found == 1)
        return STROBE_OK;
    if (s->found)
        strobe_error_set(error, "the Runtime has %zu places that could all be its thread list, class linker and heap",
                         s->found);
    else if (s->candidates)
        strobe_error_set(error, "the Runtime holds the JavaVM in %zu places, but the %s", s->candidates, s->lacks);
    else
        strobe_error_set(error, "the JavaVM is not found in the first %zu bytes of the Runtime, all that %s",
                         s->count * sizeof(word), s->count == RUNTIME_WORDS ? "is looked at" : "can be read");
    return s->found ? STROBE_BAD_INPUT : STROBE_NO_ENTRY;
}

/* Finds the Runtime: JavaVMExt begins with its function table and the Runtime. */
static enum strobe_status discover_runtime(const struct strobe_libart *a, struct search *s,
                                           enum strobe_art_proof *proof, struct strobe_error *error)
{
    word java_vm[2], instance, probe;
    if (copy_readable_words(s->host, s->vm, java_vm, 2) != 2 ||
        copy_readable_words(s->host, java_vm[1], &probe, 1) != 1) {
        strobe_error_set(error, "the JavaVM does not lead to a Runtime");
        return STROBE_NO_ENTRY;
    }
    s->runtime = java_vm[1];
    *proof = STROBE_ART_PROOF_CROSS;
    word variable = (word)a->address[STROBE_ART_RUNTIME_INSTANCE];
    if (!variable)
        return STROBE_OK;
    if (copy_readable_words(s->host, variable, &instance, 1) != 1 || instance != s->runtime) {
        strobe_error_set(error, "the JavaVM's Runtime is not Runtime::instance_");
        return STROBE_BAD_INPUT;
    }
    *proof = STROBE_ART_PROOF_INSTANCE;
    return STROBE_OK;
}

/* ---- thread ids ---- */

static bool read_ids_at(const struct strobe_host *host, word thread, size_t offset, uint32_t *thin_lock_id,
                        uint32_t *tid)
{
    uint32_t pair[2];
    size_t bytes;
    if (host->read(host->ctx, thread + offset, pair, sizeof pair, &bytes) != STROBE_OK || bytes < sizeof pair)
        return false;
    *thin_lock_id = pair[0];
    *tid = pair[1];
    return pair[0] && pair[0] <= THIN_LOCK_ID_MAX && pair[1] && pair[1] <= INT32_MAX;
}

/* Returns whether another thread of the list has other ids at the same offset. A thread that has ended since is
 * ignored. */
static bool other_threads_agree(const struct strobe_host *host, const struct list *l, size_t offset, uint32_t id,
                                uint32_t tid)
{
    for (size_t i = 0; i < l->others; i++) {
        uint32_t other_id, other_tid;
        uint64_t cpu_ns;
        if (read_ids_at(host, l->other[i], offset, &other_id, &other_tid) && other_id != id && other_tid != tid &&
            host->thread_cpu_ns(host->ctx, other_tid, &cpu_ns) != STROBE_GONE)
            return true;
    }
    return l->others == 0;
}

static enum strobe_status find_thread_ids(const struct strobe_host *host, const struct list *l, uint32_t tid,
                                          uint16_t *offset, struct strobe_error *error)
{
    size_t found = 0;
    for (size_t at = 0; at + 8 <= IDS_BYTES; at += 4) {
        uint32_t id, tid_there;
        if (!read_ids_at(host, l->self, at, &id, &tid_there) || tid_there != tid ||
            !other_threads_agree(host, l, at, id, tid))
            continue;
        *offset = (uint16_t)at;
        found++;
    }
    if (found == 1)
        return STROBE_OK;
    strobe_error_set(error, "%s in the first %d bytes of a Thread",
                     found ? "several pairs could be thin-lock id and tid" : "thin-lock id and tid are not found",
                     IDS_BYTES);
    return found ? STROBE_BAD_INPUT : STROBE_NO_ENTRY;
}

bool strobe_art_thread_ids(const struct strobe_art_runtime *r, const struct strobe_host *host, void *thread,
                           uint32_t *thin_lock_id, uint32_t *tid)
{
    return read_ids_at(host, (word)thread, r->thread_ids_offset, thin_lock_id, tid);
}

/* ---- all ---- */

static void *callbacks_of(const struct strobe_libart *a, void *runtime)
{
    uint64_t get = a->address[STROBE_ART_CALLBACKS_GET];
    return get ? ((void *(*)(void *))(uintptr_t)get)(runtime) : NULL;
}

enum strobe_status strobe_art_discover(const struct strobe_libart *a, const struct strobe_host *host, void *vm,
                                       void *self, uint32_t tid, struct strobe_art_runtime *out,
                                       struct strobe_error *error)
{
    struct search s = {.host = host, .level = a->level, .vm = (word)vm, .list.self = (word)self};
    struct strobe_art_runtime r = {.vm = vm};
    enum strobe_status status = discover_runtime(a, &s, &r.proof, error);
    if (status == STROBE_OK)
        status = find_objects(&s, error);
    if (status == STROBE_OK)
        status = find_thread_ids(host, &s.list, tid, &r.thread_ids_offset, error);
    if (status != STROBE_OK)
        return status;
    r.runtime = (void *)s.runtime;
    r.java_vm_offset = (uint16_t)(s.java_vm * sizeof(word));
    r.thread_list = (void *)s.at[s.thread_list];
    r.class_linker = (void *)s.at[s.class_linker];
    r.heap = (void *)s.at[s.heap];
    r.callbacks = callbacks_of(a, r.runtime);
    *out = r;
    return STROBE_OK;
}
