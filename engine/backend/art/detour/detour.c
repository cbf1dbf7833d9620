#include "engine/backend/art/detour/detour.h"

#include "engine/backend/art/detour/detour_code.h"
#include "engine/backend/art/mapping.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* The page of a detour: a jump to the replacement, the trampoline, and at the end the words that both load. */
enum { PAGE_BYTES = 4096, TRAMPOLINE_AT = 64, NEAR_STEPS = 2048 };

/* Maximum of bytes that are examined of a function whose end is unknown. */
enum { FOLLOWED_BYTES = 1 << 14 };

struct detour {
    struct detour *next; /* newest first */
    uint8_t *at;         /* address of the jump */
    uint8_t before[STROBE_DETOUR_JUMP_BYTES], jump[STROBE_DETOUR_JUMP_BYTES];
};

static struct detour *detours;

/* A function for a detour. */
struct subject {
    const uint8_t *entry;
    uint8_t *at;              /* address of the jump: after the landing pad */
    const uint8_t *rest;      /* first instruction that is not moved */
    const uint8_t *end;       /* end of the readable memory */
    const uint8_t *known_end; /* end of the function; NULL = unknown */
    bool detoured;            /* begins with the jump of another detour */
};

/* ---- checks ---- */

static const uint8_t *end_of_symbol(const void *function)
{
    Dl_info info;
    ElfW(Sym) *symbol = NULL;
    if (!dladdr1(function, &info, (void **)&symbol, RTLD_DL_SYMENT) || !symbol || info.dli_saddr != function ||
        !symbol->st_size)
        return NULL;
    return (const uint8_t *)function + symbol->st_size;
}

/* Counts the whole instructions that the jump will cover. */
static int measure_subject(struct subject *s)
{
    struct strobe_detour_step step = {0};
    s->rest = s->at;
    while (s->rest < s->at + STROBE_DETOUR_JUMP_BYTES) {
        if (step.ends || (s->known_end && s->rest >= s->known_end))
            return ENOSPC;
        if (!strobe_detour_step(s->rest, s->end, &step))
            return ENOTSUP;
        s->rest += step.bytes;
    }
    return s->known_end && s->rest > s->known_end ? ENOSPC : 0;
}

static int check_other_detours(struct subject *s)
{
    for (const struct detour *d = detours; d; d = d->next)
        if (d->at == s->at)
            s->detoured = true;
        else if (d->at < s->rest && s->at < d->at + STROBE_DETOUR_JUMP_BYTES)
            return EBUSY;
    return 0;
}

static bool leads_into_start(const struct subject *s, const struct strobe_detour_step *step)
{
    uint64_t entry = (uintptr_t)s->entry, rest = (uintptr_t)s->rest;
    return step->to < rest && ((step->jumps && step->to >= entry) || (step->calls && step->to > entry));
}

/* Examines a function from its begin to its end. */
static int read_through(const struct subject *s)
{
    struct strobe_detour_step step;
    for (const uint8_t *at = s->at; at < s->known_end; at += step.bytes) {
        if (!strobe_detour_step(at, s->end, &step))
            return ENOTSUP;
        if (leads_into_start(s, &step))
            return ELOOP;
    }
    return 0;
}

/* Addresses in a function, one bit for each byte. */
struct places {
    uint64_t word[FOLLOWED_BYTES / 64];
};

static bool has_known_place(const struct places *p, size_t place)
{
    return p->word[place / 64] >> (place % 64) & 1;
}
static void add_place(struct places *p, size_t place)
{
    p->word[place / 64] |= 1ull << (place % 64);
}

static bool take_one(struct places *p, size_t *place)
{
    for (size_t i = 0; i < FOLLOWED_BYTES / 64; i++)
        if (p->word[i]) {
            *place = i * 64 + (size_t)__builtin_ctzll(p->word[i]);
            p->word[i] &= p->word[i] - 1;
            return true;
        }
    return false;
}

/* Examines all code that can be reached from a function's entry by direct branches, without calls. */
static int follow_subject(const struct subject *s)
{
    struct places due = {{0}}, seen = {{0}};
    size_t place;
    add_place(&due, (size_t)(s->at - s->entry));
    while (take_one(&due, &place)) {
        struct strobe_detour_step step = {0};
        for (; !step.ends && place < FOLLOWED_BYTES && !has_known_place(&seen, place); place += step.bytes) {
            if (!strobe_detour_step(s->entry + place, s->end, &step))
                return ENOTSUP;
            if (leads_into_start(s, &step))
                return ELOOP;
            add_place(&seen, place);
            if (step.jumps && step.to - (uintptr_t)s->entry < FOLLOWED_BYTES)
                add_place(&due, step.to - (uintptr_t)s->entry);
        }
    }
    return 0;
}

