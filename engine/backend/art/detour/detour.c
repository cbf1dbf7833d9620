#include "engine/backend/art/detour/detour.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#if defined(__x86_64__) || defined(__aarch64__)

#include "engine/backend/art/detour/detour_code.h"
#include "engine/backend/art/detour/detour_end.h"
#include "engine/backend/common/slots/mapping.h"

/* The page of a detour: a jump to the replacement, the trampoline, and at the end the words that both load. */
enum { PAGE_BYTES = STROBE_NEAR_BYTES, TRAMPOLINE_AT = 64 };

/* Maximum of bytes that are examined of a function whose end is unknown, and of bytes that a jump can cover. */
enum { FOLLOWED_BYTES = 1 << 14, MOVED_BYTES_MAX = 32 };

/* A detour, or, when it is removed, an island that can be used again. */
struct detour {
    bool installed;
    bool prepared;  /* will be installed by the batch that is under way */
    uint32_t order; /* of the installation: detours of one function are removed newest first */
    uint8_t *at;    /* address of the jump; NULL = the entry is not used */
    uint8_t *page;
    const void *replacement;
    uint8_t moved[MOVED_BYTES_MAX]; /* the bytes that it was made for, the jump's first */
    size_t moved_bytes;
    uint8_t jump[STROBE_DETOUR_JUMP_BYTES];
    struct strobe_detour_moves moves;
};

static struct detour detours[STROBE_DETOURS_MAX];
static uint32_t installations;

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
        if (step.returns && s->rest < s->at + STROBE_DETOUR_JUMP_BYTES)
            return ELOOP;
    }
    if (s->rest - s->at > MOVED_BYTES_MAX)
        return ENOTSUP;
    return s->known_end && s->rest > s->known_end ? ENOSPC : 0;
}

