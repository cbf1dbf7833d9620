#include "bench/naive_set.h"

#include <pthread.h>
#include <stdlib.h>

struct link {
    struct link *next;
    struct naive_node *node;
    size_t hash;
};

struct naive_set {
    pthread_mutex_t lock;
    struct link **buckets; /* entry before the first of each bucket, NULL when it has none */
    struct link before_all;
    size_t bucket_count;
    uint32_t count;
};

static void *take(size_t count, size_t bytes)
{
    void *p = calloc(count, bytes);
    if (!p)
        abort();
    return p;
}

static size_t hash_of(const struct naive_node *key)
{
    return (size_t)(uintptr_t)key->parent ^ (size_t)key->address;
}

static int is_prime(size_t n)
{
    for (size_t d = 3; d * d <= n; d += 2)
        if (n % d == 0)
            return 0;
    return 1;
}

static size_t prime_from(size_t n)
{
    n |= 1;
    while (!is_prime(n))
        n += 2;
    return n;
}

struct naive_set *naive_set_new(void)
{
    struct naive_set *set = take(1, sizeof *set);
    pthread_mutex_init(&set->lock, NULL);
    set->bucket_count = 13;
    set->buckets = take(set->bucket_count, sizeof *set->buckets);
    return set;
}

void naive_set_free(struct naive_set *set)
{
    for (struct link *l = set->before_all.next, *next; l; l = next) {
        next = l->next;
        free(l->node);
        free(l);
    }
    free(set->buckets);
    pthread_mutex_destroy(&set->lock);
    free(set);
}

static struct link *find(const struct naive_set *set, const struct naive_node *key, size_t hash)
{
    size_t bucket = hash % set->bucket_count;
    if (!set->buckets[bucket])
        return NULL;
    struct link *l = set->buckets[bucket]->next;
    do
        if (l->hash == hash && l->node->parent == key->parent && l->node->address == key->address)
            return l;
    while ((l = l->next) && l->hash % set->bucket_count == bucket);
    return NULL;
}

/* Inserts a new entry before the entries of its bucket. When the bucket is empty, inserts it at the front of the list,
 * and updates the predecessor of the bucket that began there. */
static void link_in(struct naive_set *set, struct link *l)
{
    size_t bucket = l->hash % set->bucket_count;
    if (set->buckets[bucket]) {
        l->next = set->buckets[bucket]->next;
        set->buckets[bucket]->next = l;
        return;
    }
    l->next = set->before_all.next;
    set->before_all.next = l;
    if (l->next)
        set->buckets[l->next->hash % set->bucket_count] = l;
    set->buckets[bucket] = &set->before_all;
}

static void grow(struct naive_set *set)
{
    struct link *l = set->before_all.next, *next;
    free(set->buckets);
    set->bucket_count = prime_from(set->bucket_count * 2);
    set->buckets = take(set->bucket_count, sizeof *set->buckets);
    set->before_all.next = NULL;
    for (; l; l = next) {
        next = l->next;
        link_in(set, l);
    }
}

static const struct naive_node *find_or_add(struct naive_set *set, const struct naive_node *key)
{
    size_t hash = hash_of(key);
    struct link *l = find(set, key, hash);
    if (l)
        return l->node;
    if (set->count == set->bucket_count)
        grow(set);
    l = take(1, sizeof *l);
    l->node = take(1, sizeof *l->node);
    *l->node = *key;
    l->hash = hash;
    link_in(set, l);
    set->count++;
    return l->node;
}

const struct naive_node *naive_set_intern(struct naive_set *set, const uint64_t *frames, uint32_t depth)
{
    const struct naive_node *at = NULL;
    pthread_mutex_lock(&set->lock);
    for (uint32_t i = 0; i < depth; i++)
        at = find_or_add(set, &(struct naive_node){.parent = at, .address = frames[i]});
    pthread_mutex_unlock(&set->lock);
    return at;
}

size_t naive_set_bytes(const struct naive_set *set)
{
    return set->bucket_count * sizeof *set->buckets + set->count * (sizeof(struct link) + sizeof(struct naive_node));
}

uint32_t naive_set_count(const struct naive_set *set)
{
    return set->count;
}
