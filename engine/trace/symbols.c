#include "engine/trace/symbols.h"

#include "engine/trace/demangle.h"
#include "engine/trace/idmap.h"
#include "engine/trace/symbol_image.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Frames [first, first + count) in the pool answer one address. */
struct answer { uint32_t first, count; };

struct strobe_symbols {
    unsigned options;
    struct strobe_symbol_image *images;
    size_t image_count;
    struct strobe_image_report *reports;
    struct strobe_idmap by_address;    /* (address, is return address) -> answers */
    struct answer *answers;
    size_t answer_capacity;
    struct strobe_symbol *frames;      /* the pool */
    size_t frame_count, frame_capacity;
    struct strobe_idmap by_function;   /* (image and whether inlined, start or identity) -> names */
    struct strobe_names told;          /* by the traced process, of addresses that are in no image */
    struct strobe_idmap by_told;       /* (address, 0) -> its place among them */
    uint64_t *told_at;
    size_t told_capacity;
    char **names;
    size_t name_capacity;
};

/* What a place gets when memory runs out. */
static const struct strobe_symbol nothing = {.function = "?", .image = "", .file = ""};

/* Makes room for one more element. */
static int room(void **list, size_t *capacity, size_t count, size_t element_bytes)
{
    if (count < *capacity)
        return 1;
    size_t larger = *capacity ? 2 * *capacity : 256;
    void *grown = realloc(*list, larger * element_bytes);
    if (!grown)
        return 0;
    *list = grown;
    *capacity = larger;
    return 1;
}

static int copy_image(const struct strobe_session *session, const struct strobe_image_entry *entry,
                      struct strobe_symbol_image *out)
{
    if (strobe_load_acquire(&entry->published) != 1)
        return 1;
    out->path = strndup(entry->path, sizeof entry->path);
    if (!out->path)
        return 0;
    const char *slash = strrchr(out->path, '/');
    out->short_name = slash && slash[1] ? slash + 1 : out->path;
    out->start = entry->start;
    out->end = entry->end;
    out->bias = entry->bias;
    out->build_id_bytes =
        entry->build_id_bytes < STROBE_BUILD_ID_BYTES ? entry->build_id_bytes : STROBE_BUILD_ID_BYTES;
    memcpy(out->build_id, entry->build_id, sizeof out->build_id);
    out->captured_ns = session->header->begin.realtime_ns;
    return 1;
}

/* Where each name stands that the process itself has told. Of several of one address the first counts. */
static int index_told(struct strobe_symbols *s, const struct strobe_session *session)
{
    struct strobe_named_address name;
    s->told = session->names;
    for (uint64_t at = 0, next = 0; strobe_names_next(&s->told, &next, &name); at = next) {
        int fresh;
        if (!room((void **)&s->told_at, &s->told_capacity, s->by_told.count, sizeof *s->told_at))
            return 0;
        uint32_t *place = strobe_idmap_put(&s->by_told, name.address, 0, &fresh);
        if (!place)
            return 0;
        if (!fresh)
            continue;
        *place = (uint32_t)s->by_told.count - 1;
        s->told_at[*place] = at;
    }
    return 1;
}

enum strobe_status strobe_symbols_open(const struct strobe_session *session, unsigned options,
                                       struct strobe_symbols **out)
{
    /* Names are looked up on this machine alone: libdwfl would ask the servers this variable names. */
    unsetenv("DEBUGINFOD_URLS");
    *out = NULL;
    size_t count = strobe_session_image_count(session);
    struct strobe_symbols *s = calloc(1, sizeof *s);
    if (!s)
        return STROBE_IO;
    s->options = options;
    s->images = calloc(count + 1, sizeof *s->images);
    s->reports = calloc(count + 1, sizeof *s->reports);
    if (!s->images || !s->reports) {
        strobe_symbols_close(s);
        return STROBE_IO;
    }
    for (size_t i = 0; i < count; i++) {
        if (!copy_image(session, &session->images[i], &s->images[s->image_count])) {
            strobe_symbols_close(s);
            return STROBE_IO;
        }
        if (s->images[s->image_count].path)
            s->image_count++;
    }
    if (!index_told(s, session)) {
        strobe_symbols_close(s);
        return STROBE_IO;
    }
    *out = s;
    return STROBE_OK;
}

