#include "engine/backend/linux/unwind_images.h"

#include "engine/backend/linux/exidx.h"
#include "engine/base/mix.h"

#include <link.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

/* An image in the dynamic linker's list. */
struct loaded {
    uint64_t start, end; /* addresses of its loaded segments */
    uint64_t header;     /* address of .eh_frame_hdr, or of .ARM.exidx, or 0 */
    uint64_t header_bytes;
    uint64_t low, high; /* the segment that holds the header */
    uint64_t key;       /* of its name and program headers */
    uint64_t bias;
    const char *name; /* valid during the first update only, like `dynamic` */
    const ElfW(Dyn) * dynamic;
    bool known; /* it is in the index */
    bool stays; /* it is never unloaded */
};

/* An image in the index. */
struct indexed {
    struct loaded image;
    uint32_t slot;
    bool used, seen;
};

/* A piece of the memory for copies. */
struct piece {
    uint64_t offset, bytes;
    uint32_t owner; /* index in indexed[] + 1, or 0 when it is free */
};

static struct {
    struct strobe_unwind_index *index;
    uint8_t *copies;
    uint64_t copied; /* bytes of copies that belong to pieces */
    uint32_t pieces;
    uint32_t highest; /* entries of indexed[] that were ever used */
    uint64_t changes; /* number of changes of the dynamic linker's list when it was read */
    uint32_t count;   /* in found[] */
    struct loaded found[STROBE_UNWIND_IMAGES];
    struct indexed indexed[STROBE_UNWIND_IMAGES];
    struct piece piece[STROBE_UNWIND_IMAGES];
} state;

static void *map_memory(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

/* ---- the dynamic linker's list ---- */

static uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t count)
{
    for (const uint8_t *at = bytes; count--; at++)
        hash = (hash ^ *at) * 0x100000001b3u;
    return hash;
}

#ifdef STROBE_EH_ARM
enum { TABLES_SEGMENT = 0x70000001 }; /* PT_ARM_EXIDX */
#else
enum { TABLES_SEGMENT = PT_GNU_EH_FRAME };
#endif

static void describe_image(const struct dl_phdr_info *info, struct loaded *out)
{
    *out = (struct loaded){.start = UINT64_MAX, .bias = info->dlpi_addr, .name = info->dlpi_name};
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uint64_t at = info->dlpi_addr + p->p_vaddr;
        if (p->p_type == TABLES_SEGMENT) {
            out->header = at;
            out->header_bytes = p->p_memsz;
        }
        if (p->p_type == PT_DYNAMIC)
            out->dynamic = (const ElfW(Dyn) *)(uintptr_t)at;
        if (p->p_type != PT_LOAD)
            continue;
        if (at < out->start)
            out->start = at;
        if (at + p->p_memsz > out->end)
            out->end = at + p->p_memsz;
    }
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uint64_t at = info->dlpi_addr + p->p_vaddr;
        if (p->p_type == PT_LOAD && out->header - at < p->p_filesz) {
            out->low = at;
            out->high = at + p->p_filesz;
        }
    }
    out->key = hash_bytes(strobe_mix64(info->dlpi_phnum), info->dlpi_name, strlen(info->dlpi_name));
    out->key = hash_bytes(out->key, info->dlpi_phdr, sizeof *info->dlpi_phdr * info->dlpi_phnum);
}

/* Android's linker counts changes from API level 30 on. On earlier levels the function adds up a hash of the images'
 * addresses instead. Returns whether *changes is complete. */
static bool count_list_changes(const struct dl_phdr_info *info, size_t bytes, uint64_t *changes)
{
    if (bytes >= offsetof(struct dl_phdr_info, dlpi_subs) + sizeof info->dlpi_subs) {
        *changes = info->dlpi_adds + info->dlpi_subs;
        return true;
    }
    *changes += strobe_mix64(info->dlpi_addr);
    return false;
}

static int collect_image(struct dl_phdr_info *info, size_t bytes, void *unused)
{
    (void)unused;
    count_list_changes(info, bytes, &state.changes);
    if (state.count == STROBE_UNWIND_IMAGES)
        return 1;
    struct loaded *one = &state.found[state.count];
    describe_image(info, one);
    state.count += one->start < one->end;
    return 0;
}

static int read_changes(struct dl_phdr_info *info, size_t bytes, void *out)
{
    return count_list_changes(info, bytes, out);
}

static bool is_list_unchanged(void)
{
    uint64_t now = 0;
    dl_iterate_phdr(read_changes, &now);
    return now == state.changes;
}

/* ---- images that are never unloaded ---- */

/* The dynamic linker unloads only images that dlopen() has loaded. A constructor that ran before the engine's may have
 * called dlopen(). So the program, this library and the libraries that these need are found by the names in each
 * image's list of needed libraries. */

