#include "engine/trace/symbols/symbols.h"

#include "engine/trace/model/function_tree.h"
#include "engine/trace/session/code_names.h"
#include "engine/trace/symbols/demangle.h"
#include "engine/trace/symbols/symbol_image.h"
#include "engine/trace/symbols/syscall_site.h"
#include "engine/util/array.h"
#include "engine/util/idmap.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The result of one address: frames [first, first + count) of the pool. */
struct answer {
    uint32_t first, count;
};

/* The address range of an image in the current session. `shift` leads from there to the image's address range in the
 * symbols object. */
struct placed {
    uint64_t start, end, shift;
};

struct strobe_symbols {
    unsigned options;
    struct strobe_symbol_image *images;
    size_t image_count, image_capacity;
    struct strobe_image_report *reports;
    int shared;       /* images of several sessions, each with an address range of its own */
    uint64_t session; /* number of the current session, from 1; 0 unless shared */
    struct placed *placed;
    size_t placed_count, placed_capacity;
    uint64_t next_start;            /* address range of the next image */
    struct strobe_idmap by_address; /* (address, session unless in an image) -> answers */
    struct answer *answers;
    size_t answer_capacity;
    struct strobe_symbol *frames; /* the pool */
    size_t frame_count, frame_capacity;
    struct strobe_idmap by_function;   /* (image and whether inlined, start or identity) -> names */
    struct strobe_names process_names; /* the session's names */
    struct strobe_code_names code;     /* names of generated code */
    struct strobe_text_pool code_texts;
    struct strobe_idmap by_process_name; /* (address, 0) -> index in process_name_at; not for generated code */
    uint64_t *process_name_at;
    size_t process_name_capacity;
    char **names;
    size_t name_capacity;
    bool failed; /* memory ran out during a lookup */
};

/* Values of the key `image` for functions that are in no image: single addresses, generated code (its identity is the
 * number of its name), and system calls. */
#define IDENTITY_OF_ADDRESS UINT64_MAX
#define IDENTITY_OF_CODE    (UINT64_MAX - 1)
#define IDENTITY_OF_SYSCALL (UINT64_MAX - 2)
enum { IDENTITIES_OF_NONE = 3 }; /* further values: single addresses named by one of several processes */

/* The result when memory runs out. */
static const struct strobe_symbol unknown_symbol = {.function = "?", .image = "", .file = ""};

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
    out->build_id_bytes = entry->build_id_bytes < STROBE_BUILD_ID_BYTES ? entry->build_id_bytes : STROBE_BUILD_ID_BYTES;
    memcpy(out->build_id, entry->build_id, sizeof out->build_id);
    out->captured_ns = session->header->begin.realtime_ns;
    return 1;
}

/* Indexes the names that the process itself gave. The first of several names of one address counts. */
static int index_process_names(struct strobe_symbols *s, const struct strobe_session *session)
{
    struct strobe_named_address name;
    s->process_names = session->names;
    for (uint64_t at = 0, next = 0; strobe_names_next(&s->process_names, &next, &name); at = next) {
        int fresh;
        if (name.flags & STROBE_NAME_CODE)
            continue;
        if (!strobe_array_reserve(&s->process_name_at, &s->process_name_capacity, s->by_process_name.count + 1))
            return 0;
        uint32_t *place = strobe_idmap_put(&s->by_process_name, name.address, 0, &fresh);
        if (!place)
            return 0;
        if (!fresh)
            continue;
        *place = (uint32_t)s->by_process_name.count - 1;
        s->process_name_at[*place] = at;
    }
    return 1;
}

static struct strobe_symbols *open_empty_symbols(unsigned options)
{
    /* Names are looked up on this machine only. libdwfl would query the servers that this variable names. */
    unsetenv("DEBUGINFOD_URLS");
    struct strobe_symbols *s = calloc(1, sizeof *s);
    if (s)
        s->options = options;
    return s;
}

