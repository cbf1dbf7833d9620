/* Allocation: every call is counted, and is a point that passes the gate. */
#include "engine/backend/linux/preload/hook.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

/* The lookup of the real functions may allocate. That memory comes from this buffer and is never freed. */
static struct {
    strobe_a32 used;
    _Alignas(16) char bytes[64 * 1024];
} early;

static void *early_alloc(size_t bytes)
{
    size_t whole = (bytes + 15) & ~(size_t)15;
    uint32_t at = whole <= sizeof early.bytes ? strobe_add_relaxed(&early.used, (uint32_t)whole) : UINT32_MAX;
    return at <= sizeof early.bytes - whole ? early.bytes + at : NULL;
}

static bool is_early(const void *p)
{
    return (uintptr_t)p - (uintptr_t)early.bytes < sizeof early.bytes;
}

static STROBE_ALWAYS_INLINE void allocated(const void *p, uint64_t bytes, struct strobe_site site)
{
    uint32_t on = strobe_switched();
    struct strobe_thread *t = strobe_hook_thread(on);
    if (t && p)
        strobe_point_alloc(t, on, bytes, site);
}

static STROBE_ALWAYS_INLINE void freed(const void *p, struct strobe_site site)
{
    uint32_t on = strobe_switched();
    struct strobe_thread *t = strobe_hook_thread(on);
    if (t)
        strobe_point_dense(t, on, STROBE_KIND_FREE, (uint64_t)(uintptr_t)p, site);
}

HOOK(void *, malloc)(size_t bytes)
{
    HOOK_BEGINS;
    strobe_hook_forbidden("malloc");
    struct strobe_real *real = strobe_real();
    if (strobe_unlikely(!real->malloc))
        return early_alloc(bytes);
    void *p = real->malloc(bytes);
    allocated(p, bytes, STROBE_HERE);
    return p;
}

HOOK(void, free)(void *p)
{
    HOOK_BEGINS;
    strobe_hook_forbidden("free");
    struct strobe_real *real = strobe_real();
    if (strobe_unlikely(is_early(p) || !real->free))
        return;
    real->free(p);
    if (p)
        freed(p, STROBE_HERE);
}

HOOK(void *, calloc)(size_t count, size_t bytes)
{
    HOOK_BEGINS;
    strobe_hook_forbidden("calloc");
    struct strobe_real *real = strobe_real();
    if (strobe_unlikely(!real->calloc))
        return bytes && count > SIZE_MAX / bytes ? NULL : early_alloc(count * bytes);
    void *p = real->calloc(count, bytes);
    allocated(p, (uint64_t)count * bytes, STROBE_HERE);
    return p;
}

/* Moves a block that was allocated before the real functions were known. */
static void *move_early(void *p, size_t bytes)
{
    void *q = malloc(bytes);
    size_t left = (size_t)(early.bytes + sizeof early.bytes - (char *)p);
    if (q)
        memcpy(q, p, bytes < left ? bytes : left);
    return q;
}

HOOK(void *, realloc)(void *p, size_t bytes)
{
    HOOK_BEGINS;
    strobe_hook_forbidden("realloc");
    struct strobe_real *real = strobe_real();
    if (strobe_unlikely(is_early(p) || !real->realloc))
        return p ? move_early(p, bytes) : malloc(bytes);
    void *q = real->realloc(p, bytes);
    allocated(q, bytes, STROBE_HERE);
    return q;
}

HOOK(void *, reallocarray)(void *p, size_t count, size_t bytes)
{
    HOOK_BEGINS;
    strobe_hook_forbidden("reallocarray");
    void *q = strobe_real()->reallocarray(p, count, bytes);
    allocated(q, (uint64_t)count * bytes, STROBE_HERE);
    return q;
}

HOOK(int, posix_memalign)(void **out, size_t alignment, size_t bytes)
{
    HOOK_BEGINS;
    strobe_hook_forbidden("posix_memalign");
    int r = strobe_real()->posix_memalign(out, alignment, bytes);
    allocated(r ? NULL : *out, bytes, STROBE_HERE);
    return r;
}

HOOK(void *, aligned_alloc)(size_t alignment, size_t bytes)
{
    HOOK_BEGINS;
    strobe_hook_forbidden("aligned_alloc");
    void *p = strobe_real()->aligned_alloc(alignment, bytes);
    allocated(p, bytes, STROBE_HERE);
    return p;
}

HOOK(void *, memalign)(size_t alignment, size_t bytes)
{
    HOOK_BEGINS;
    strobe_hook_forbidden("memalign");
    void *p = strobe_real()->memalign(alignment, bytes);
    allocated(p, bytes, STROBE_HERE);
    return p;
}

HOOK(void *, valloc)(size_t bytes)
{
    HOOK_BEGINS;
    strobe_hook_forbidden("valloc");
    void *p = strobe_real()->valloc(bytes);
    allocated(p, bytes, STROBE_HERE);
    return p;
}

HOOK(void *, pvalloc)(size_t bytes)
{
    HOOK_BEGINS;
    strobe_hook_forbidden("pvalloc");
    void *p = strobe_real()->pvalloc(bytes);
    allocated(p, bytes, STROBE_HERE);
    return p;
}
