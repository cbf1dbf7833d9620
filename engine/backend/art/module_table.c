#include "engine/backend/art/module_table.h"

#include <elf.h>
#include <string.h>
#include <sys/mman.h>

/* Searches symbol tables. Words are read by copies, because a damaged file may have them at any alignment. */

static uint32_t hash_word_at(const unsigned char *from, size_t index)
{
    uint32_t w;
    memcpy(&w, from + index * sizeof w, sizeof w);
    return w;
}

static ElfW(Sym) symbol_at(const struct strobe_module_table *t, size_t index)
{
    ElfW(Sym) s;
    memcpy(&s, t->symbols + index * sizeof s, sizeof s);
    return s;
}

static bool is_symbol_named(const struct strobe_module_table *t, const ElfW(Sym) * s, const char *name)
{
    size_t length = strlen(name);
    return s->st_name < t->names_bytes && t->names_bytes - s->st_name > length &&
           memcmp(t->names + s->st_name, name, length + 1) == 0;
}

static bool match_symbol(const struct strobe_module_table *t, size_t index, const char *name, uint64_t *value)
{
    if (index >= t->count)
        return false;
    ElfW(Sym) s = symbol_at(t, index);
    unsigned type = s.st_info & 0xf;
    if (s.st_shndx == SHN_UNDEF || s.st_shndx == SHN_ABS || (type != STT_FUNC && type != STT_OBJECT) ||
        !is_symbol_named(t, &s, name))
        return false;
    *value = s.st_value;
    return true;
}

/* The head of a GNU hash table. Bloom words of the processor's size, buckets and chains follow it. */
struct gnu {
    uint32_t buckets, first, blooms, shift;
    const unsigned char *bloom, *bucket, *chain;
    size_t chains; /* words, at most */
};

static const char *gnu_read(const struct strobe_module_table *t, struct gnu *g)
{
    if (t->gnu_hash_bytes < 16)
        return "damaged: its GNU hash table is cut off";
    g->buckets = hash_word_at(t->gnu_hash, 0);
    g->first = hash_word_at(t->gnu_hash, 1);
    g->blooms = hash_word_at(t->gnu_hash, 2);
    g->shift = hash_word_at(t->gnu_hash, 3);
    uint64_t before = 16 + (uint64_t)g->blooms * sizeof(ElfW(Addr)) + (uint64_t)g->buckets * 4;
    if (before > t->gnu_hash_bytes || g->blooms & (g->blooms - 1) || (!g->blooms && g->buckets))
        return "damaged: its GNU hash table has wild sizes";
    g->bloom = t->gnu_hash + 16;
    g->bucket = g->bloom + g->blooms * sizeof(ElfW(Addr));
    g->chain = g->bucket + (size_t)g->buckets * 4;
    g->chains = (t->gnu_hash_bytes - (size_t)before) / 4;
    return NULL;
}

/* Counts the symbols: the chain that reaches farthest ends where the table ends. */
static const char *gnu_count(const struct gnu *g, size_t *count)
{
    uint32_t last = 0;
    for (uint32_t b = 0; b < g->buckets; b++) {
        uint32_t start = hash_word_at(g->bucket, b);
        last = start > last ? start : last;
    }
    *count = g->first;
    if (last < g->first)
        return NULL;
    for (size_t i = last - g->first; i < g->chains; i++)
        if (hash_word_at(g->chain, i) & 1) {
            *count = g->first + i + 1;
            return NULL;
        }
    return "damaged: its GNU hash table has no end";
}

static bool gnu_find(const struct strobe_module_table *t, const struct gnu *g, const char *name, uint64_t *value)
{
    uint32_t hash = 5381;
    for (const char *p = name; *p; p++)
        hash = hash * 33 + (unsigned char)*p;
    if (!g->buckets)
        return false;
    const uint32_t bits = sizeof(ElfW(Addr)) * 8;
    ElfW(Addr) bloom;
    memcpy(&bloom, g->bloom + (hash / bits & (g->blooms - 1)) * sizeof bloom, sizeof bloom);
    if (!(bloom >> hash % bits & bloom >> (hash >> (g->shift & 31)) % bits & 1))
        return false;
    uint32_t start = hash_word_at(g->bucket, hash % g->buckets);
    if (start < g->first)
        return false;
    for (size_t i = start - g->first; i < g->chains; i++) {
        uint32_t there = hash_word_at(g->chain, i);
        if ((there | 1) == (hash | 1) && match_symbol(t, g->first + i, name, value))
            return true;
        if (there & 1)
            return false;
    }
    return false;
}

/* A SysV hash table: numbers of buckets and of chains, buckets, chains. */
static const char *sysv_check(const struct strobe_module_table *t, size_t *count)
{
    if (t->sysv_hash_bytes < 8)
        return "damaged: its SysV hash table is cut off";
    uint64_t words = (uint64_t)hash_word_at(t->sysv_hash, 0) + hash_word_at(t->sysv_hash, 1) + 2;
    if (words * 4 > t->sysv_hash_bytes)
        return "damaged: its SysV hash table has wild sizes";
    *count = hash_word_at(t->sysv_hash, 1);
    return NULL;
}

static bool sysv_find(const struct strobe_module_table *t, const char *name, uint64_t *value)
{
    uint32_t hash = 0;
    for (const char *p = name; *p; p++) {
        hash = (hash << 4) + (unsigned char)*p;
        uint32_t high = hash & 0xf0000000;
        hash = (hash ^ high >> 24) & ~high;
    }
    uint32_t buckets = hash_word_at(t->sysv_hash, 0), chains = hash_word_at(t->sysv_hash, 1);
    if (!buckets)
        return false;
    uint32_t at = hash_word_at(t->sysv_hash, 2 + hash % buckets);
    for (uint32_t steps = 0; at && at < chains && steps < chains; steps++) { /* a damaged chain may have a cycle */
        if (match_symbol(t, at, name, value))
            return true;
        at = hash_word_at(t->sysv_hash, 2 + (size_t)buckets + at);
    }
    return false;
}

const char *strobe_table_check_hashes(struct strobe_module_table *t)
{
    size_t said = 0;
    const char *fault = NULL;
    struct gnu g;
    if (t->gnu_hash) {
        fault = gnu_read(t, &g);
        if (!fault)
            fault = gnu_count(&g, &said);
    } else if (t->sysv_hash) {
        fault = sysv_check(t, &said);
    }
    if (!t->count)
        t->count = said;
    return fault;
}

bool strobe_table_find(const struct strobe_module_table *t, const char *name, uint64_t *value)
{
    struct gnu g;
    if (t->gnu_hash)
        return !gnu_read(t, &g) && gnu_find(t, &g, name, value);
    if (t->sysv_hash)
        return sysv_find(t, name, value);
    for (size_t i = 0; i < t->count; i++)
        if (match_symbol(t, i, name, value))
            return true;
    return false;
}

void strobe_table_free(struct strobe_module_table *t)
{
    if (t->mapping)
        munmap(t->mapping, t->mapping_bytes);
    memset(t, 0, sizeof *t);
}