/* Reserves a zeroed entry for one more image, and one for its report. */
static int room_for_image(struct strobe_symbols *s)
{
    size_t capacity = s->image_capacity;
    return strobe_array_reserve_zeroed(&s->images, &capacity, s->image_count + 1) &&
           strobe_array_reserve(&s->reports, &s->image_capacity, s->image_count + 1);
}

static int add_image(struct strobe_symbols *s, const struct strobe_session *session,
                     const struct strobe_image_entry *entry)
{
    if (!room_for_image(s) || !copy_image(session, entry, &s->images[s->image_count]))
        return 0;
    if (s->images[s->image_count].path)
        s->image_count++;
    return 1;
}

enum strobe_status strobe_symbols_open(const struct strobe_session *session, unsigned options,
                                       struct strobe_symbols **out)
{
    size_t count = strobe_session_image_count(session);
    struct strobe_symbols *s = open_empty_symbols(options);
    *out = NULL;
    int enough = s && room_for_image(s);
    for (size_t i = 0; i < count && enough; i++)
        enough = add_image(s, session, &session->images[i]);
    if (!enough || !index_process_names(s, session) ||
        strobe_code_names_open(&s->process_names, &s->code) != STROBE_OK) {
        strobe_symbols_close(s);
        return STROBE_IO;
    }
    *out = s;
    return STROBE_OK;
}

/* ---- several sessions */

/* Above all addresses of processes, so that addresses outside of images stay unchanged. */
#define SHARED_START ((uint64_t)1 << 62)
enum { SHARED_GAP = 1 << 20 };

enum strobe_status strobe_symbols_open_shared(unsigned options, struct strobe_symbols **out)
{
    struct strobe_symbols *s = open_empty_symbols(options);
    *out = s;
    if (!s || !room_for_image(s)) {
        strobe_symbols_close(s);
        *out = NULL;
        return STROBE_IO;
    }
    s->shared = 1;
    s->next_start = SHARED_START;
    return STROBE_OK;
}

static int is_same_image(const struct strobe_symbol_image *image, const struct strobe_image_entry *entry)
{
    return image->end - image->start == entry->end - entry->start &&
           image->bias - image->start == entry->bias - entry->start && image->build_id_bytes == entry->build_id_bytes &&
           !memcmp(image->build_id, entry->build_id, image->build_id_bytes) &&
           !strncmp(image->path, entry->path, sizeof entry->path);
}

/* Returns the image of the entry; a new image gets an address range of its own. NULL: out of memory, or not
 * published. */
static const struct strobe_symbol_image *share_image(struct strobe_symbols *s, const struct strobe_session *session,
                                                     const struct strobe_image_entry *entry, int *enough)
{
    *enough = 1;
    if (strobe_load_acquire(&entry->published) != 1 || entry->end <= entry->start)
        return NULL;
    for (size_t i = 0; i < s->image_count; i++)
        if (is_same_image(&s->images[i], entry))
            return &s->images[i];
    size_t before = s->image_count;
    *enough = add_image(s, session, entry);
    if (!*enough || s->image_count == before)
        return NULL;
    struct strobe_symbol_image *new = &s->images[before];
    uint64_t shift = s->next_start + (entry->start & (SHARED_GAP - 1)) - entry->start;
    new->start += shift;
    new->end += shift;
    new->bias += shift;
    s->next_start = (new->end + 2 * SHARED_GAP) & ~(uint64_t)(SHARED_GAP - 1);
    return new;
}

enum strobe_status strobe_symbols_enter(struct strobe_symbols *s, const struct strobe_session *session)
{
    uint32_t count = strobe_session_image_count(session);
    s->session++;
    s->placed_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct strobe_image_entry *entry = &session->images[i];
        int enough;
        const struct strobe_symbol_image *image = share_image(s, session, entry, &enough);
        if (!enough || !strobe_array_reserve(&s->placed, &s->placed_capacity, s->placed_count + 1))
            return STROBE_IO;
        if (image)
            s->placed[s->placed_count++] = (struct placed){entry->start, entry->end, image->start - entry->start};
    }
    strobe_idmap_free(&s->by_process_name);
    s->by_process_name = (struct strobe_idmap){0};
    strobe_code_names_close(&s->code);
    return index_process_names(s, session) ? strobe_code_names_open(&s->process_names, &s->code) : STROBE_IO;
}

