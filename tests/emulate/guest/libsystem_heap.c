#include "tests/emulate/guest/libsystem.h"

/* A block: a head of 16 bytes with its size, then the memory. Freed blocks are kept by size, which is a power of
 * two. */
enum { HEAD = 16, CLASSES = 28, SMALLEST = 5, CHUNK = 1 << 20 };
enum { LOG_ALLOCATE = 2, LOG_DEALLOCATE = 4, LOG_ZONE = 8, LOG_CLEARED = 64 };

struct block {
    uint64_t bytes;
    struct block *next;
};

malloc_logger_t *malloc_logger, *__syscall_logger;
static os_unfair_lock heap_lock;
static struct block *freed[CLASSES];
static char *fresh, *fresh_end;
static const int zone;

static void log_event(uint32_t type, uintptr_t b, uintptr_t c, void *result)
{
    malloc_logger_t *logger = __atomic_load_n(&malloc_logger, __ATOMIC_ACQUIRE);
    if (logger)
        logger(type | LOG_ZONE, (uintptr_t)&zone, b, c, (uintptr_t)result, 0);
}

static unsigned class_of(size_t bytes)
{
    unsigned class = SMALLEST;
    while (((size_t)1 << class) < bytes + HEAD)
        class ++;
    return class;
}

static void *take(size_t bytes)
{
    unsigned class = class_of(bytes);
    if (class >= CLASSES)
        return NULL;
    os_unfair_lock_lock(&heap_lock);
    struct block *b = freed[class];
    if (b) {
        freed[class] = b->next;
    } else {
        size_t whole = (size_t)1 << class;
        if ((size_t)(fresh_end - fresh) < whole) {
            size_t chunk = whole > CHUNK ? whole : CHUNK;
            fresh = (char *)ask(CALL_MMAP, 0, chunk, 3, 0x1002, 0, 0);
            fresh_end = fresh + chunk;
        }
        b = (struct block *)fresh;
        fresh += whole;
    }
    b->bytes = bytes;
    os_unfair_lock_unlock(&heap_lock);
    return (char *)b + HEAD;
}

static void give(void *block)
{
    struct block *b = (struct block *)((char *)block - HEAD);
    unsigned class = class_of(b->bytes);
    os_unfair_lock_lock(&heap_lock);
    b->next = freed[class];
    freed[class] = b;
    os_unfair_lock_unlock(&heap_lock);
}

void *malloc(size_t bytes)
{
    void *block = take(bytes);
    log_event(LOG_ALLOCATE, bytes, 0, block);
    return block;
}

void *calloc(size_t count, size_t bytes)
{
    void *block = take(count * bytes);
    if (block)
        memset(block, 0, count * bytes);
    log_event(LOG_ALLOCATE | LOG_CLEARED, count * bytes, 0, block);
    return block;
}

void free(void *block)
{
    if (!block)
        return;
    log_event(LOG_DEALLOCATE, (uintptr_t)block, 0, NULL);
    give(block);
}

size_t malloc_size(const void *block)
{
    return block ? ((const struct block *)((const char *)block - HEAD))->bytes : 0;
}

void *realloc(void *block, size_t bytes)
{
    void *grown = take(bytes);
    size_t had = malloc_size(block);
    if (block && grown) {
        memcpy(grown, block, had < bytes ? had : bytes);
        give(block);
    }
    log_event(LOG_ALLOCATE | LOG_DEALLOCATE, (uintptr_t)block, bytes, grown);
    return grown;
}