static const char *dynamic_strings(const struct loaded *image)
{
    for (const ElfW(Dyn) *d = image->dynamic; d && d->d_tag != DT_NULL; d++)
        if (d->d_tag == DT_STRTAB) /* an address that the dynamic linker may have relocated already */
            return (const char *)(uintptr_t)(d->d_un.d_ptr + (d->d_un.d_ptr < image->bias ? image->bias : 0));
    return NULL;
}

static bool image_is_named(const struct loaded *image, const char *name)
{
    const char *slash = strrchr(image->name, '/'), *strings = dynamic_strings(image);
    if (!strcmp(slash ? slash + 1 : image->name, name) || !strcmp(image->name, name))
        return true;
    for (const ElfW(Dyn) *d = image->dynamic; strings && d->d_tag != DT_NULL; d++)
        if (d->d_tag == DT_SONAME)
            return !strcmp(strings + d->d_un.d_val, name);
    return false;
}

/* Marks the libraries that the image needs. Returns whether it marked one that was not marked before. */
static bool mark_needed(const struct loaded *image)
{
    const char *strings = dynamic_strings(image);
    bool marked = false;
    for (const ElfW(Dyn) *d = image->dynamic; strings && d->d_tag != DT_NULL; d++)
        for (uint32_t i = 0; d->d_tag == DT_NEEDED && i < state.count; i++)
            if (!state.found[i].stays && image_is_named(&state.found[i], strings + d->d_un.d_val))
                state.found[i].stays = marked = true;
    return marked;
}

static void mark_never_unloaded(void)
{
    const uint64_t here = (uint64_t)(uintptr_t)&state;
    for (uint32_t i = 0; i < state.count; i++) {
        struct loaded *one = &state.found[i];
        one->stays = i == 0 || !strncmp(one->name, "linux-vdso", 10) || here - one->start < one->end - one->start;
    }
    for (bool more = true; more;) {
        more = false;
        for (uint32_t i = 0; i < state.count; i++)
            more |= state.found[i].stays && mark_needed(&state.found[i]);
    }
}

/* ---- call frame information ---- */

/* Returns a piece for `bytes`: the smallest free piece that is large enough, else a new one. NULL: there is no
 * space. */
static struct piece *allocate_piece(uint64_t bytes)
{
    struct piece *best = NULL;
    for (uint32_t i = 0; i < state.pieces; i++) {
        struct piece *p = &state.piece[i];
        if (!p->owner && p->bytes >= bytes && (!best || p->bytes < best->bytes))
            best = p;
    }
    if (best)
        return best;
    bytes = (bytes + 4095) & ~(uint64_t)4095;
    if (state.pieces == STROBE_UNWIND_IMAGES || bytes > STROBE_UNWIND_COPIES_BYTES - state.copied)
        return NULL;
    if (!state.copies && !(state.copies = map_memory(STROBE_UNWIND_COPIES_BYTES)))
        return NULL;
    best = &state.piece[state.pieces++];
    *best = (struct piece){.offset = state.copied, .bytes = bytes};
    state.copied += bytes;
    return best;
}

/* A range of addresses. */
struct range {
    uint64_t low, high;
};

#ifdef STROBE_EH_ARM

static enum strobe_status open_tables(const void *bytes, uint64_t size, uint64_t address, const struct loaded *image,
                                      struct strobe_eh_frame *out)
{
    return strobe_exidx_open(bytes, size, address, image->header, image->header_bytes, out);
}

/* Finds the range of the tables: the index table, and the entries to which it refers. */
static bool find_tables(const struct strobe_host *host, const struct loaded *image, struct range *out)
{
    uint32_t entry[64][2];
    size_t copied;
    *out = (struct range){image->header, image->header + image->header_bytes};
    if (out->high > image->high)
        return false;
    for (uint64_t at = out->low, end = out->high; at < end; at += sizeof entry) {
        size_t bytes = end - at < sizeof entry ? (size_t)(end - at) : sizeof entry;
        if (host->read(host->ctx, at, entry, bytes, &copied) != STROBE_OK || copied != bytes)
            return false;
        for (size_t i = 0; i < bytes / sizeof *entry; i++) {
            uint64_t to = strobe_exidx_reference(entry[i], at + i * sizeof *entry);
            if (to < image->low || to >= image->high)
                continue;
            out->low = to < out->low ? to : out->low;
            out->high = to + STROBE_EXTAB_ENTRY_BYTES > out->high ? to + STROBE_EXTAB_ENTRY_BYTES : out->high;
        }
    }
    out->high = out->high < image->high ? out->high : image->high;
    return true;
}

#else

static enum strobe_status open_tables(const void *bytes, uint64_t size, uint64_t address, const struct loaded *image,
                                      struct strobe_eh_frame *out)
{
    return strobe_eh_frame_open(bytes, size, address, image->header, out);
}