/* Translates an address of the current session to the image's address range in the symbols object. An address outside
 * of images is unchanged. */
static uint64_t shared_address(const struct strobe_symbols *s, uint64_t address)
{
    uint64_t at = address ? address - 1 : address;
    for (size_t i = s->placed_count; i-- > 0;)
        if (at >= s->placed[i].start && at < s->placed[i].end)
            return address + s->placed[i].shift;
    return address;
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
    strobe_idmap_free(&s->by_process_name);
    strobe_code_names_close(&s->code);
    strobe_text_pool_free(&s->code_texts);
    free(s->process_name_at);
    free(s->placed);
    free(s->images);
    free(s->reports);
    free(s->answers);
    free(s->frames);
    free(s->names);
    free(s);
}

/* Returns the last loaded image that contains the address: addresses may be reused after an unload. */
static struct strobe_symbol_image *image_at(const struct strobe_symbols *s, uint64_t address)
{
    for (size_t i = s->image_count; i-- > 0;)
        if (address >= s->images[i].start && address < s->images[i].end)
            return &s->images[i];
    return NULL;
}

/* Returns the id of the function with this identity. A new function is named `linkage`, demangled, or else
 * `placeholder`. UINT32_MAX: out of memory. */
static uint32_t function_id(struct strobe_symbols *s, uint64_t image, uint64_t identity, const char *linkage,
                            const char *placeholder)
{
    int fresh;
    uint32_t *id = strobe_array_reserve(&s->names, &s->name_capacity, s->by_function.count + 1)
                       ? strobe_idmap_put(&s->by_function, image, identity, &fresh)
                       : NULL;
    if (!id) {
        s->failed = true;
        return UINT32_MAX;
    }
    if (fresh) {
        *id = (uint32_t)s->by_function.count - 1;
        char *name = linkage && !(s->options & STROBE_SYMBOLS_MANGLED) ? strobe_demangle(linkage) : NULL;
        /* The symbol version of name@VERSION is left out. */
        s->names[*id] = name ? name : linkage ? strndup(linkage, strcspn(linkage, "@")) : strdup(placeholder);
    }
    s->failed |= !s->names[*id];
    return s->names[*id] ? *id : UINT32_MAX;
}

static int add_frame(struct strobe_symbols *s, uint32_t id, const char *image, const struct strobe_inline *place,
                     uint64_t address)
{
    if (!strobe_array_reserve(&s->frames, &s->frame_capacity, s->frame_count + 1)) {
        s->failed = true;
        return 0;
    }
    s->frames[s->frame_count++] =
        id == UINT32_MAX ? unknown_symbol
                         : (struct strobe_symbol){s->names[id], image, place->file, place->line, id, address, 0};
    return 1;
}

/* Returns the address in the current session, of an address that shared_address translated. */
static uint64_t own_address(const struct strobe_symbols *s, uint64_t address)
{
    uint64_t at = address ? address - 1 : address;
    for (size_t i = s->placed_count; i-- > 0;)
        if (at - s->placed[i].shift >= s->placed[i].start && at - s->placed[i].shift < s->placed[i].end)
            return address - s->placed[i].shift;
    return address;
}

/* Returns 0 if the process gave no name for the address. An importer of samples names functions of images in this
 * way. */
static int answer_from_process(struct strobe_symbols *s, uint64_t address, int *answered)
{
    static const struct strobe_inline nowhere = {.file = ""};
    const uint32_t *place = strobe_idmap_get(&s->by_process_name, s->shared ? own_address(s, address) : address, 0);
    struct strobe_named_address name;
    char text[STROBE_NAME_BYTES_MAX + 1];
    if (!place)
        return 0;
    uint64_t at = s->process_name_at[*place];
    strobe_names_next(&s->process_names, &at, &name);
    snprintf(text, sizeof text, "%.*s", (int)name.bytes, name.text);
    const struct strobe_symbol_image *image = image_at(s, address ? address - 1 : address);
    uint64_t identity = IDENTITY_OF_ADDRESS - (s->session && !image ? IDENTITIES_OF_NONE + s->session : 0);
    *answered =
        add_frame(s, function_id(s, identity, address, NULL, text), image ? image->path : "", &nowhere, address);
    return 1;
}