void strobe_symbols_close(struct strobe_symbols *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->image_count; i++)
        strobe_symbol_image_close(&s->images[i]);
    for (size_t i = 0; i < s->by_function.count && s->names; i++)
        free(s->names[i]);
    strobe_idmap_free(&s->by_address);
    strobe_idmap_free(&s->by_function);
    strobe_idmap_free(&s->by_told);
    free(s->told_at);
    free(s->images);
    free(s->reports);
    free(s->answers);
    free(s->frames);
    free(s->names);
    free(s);
}

/* The image loaded last that holds the address: an address may have been used again after an unload. */
static struct strobe_symbol_image *image_at(const struct strobe_symbols *s, uint64_t address)
{
    for (size_t i = s->image_count; i-- > 0;)
        if (address >= s->images[i].start && address < s->images[i].end)
            return &s->images[i];
    return NULL;
}

/* The id of the function with this identity; a new one gets `linkage`, demangled, or else `placeholder` as name.
 * UINT32_MAX: out of memory. */
static uint32_t function_id(struct strobe_symbols *s, uint64_t image, uint64_t identity, const char *linkage,
                            const char *placeholder)
{
    int fresh;
    if (!room((void **)&s->names, &s->name_capacity, s->by_function.count, sizeof *s->names))
        return UINT32_MAX;
    uint32_t *id = strobe_idmap_put(&s->by_function, image, identity, &fresh);
    if (!id)
        return UINT32_MAX;
    if (fresh) {
        *id = (uint32_t)s->by_function.count - 1;
        char *name = linkage && !(s->options & STROBE_SYMBOLS_MANGLED) ? strobe_demangle(linkage) : NULL;
        /* Symbol versions (name@VERSION) are the linker's business. */
        s->names[*id] = name ? name : linkage ? strndup(linkage, strcspn(linkage, "@")) : strdup(placeholder);
    }
    return s->names[*id] ? *id : UINT32_MAX;
}

static int add_frame(struct strobe_symbols *s, uint32_t id, const char *image, const struct strobe_inline *place,
                     uint64_t address)
{
    if (!room((void **)&s->frames, &s->frame_capacity, s->frame_count, sizeof *s->frames))
        return 0;
    s->frames[s->frame_count++] =
        id == UINT32_MAX
            ? nothing
            : (struct strobe_symbol){s->names[id], image, place->file, place->line, id, address};
    return 1;
}

/* False: the process told no name of the address. */
static int answer_told(struct strobe_symbols *s, uint64_t address, int *answered)
{
    static const struct strobe_inline nowhere = {.file = ""};
    const uint32_t *place = strobe_idmap_get(&s->by_told, address, 0);
    struct strobe_named_address name;
    char text[STROBE_NAME_BYTES_MAX + 1];
    if (!place)
        return 0;
    uint64_t at = s->told_at[*place];
    strobe_names_next(&s->told, &at, &name);
    snprintf(text, sizeof text, "%.*s", (int)name.bytes, name.text);
    *answered = add_frame(s, function_id(s, UINT64_MAX, address, NULL, text), "", &nowhere, address);
    return 1;
}

static int answer_unmapped(struct strobe_symbols *s, uint64_t address)
{
    static const struct strobe_inline nowhere = {.file = ""};
    char text[24];
    snprintf(text, sizeof text, "0x%" PRIx64, address);
    return add_frame(s, function_id(s, UINT64_MAX, address, NULL, text), "", &nowhere, address);
}