static int check_other_detours(struct subject *s)
{
    for (const struct detour *d = detours; d < detours + STROBE_DETOURS_MAX; d++)
        if (d->installed && d->at == s->at)
            s->detoured = true;
        else if ((d->installed || d->prepared) && d->at < s->rest && s->at < d->at + STROBE_DETOUR_JUMP_BYTES)
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

/* Finds the mapping of an address. Most functions of a batch are in one mapping, and the kernel's list is long beside
 * many threads, so the last answer is used again. */
static bool find_mapping(struct strobe_mapping *known, const void *address)
{
    uintptr_t at = (uintptr_t)address;
    return (at >= known->start && at < known->end) || strobe_mapping_at(address, known) == STROBE_OK;
}

/* Android 10 maps code without the right to read it. It stays readable afterwards. */
static int make_readable(struct strobe_mapping *m)
{
    if (m->protection & PROT_READ)
        return 0;
    m->protection |= PROT_READ;
    return mprotect((void *)m->start, m->end - m->start, m->protection) == 0 ? 0 : errno;
}

static int examine_subject(struct subject *s, struct strobe_mapping *m, void *target)
{
    if (!find_mapping(m, target) || !(m->protection & PROT_EXEC))
        return EFAULT;
    int unreadable = make_readable(m);
    if (unreadable)
        return unreadable;
    s->entry = target;
    s->end = (const uint8_t *)m->end;
    s->at = (uint8_t *)target + strobe_detour_landing(target, s->end);
    s->known_end = strobe_detour_end(target);
    int refused = measure_subject(s);
    if (!refused)
        refused = check_other_detours(s);
    if (refused || s->detoured)
        return refused;
    return s->known_end ? read_through(s) : follow_subject(s);
}

/* ---- creation ---- */

static int write_page(uint8_t *page, const struct subject *s, const void *replacement,
                      struct strobe_detour_moves *moves)
{
    struct strobe_detour_code c = {page, (uint64_t *)(void *)(page + PAGE_BYTES)};
    size_t landing = (size_t)(s->at - s->entry);
    strobe_detour_undo_landing(&c, s->entry, landing);
    strobe_detour_go(&c, replacement);
    c.at = page + TRAMPOLINE_AT;
    memcpy(c.at, s->entry, landing);
    c.at += landing;
    struct strobe_detour_step step;
    for (const uint8_t *at = s->at; at < s->rest; at += step.bytes) {
        if (!strobe_detour_step(at, s->end, &step))
            return ENOTSUP;
        moves->from[moves->count] = at;
        moves->to[moves->count++] = c.at;
        int refused = strobe_detour_move(&c, at, s->end);
        if (refused)
            return refused;
    }
    strobe_detour_go(&c, s->rest);
    __builtin___clear_cache((char *)page, (char *)c.at);
    return mprotect(page, PAGE_BYTES, PROT_READ | PROT_EXEC) == 0 ? 0 : errno;
}

/* ---- islands ---- */

static bool was_made_for(const struct detour *d, const struct subject *s, const void *replacement)
{
    size_t bytes = (size_t)(s->rest - s->at);
    return d->at == s->at && !d->installed && !d->prepared && d->replacement == replacement &&
           d->moved_bytes == bytes && !memcmp(d->moved, s->at, bytes);
}

/* Returns the entry of an island that can be used again, else an unused one, else the one that was removed first, whose
 * island is given up. NULL: all are installed. */
static struct detour *find_entry(const struct subject *s, const void *replacement)
{
    struct detour *found = NULL;
    for (struct detour *d = detours; d < detours + STROBE_DETOURS_MAX; d++) {
        if (was_made_for(d, s, replacement))
            return d;
        if (!d->installed && !d->prepared && (!found || d->order < found->order))
            found = d;
    }
    return found;
}

/* Makes the island of `d` for this function. Returns an errno, with `d` unused. */
static int make_island(struct detour *d, const struct subject *s, const void *replacement)
{
    memset(d, 0, sizeof *d);
    uint8_t *page = strobe_map_near(s->entry, STROBE_DETOUR_REACH, PROT_READ | PROT_WRITE);
    if (!page)
        return ERANGE;
    int refused = write_page(page, s, replacement, &d->moves);
    if (refused) {
        munmap(page, PAGE_BYTES);
        return refused;
    }
    d->at = s->at;
    d->page = page;
    d->replacement = replacement;
    d->moved_bytes = (size_t)(s->rest - s->at);
    memcpy(d->moved, s->at, d->moved_bytes);
    strobe_detour_near_jump(d->jump, s->at, page);
    return 0;
}

/* ---- batches ---- */

/* Detours that are installed or removed together. */
struct batch {
    size_t count;
    struct detour *detour[STROBE_DETOURS_MAX];
    struct strobe_inline_request *request[STROBE_DETOURS_MAX];
    struct strobe_detour_patch patch[STROBE_DETOURS_MAX];
    struct strobe_mapping mapping[STROBE_DETOURS_MAX];
    struct strobe_unprotected page[STROBE_DETOURS_MAX];
    struct strobe_mapping last; /* the mapping that was asked for last */
};

static void add_patch(struct batch *b, struct strobe_inline_request *r, const uint8_t *bytes,
                      const struct strobe_detour_moves *moves)
{
    struct detour *d = r->handle;
    b->detour[b->count] = d;
    b->request[b->count] = r;
    b->mapping[b->count] = b->last;
    b->patch[b->count++] = (struct strobe_detour_patch){.at = d->at, .bytes = bytes, .moves = moves};
}

static int unprotect_patch(struct batch *b, size_t i)
{
    enum strobe_status status =
        strobe_unprotect_in(&b->mapping[i], b->patch[i].at, STROBE_DETOUR_JUMP_BYTES, &b->page[i]);
    return status == STROBE_OK ? 0 : status == STROBE_IO ? errno : EFAULT;
}

/* Protects the pages as they were. The kernel may refuse to execute a page that was changed (SELinux's execmod). Then
 * the code gets the bytes back that it had. */
static void protect_batch(struct batch *b)
{
    struct strobe_detour_patch back[STROBE_DETOURS_MAX];
    int why[STROBE_DETOURS_MAX] = {0};
    for (size_t i = 0; i < b->count; i++)
        why[i] = strobe_protect_again(&b->page[i]) == STROBE_OK ? 0 : errno;
    for (size_t i = 0; i < b->count; i++) {
        const struct detour *d = b->detour[i];
        bool undo = why[i] && !b->patch[i].refused;
        back[i] = (struct strobe_detour_patch){.at = d->at, .bytes = d->installed ? d->jump : d->moved};
        back[i].refused = undo ? unprotect_patch(b, i) : ECANCELED;
    }
    strobe_detour_write(back, b->count);
    for (size_t i = 0; i < b->count; i++)
        if (!back[i].refused)
            b->patch[i].refused = why[i];
}

/* Pages are made writable after all functions are examined, because this splits the mappings of code. */
static void write_batch(struct batch *b)
{
    for (size_t i = 0; i < b->count; i++)
        b->patch[i].refused = unprotect_patch(b, i);
    strobe_detour_write(b->patch, b->count);
    protect_batch(b);
    for (size_t i = 0; i < b->count; i++)
        b->request[i]->refused = b->patch[i].refused;
}

/* Prepares a detour, so that only its jump is missing. */
static int prepare_detour(struct batch *b, struct strobe_inline_request *r)
{
    struct subject s = {0};
    int refused = b->count < STROBE_DETOURS_MAX ? examine_subject(&s, &b->last, r->target) : ENOMEM;
    if (refused)
        return refused;
    struct detour *d = find_entry(&s, r->replacement);
    if (!d)
        return ENOMEM;
    if (!was_made_for(d, &s, r->replacement))
        refused = make_island(d, &s, r->replacement);
    if (refused)
        return refused;
    *r->original = d->page + TRAMPOLINE_AT; /* set before the first call can arrive */
    r->handle = d;
    d->prepared = true;
    add_patch(b, r, d->jump, &d->moves);
    return 0;
}

static void install_detours(void *ctx, struct strobe_inline_request *request, size_t count)
{
    struct batch b = {0};
    (void)ctx;
    for (struct strobe_inline_request *r = request; r < request + count; r++)
        r->refused = prepare_detour(&b, r);
    write_batch(&b);
    for (size_t i = 0; i < b.count; i++) {
        struct detour *d = b.detour[i];
        d->prepared = false;
        d->installed = !b.patch[i].refused;
        if (d->installed)
            d->order = ++installations;
    }
}

static bool has_later_one(const struct detour *d)
{
    for (const struct detour *other = detours; other < detours + STROBE_DETOURS_MAX; other++)
        if (other->installed && other->at == d->at && other->order > d->order)
            return true;
    return false;
}

/* A library that was unloaded has taken the jump with it. */
static int prepare_removal(struct batch *b, struct strobe_inline_request *r)
{
    struct detour *d = r->handle;
    if (!d->installed || has_later_one(d))
        return EEXIST;
    if (!find_mapping(&b->last, d->at)) {
        d->installed = false;
        return 0;
    }
    if (memcmp(d->at, d->jump, sizeof d->jump) != 0)
        return EEXIST;
    add_patch(b, r, d->moved, NULL);
    return 0;
}

static void remove_detours(void *ctx, struct strobe_inline_request *request, size_t count)
{
    struct batch b = {0};
    (void)ctx;
    for (struct strobe_inline_request *r = request; r < request + count; r++)
        r->refused = prepare_removal(&b, r);
    write_batch(&b);
    for (size_t i = 0; i < b.count; i++)
        b.detour[i]->installed = b.patch[i].refused != 0;
}

int strobe_detours_refused(void)
{
    void *page = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return errno;
    memset(page, 0, 1); /* SELinux refuses execmem only for pages that were written */
    int refused = mprotect(page, PAGE_BYTES, PROT_READ | PROT_EXEC) == 0 ? 0 : errno;
    munmap(page, PAGE_BYTES);
    return refused;
}

#else

static void refuse_detours(struct strobe_inline_request *request, size_t count)
{
    for (struct strobe_inline_request *r = request; r < request + count; r++)
        r->refused = ENOSYS;
}

static void install_detours(void *ctx, struct strobe_inline_request *request, size_t count)
{
    (void)ctx;
    refuse_detours(request, count);
}

static void remove_detours(void *ctx, struct strobe_inline_request *request, size_t count)
{
    (void)ctx;
    refuse_detours(request, count);
}

int strobe_detours_refused(void)
{
    return ENOSYS;
}

#endif

/* ---- one detour ---- */

static int install_detour(void *ctx, void *target, void *replacement, void **original, void **handle)
{
    struct strobe_inline_request r = {.target = target, .replacement = replacement, .original = original};
    install_detours(ctx, &r, 1);
    if (!r.refused)
        *handle = r.handle;
    return r.refused;
}

static int remove_detour(void *ctx, void *handle)
{
    struct strobe_inline_request r = {.handle = handle};
    remove_detours(ctx, &r, 1);
    return r.refused;
}

/* ---- what a refusal means ---- */

static const char *explain_detour(void *ctx, int refused)
{
    (void)ctx;
    switch (refused) {
    case ENOSPC: return "it is too short";
    case ELOOP: return "a branch leads into its first bytes";
    case ENOTSUP: return "an instruction cannot be moved";
    case ERANGE: return "no free page near it";
    case EBUSY: return "another detour is inside it";
    case ETIMEDOUT: return "a thread blocks all signals";
    case EFAULT: return "not code";
    case ENOSYS: return "no detours for this processor";
    case EACCES:
    case EPERM: return "the system lets no page be executable";
    default: return NULL;
    }
}

const struct strobe_inline_hooker strobe_detours = {
    .name = "detours",
    .install = install_detour,
    .remove = remove_detour,
    .explain = explain_detour,
    .install_all = install_detours,
    .remove_all = remove_detours,
};