/* Adds the frame of generated code, in `image`, whose name is the entry at `at`. */
static int answer_code(struct strobe_symbols *s, uint64_t at, const char *image)
{
    static const struct strobe_inline nowhere = {.file = ""};
    struct strobe_named_address name;
    if (!strobe_names_next(&s->process_names, &at, &name) || !(name.flags & STROBE_NAME_CODE))
        return 0;
    uint32_t text = strobe_text_number(&s->code_texts, name.text, name.bytes);
    if (text == UINT32_MAX) {
        s->failed = true;
        return 0;
    }
    const char *given = s->code_texts.texts[text];
    int is_mangled = !strncmp(given, "_Z", 2) || !strncmp(given, "_R", 2);
    return add_frame(s, function_id(s, IDENTITY_OF_CODE, text, is_mangled ? given : NULL, given), image, &nowhere,
                     name.address);
}

/* Adds the frame of an address outside of all images. `at` is the address to look up. */
static int answer_unmapped(struct strobe_symbols *s, uint64_t address, uint64_t at)
{
    static const struct strobe_inline nowhere = {.file = ""};
    const struct strobe_code_entry *code = strobe_code_names_find(&s->code, at, UINT64_MAX, NULL);
    char text[24];
    if (code)
        return answer_code(s, code->at, "[jit]");
    snprintf(text, sizeof text, "0x%" PRIx64, address);
    return add_frame(s, function_id(s, IDENTITY_OF_ADDRESS, address, NULL, text), "", &nowhere, address);
}

/* Adds the frames of the address `recorded` in an image. `at` is the address to look up. */
static int answer_in_image(struct strobe_symbols *s, struct strobe_symbol_image *image, uint64_t recorded, uint64_t at)
{
    struct strobe_inline places[STROBE_SYMBOLS_FRAMES_MAX];
    struct strobe_function f = {.start = recorded};
    size_t count = 1;
    uint64_t number = (uint64_t)(image - s->images);
    char text[512];
    places[0] = (struct strobe_inline){.file = ""};
    if (image->state == STROBE_IMAGE_UNUSED && strobe_symbol_image_open(image, s->options) != STROBE_OK) {
        s->failed = true;
        return 0;
    }
    const struct strobe_code_entry *code =
        image->state == STROBE_IMAGE_MISSING ? strobe_code_names_find(&s->code, at, UINT64_MAX, NULL) : NULL;
    if (code)
        return answer_code(s, code->at, image->path);
    if (image->module) {
        strobe_function_at(&image->functions, at, &f);
        count = strobe_symbol_image_places(image, at, (s->options & STROBE_SYMBOLS_INLINES) != 0, places,
                                           STROBE_SYMBOLS_FRAMES_MAX);
    }
    image->addresses++;
    image->unnamed += !f.name;
    /* Outside of functions, each address is a function. Its start may equal the next function's. */
    enum { FUNCTION, INLINED, PLACE, IDENTITIES } what = f.name || f.start != recorded ? FUNCTION : PLACE;
    /* An image without a file is small, and counts as one function. */
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
        s->frames[s->frame_count - 1].is_local = image->module && !f.exported;
    }
    return 1;
}

/* Looks up an address and adds its frames to the pool. */
static int resolve_address(struct strobe_symbols *s, uint64_t address)
{
    int answered;
    uint64_t entry;
    if (strobe_code_of_alias(address, &entry) && answer_code(s, entry, "[jit]"))
        return 1;
    if (answer_from_process(s, address, &answered))
        return answered;
    uint64_t at = address ? address - 1 : address;
    struct strobe_symbol_image *image = image_at(s, at);
    return image ? answer_in_image(s, image, address, at) : answer_unmapped(s, address, at);
}