/* The address is `recorded`, looked up as `at`. */
static int answer_in_image(struct strobe_symbols *s, struct strobe_symbol_image *image, uint64_t recorded, uint64_t at)
{
    struct strobe_inline places[STROBE_SYMBOLS_FRAMES_MAX];
    struct strobe_function f = {.start = recorded};
    size_t count = 1;
    uint64_t number = (uint64_t)(image - s->images);
    char text[512];
    places[0] = (struct strobe_inline){.file = ""};
    if (image->state == STROBE_IMAGE_UNUSED && strobe_symbol_image_open(image, s->options) != STROBE_OK)
        return 0;
    if (image->module) {
        strobe_function_at(&image->functions, at, &f);
        count = strobe_symbol_image_places(image, at, (s->options & STROBE_SYMBOLS_INLINES) != 0, places,
                                           STROBE_SYMBOLS_FRAMES_MAX);
    }
    image->addresses++;
    image->unnamed += !f.name;
    /* Where no function is, the address stands for itself; the next function may begin at that very place. */
    enum { FUNCTION, INLINED, PLACE, IDENTITIES } what = f.name || f.start != recorded ? FUNCTION : PLACE;
    /* What never was a file is small and of one purpose: it counts as one function. */
    if (image->state == STROBE_IMAGE_NO_FILE) {
        f.start = image->start;
        snprintf(text, sizeof text, "%s", image->short_name);
    } else {
        snprintf(text, sizeof text, "%s+0x%" PRIx64, image->short_name, f.start - image->bias);
    }
    for (size_t i = count; i-- > 0;) {
        const struct strobe_inline *p = &places[i];
        uint32_t id = p->name ? function_id(s, number * IDENTITIES + INLINED, p->identity, p->name, "")
                              : function_id(s, number * IDENTITIES + (unsigned)what, f.start, f.name, text);
        if (!add_frame(s, id, image->path, p, f.start))
            return 0;
    }
    return 1;
}

/* Looks the address up and adds the frames to the pool. */
static int answer(struct strobe_symbols *s, uint64_t address)
{
    int answered;
    if (answer_told(s, address, &answered))
        return answered;
    uint64_t at = address ? address - 1 : address;
    struct strobe_symbol_image *image = image_at(s, at);
    return image ? answer_in_image(s, image, address, at) : answer_unmapped(s, address);
}

/* The answer for an address, looked up when asked for the first time. NULL: out of memory. */
static const struct answer *answer_for(struct strobe_symbols *s, uint64_t address)
{
    int fresh;
    if (!room((void **)&s->answers, &s->answer_capacity, s->by_address.count, sizeof *s->answers))
        return NULL;
    uint32_t *place = strobe_idmap_put(&s->by_address, address, 0, &fresh);
    if (!place)
        return NULL;
    if (fresh) {
        uint32_t first = (uint32_t)s->frame_count;
        *place = (uint32_t)s->by_address.count - 1;
        answer(s, address);
        s->answers[*place] = (struct answer){first, (uint32_t)s->frame_count - first};
    }
    return &s->answers[*place];
}

size_t strobe_symbols_resolve(struct strobe_symbols *s, uint64_t return_address, struct strobe_symbol *out, size_t max)
{
    if (!max)
        return 0;
    const struct answer *a = answer_for(s, return_address);
    if (!a || !a->count) {
        out[0] = nothing;
        return 1;
    }
    size_t count = a->count < max ? a->count : max, skipped = a->count - count;
    out[0] = s->frames[a->first];
    for (size_t i = 1; i < count; i++)
        out[i] = s->frames[a->first + skipped + i];
    return count;
}

uint32_t strobe_symbols_function_count(const struct strobe_symbols *s)
{
    return (uint32_t)s->by_function.count;
}

size_t strobe_symbols_images(struct strobe_symbols *s, const struct strobe_image_report **out)
{
    for (size_t i = 0; i < s->image_count; i++) {
        const struct strobe_symbol_image *m = &s->images[i];
        s->reports[i] = (struct strobe_image_report){m->path, m->state, m->addresses, m->unnamed};
    }
    *out = s->reports;
    return s->image_count;
}

const char *strobe_image_state_text(enum strobe_image_state state)
{
    switch (state) {
    case STROBE_IMAGE_UNUSED: return "not needed";
    case STROBE_IMAGE_DEBUG: return "debug information";
    case STROBE_IMAGE_SYMTAB: return "symbol table";
    case STROBE_IMAGE_DYNSYM: return "exported names only";
    case STROBE_IMAGE_NO_SYMBOLS: return "no symbols";
    case STROBE_IMAGE_CHANGED: return "file has changed since: not used";
    case STROBE_IMAGE_MISSING: return "file is missing or not readable";
    case STROBE_IMAGE_NO_FILE: return "no file";
    }
    return "unknown";
}