/* Finds the range of .eh_frame_hdr and .eh_frame, which ends at the end of the segment. */
static bool find_tables(const struct strobe_host *host, const struct loaded *image, struct range *out)
{
    uint8_t head[16];
    size_t copied = 0;
    if (host->read(host->ctx, image->header, head, sizeof head, &copied) != STROBE_OK)
        return false;
    uint64_t start = strobe_eh_frame_start(head, copied, image->header);
    *out = (struct range){start >= image->low && start < image->header ? start : image->header, image->high};
    return true;
}

#endif

static bool copy_frames(const struct strobe_host *host, const struct loaded *image, uint32_t owner,
                        struct strobe_eh_frame *out)
{
    struct range tables;
    size_t copied = 0;
    if (!find_tables(host, image, &tables))
        return false;
    uint64_t from = tables.low, bytes = tables.high - from;
    struct piece *piece = bytes <= STROBE_UNWIND_COPIES_BYTES ? allocate_piece(bytes) : NULL;
    if (!piece)
        return false;
    uint8_t *copy = state.copies + piece->offset;
    if (host->read(host->ctx, from, copy, (size_t)bytes, &copied) != STROBE_OK || copied != bytes ||
        open_tables(copy, bytes, from, image, out) != STROBE_OK)
        return false;
    piece->owner = owner + 1;
    return true;
}

static bool open_frames(const struct strobe_host *host, const struct loaded *image, uint32_t owner,
                        struct strobe_eh_frame *out)
{
    if (!image->header || image->high <= image->header)
        return false;
    if (!image->stays)
        return copy_frames(host, image, owner, out);
    return open_tables((const void *)(uintptr_t)image->low, image->high - image->low, image->low, image, out) ==
           STROBE_OK;
}

/* ---- changes ---- */

static void release_pieces(uint32_t owner)
{
    for (uint32_t i = 0; i < state.pieces; i++)
        if (state.piece[i].owner == owner + 1)
            state.piece[i].owner = 0;
}

static void remove_unloaded(void)
{
    for (uint32_t i = 0; i < state.highest; i++) {
        struct indexed *one = &state.indexed[i];
        if (one->used && !one->seen) {
            strobe_unwind_index_remove(state.index, one->slot);
            release_pieces(i);
            one->used = false;
        }
    }
}

static bool same_image(const struct loaded *a, const struct loaded *b)
{
    return a->start == b->start && a->end == b->end && a->key == b->key;
}

static void match_loaded_images(void)
{
    for (uint32_t i = 0; i < state.highest; i++) {
        struct indexed *one = &state.indexed[i];
        one->seen = false;
        for (uint32_t k = 0; one->used && k < state.count && !one->seen; k++)
            if (!state.found[k].known && same_image(&one->image, &state.found[k]))
                one->seen = state.found[k].known = true;
    }
}

static bool add_loaded_image(const struct strobe_host *host, const struct loaded *image)
{
    uint32_t i = 0;
    while (i < STROBE_UNWIND_IMAGES && state.indexed[i].used)
        i++;
    if (i == STROBE_UNWIND_IMAGES)
        return true;
    struct strobe_unwind_image entry = {.start = image->start, .end = image->end};
    bool has_frames = open_frames(host, image, i, &entry.frames);
    if (!has_frames)
        entry.frames = (struct strobe_eh_frame){0};
    /* The copy may be of an image that was unloaded meanwhile. */
    if (!image->stays && !is_list_unchanged()) {
        release_pieces(i);
        return false;
    }
    struct indexed *one = &state.indexed[i];
    *one = (struct indexed){.image = *image, .seen = true};
    one->used = strobe_unwind_index_add(state.index, &entry, &one->slot) == STROBE_OK;
    state.highest = i < state.highest ? state.highest : i + 1;
    return true;
}

struct strobe_unwind_index *strobe_unwind_images_update(const struct strobe_host *host)
{
    bool first = !state.index;
    if (first && !(state.index = map_memory(sizeof *state.index)))
        return NULL;
    state.count = 0;
    state.changes = 0;
    dl_iterate_phdr(collect_image, NULL);
    if (first)
        mark_never_unloaded();
    match_loaded_images();
    remove_unloaded();
    for (uint32_t i = 0; i < state.count; i++)
        if (!state.found[i].known && !add_loaded_image(host, &state.found[i])) {
            strobe_store_relaxed(&state.index->missed, 1); /* the list changed: the next pass reads it again */
            break;
        }
    return state.index;
}

void strobe_unwind_images_release(void)
{
    if (state.index)
        munmap(state.index, sizeof *state.index);
    if (state.copies)
        munmap(state.copies, STROBE_UNWIND_COPIES_BYTES);
    memset(&state, 0, sizeof state);
}