/* Returns the result of an address, which is looked up on first use. NULL: out of memory. */
static const struct answer *answer_for(struct strobe_symbols *s, uint64_t address)
{
    int fresh;
    uint64_t known_as = s->shared ? shared_address(s, address) : address;
    uint32_t *place = strobe_array_reserve(&s->answers, &s->answer_capacity, s->by_address.count + 1)
                          ? strobe_idmap_put(&s->by_address, known_as, known_as == address ? s->session : 0, &fresh)
                          : NULL;
    if (!place) {
        s->failed = true;
        return NULL;
    }
    if (fresh) {
        uint32_t first = (uint32_t)s->frame_count;
        *place = (uint32_t)s->by_address.count - 1;
        resolve_address(s, known_as);
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
        out[0] = unknown_symbol;
        return 1;
    }
    size_t count = a->count < max ? a->count : max, skipped = a->count - count;
    out[0] = s->frames[a->first];
    for (size_t i = 1; i < count; i++)
        out[i] = s->frames[a->first + skipped + i];
    return count;
}

enum strobe_status strobe_symbols_status(const struct strobe_symbols *s)
{
    return s->failed ? STROBE_IO : STROBE_OK;
}

/* ---- system calls ---- */

enum { CODE_BEFORE = 64, CODE_BEHIND = 8 };

/* Reads the code around a return address, from the begin of its function if that is near. *within is the address's
 * offset in it. Returns 0 if the code cannot be read. */
static int code_around(struct strobe_symbol_image *image, uint64_t address, struct strobe_machine_code *out,
                       size_t *within)
{
    struct strobe_function f;
    uint64_t from = address > CODE_BEFORE ? address - CODE_BEFORE : 0;
    if (strobe_function_at(&image->functions, address - 1, &f) && f.start > from)
        from = f.start;
    out->bytes = strobe_symbol_image_code(image, from, address + CODE_BEHIND, &out->at, &out->machine);
    *within = (size_t)(address - from);
    return out->bytes >= *within;
}

int strobe_symbols_in_syscall(struct strobe_symbols *s, uint64_t address, struct strobe_symbol *out)
{
    uint64_t known_as = s->shared ? shared_address(s, address) : address;
    struct strobe_symbol_image *image = address ? image_at(s, known_as - 1) : NULL;
    const struct answer *function = image ? answer_for(s, address) : NULL;
    struct strobe_machine_code code;
    char text[64];
    size_t within;
    int number;
    if (!function || !function->count || !code_around(image, known_as, &code, &within) ||
        !strobe_syscall_site(&code, within, &number))
        return 0;
    const char *call = strobe_syscall_name(code.machine, number);
    const char *name = s->frames[function->first + function->count - 1].function;
    int is_shown = !strobe_is_engine_library(image->short_name); /* function_tree.h leaves hooks out */
    if (is_shown && (call || number == STROBE_SYSCALL_UNKNOWN) && strobe_syscall_is_named(name, call))
        return 0;
    if (call)
        snprintf(text, sizeof text, "[syscall %s]", call);
    else if (number != STROBE_SYSCALL_UNKNOWN)
        snprintf(text, sizeof text, "[syscall %d]", number);
    else
        snprintf(text, sizeof text, "[syscall]");
    uint32_t id = function_id(s, IDENTITY_OF_SYSCALL, (uint64_t)(number + 1), NULL, text);
    if (id == UINT32_MAX)
        return 0;
    *out = (struct strobe_symbol){.function = s->names[id], .image = "", .file = "", .function_id = id};
    return 1;
}

size_t strobe_symbols_images(struct strobe_symbols *s, const struct strobe_image_report **out)
{
    for (size_t i = 0; i < s->image_count; i++) {
        const struct strobe_symbol_image *m = &s->images[i];
        s->reports[i] = (struct strobe_image_report){m->path, m->state, m->addresses, m->unnamed};
        if (strobe_is_engine_library(m->short_name)) /* its functions are not shown */
            s->reports[i] = (struct strobe_image_report){.path = m->path, .state = STROBE_IMAGE_UNUSED};
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
