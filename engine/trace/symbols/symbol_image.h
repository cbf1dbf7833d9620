/* One loaded file of a session. It is opened for symbol lookups at the first lookup of one of its addresses. Part of
 * symbols.h; reading half: allocates. One thread at a time. */
#ifndef STROBE_TRACE_SYMBOLS_SYMBOL_IMAGE_H
#define STROBE_TRACE_SYMBOLS_SYMBOL_IMAGE_H

#include "engine/trace/symbols/function_index.h"
#include "engine/trace/symbols/symbols.h"
#include "engine/trace/symbols/unit_index.h"
#include "engine/util/text_pool.h"

struct strobe_symbol_image {
    char *path;             /* as recorded */
    const char *short_name; /* last part of the path */
    uint64_t start, end, bias;
    uint8_t build_id[STROBE_BUILD_ID_BYTES];
    uint32_t build_id_bytes;
    uint64_t captured_ns; /* wall-clock time at which the session began */
    enum strobe_image_state state;
    Dwfl *dwfl;
    Dwfl_Module *module; /* NULL unless the recorded file was found */
    struct strobe_function_index functions;
    struct strobe_unit_index units; /* empty unless has_lines */
    int has_lines;
    uint64_t addresses, unnamed;
    struct strobe_text_pool externals; /* names of inlined functions of external linkage */
};

/* A function inlined at an address, or the source location in the function itself. */
struct strobe_inline {
    const char *name;  /* mangled; NULL for the function itself */
    uint64_t identity; /* of the inlined function; the same at all places of the image where it is inlined */
    const char *file;  /* source file; "" = unknown */
    uint32_t line;
};

/* Opens the image's file and checks that it is the recorded one. The result is in ->state. Call it once per image. */
enum strobe_status strobe_symbol_image_open(struct strobe_symbol_image *image, unsigned options);

void strobe_symbol_image_close(struct strobe_symbol_image *image);

/* Returns the source locations at `address`, innermost first and the function itself last: at least one entry, at most
 * `max`. There is more than one only if `inlines` is set and debug information exists. */
size_t strobe_symbol_image_places(struct strobe_symbol_image *image, uint64_t address, int inlines,
                                  struct strobe_inline *out, size_t max);

/* Returns the file's code at the loaded addresses [from, to), or the part of it from `from` on that one segment
 * contains. The code belongs to the image. *machine is e_machine of ELF. Returns 0 if there is no file, or no code at
 * `from`. */
size_t strobe_symbol_image_code(struct strobe_symbol_image *image, uint64_t from, uint64_t to, const uint8_t **code,
                                unsigned *machine);

#endif