static int examine_subject(struct subject *s, void *target)
{
    struct strobe_mapping m;
    if (strobe_mapping_at(target, &m) != STROBE_OK || !(m.protection & PROT_EXEC))
        return EFAULT;
    s->entry = target;
    s->end = (const uint8_t *)m.end;
    s->at = (uint8_t *)target + strobe_detour_landing(target, s->end);
    s->known_end = end_of_symbol(target);
    int refused = measure_subject(s);
    if (!refused)
        refused = check_other_detours(s);
    if (refused || s->detoured)
        return refused;
    return s->known_end ? read_through(s) : follow_subject(s);
}

/* ---- creation ---- */

static void *map_page_near(uintptr_t at, uintptr_t near)
{
    void *page = mmap((void *)at, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return NULL;
    uintptr_t away = (uintptr_t)page > near ? (uintptr_t)page - near : near - (uintptr_t)page;
    if (away < STROBE_DETOUR_REACH)
        return page;
    munmap(page, PAGE_BYTES);
    return NULL;
}

/* Asks the kernel for addresses at growing distances. When an address is taken, the kernel may offer another one. */
static uint8_t *page_near(const void *place)
{
    uintptr_t near = (uintptr_t)place & ~(uintptr_t)(PAGE_BYTES - 1);
    uintptr_t stride = (STROBE_DETOUR_REACH / NEAR_STEPS + 0xffff) & ~0xffffl;
    for (uintptr_t i = 1; i < NEAR_STEPS; i++) {
        void *page = near > i * stride ? map_page_near(near - i * stride, near) : NULL;
        if (!page)
            page = map_page_near(near + i * stride, near);
        if (page)
            return page;
    }
    return NULL;
}

static int write_page(uint8_t *page, const struct subject *s, const void *replacement)
{
    struct strobe_detour_code c = {page, (uint64_t *)(void *)(page + PAGE_BYTES)};
    strobe_detour_go(&c, replacement);
    c.at = page + TRAMPOLINE_AT;
    memcpy(c.at, s->entry, (size_t)(s->at - s->entry));
    c.at += s->at - s->entry;
    struct strobe_detour_step step;
    for (const uint8_t *at = s->at; at < s->rest; at += step.bytes) {
        int refused = strobe_detour_step(at, s->end, &step) ? strobe_detour_move(&c, at, s->end) : ENOTSUP;
        if (refused)
            return refused;
    }
    strobe_detour_go(&c, s->rest);
    __builtin___clear_cache((char *)page, (char *)c.at);
    return mprotect(page, PAGE_BYTES, PROT_READ | PROT_EXEC) == 0 ? 0 : errno;
}

/* Writes `after` where `before` is. */
static int patch_code(uint8_t *at, const uint8_t *before, const uint8_t *after)
{
    struct strobe_unprotected u;
    enum strobe_status status = strobe_unprotect(at, STROBE_DETOUR_JUMP_BYTES, &u);
    if (status != STROBE_OK)
        return status == STROBE_IO ? errno : EFAULT;
    strobe_detour_patch(at, after);
    if (strobe_protect_again(&u) == STROBE_OK)
        return 0;
    int refused = errno;
    strobe_detour_patch(at, before);
    return refused;
}

static int install_detour(void *ctx, void *target, void *replacement, void **original, void **handle)
{
    struct subject s = {0};
    (void)ctx;
    int refused = strobe_detour_open();
    if (!refused)
        refused = examine_subject(&s, target);
    if (refused)
        return refused;
    uint8_t *page = page_near(target);
    struct detour *d = calloc(1, sizeof *d);
    refused = !page ? ERANGE : !d ? ENOMEM : write_page(page, &s, replacement);
    if (!refused) {
        d->at = s.at;
        memcpy(d->before, s.at, sizeof d->before);
        strobe_detour_near_jump(d->jump, s.at, page);
        *original = page + TRAMPOLINE_AT; /* set before the first call can arrive */
        refused = patch_code(s.at, d->before, d->jump);
    }
    if (refused) {
        if (page)
            munmap(page, PAGE_BYTES);
        free(d);
        return refused;
    }
    d->next = detours;
    detours = d;
    *handle = d;
    return 0;
}

static int remove_detour(void *ctx, void *handle)
{
    struct detour *d = handle, **link = &detours;
    struct strobe_mapping m;
    (void)ctx;
    while (*link && *link != d && (*link)->at != d->at)
        link = &(*link)->next;
    if (*link != d)
        return EEXIST;
    if (strobe_mapping_at(d->at, &m) == STROBE_OK) { /* otherwise the library was unloaded, with the jump */
        if (memcmp(d->at, d->jump, sizeof d->jump) != 0)
            return EEXIST;
        int refused = patch_code(d->at, d->jump, d->before);
        if (refused)
            return refused;
    }
    *link = d->next;
    free(d);
    return 0;
}

const struct strobe_inline_hooker strobe_detours = {"detour", install_detour, remove_detour, NULL};
