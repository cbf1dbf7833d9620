/* One loaded file of a session, opened for symbol lookups when the first address of it is asked for.
 * Part of symbols.h; reading half: allocates. One thread at a time. */
#ifndef STROBE_TRACE_SYMBOLS_SYMBOL_IMAGE_H
#define STROBE_TRACE_SYMBOLS_SYMBOL_IMAGE_H

#include "engine/trace/symbols/function_index.h"
#include "engine/trace/symbols/symbols.h"
#include "engine/trace/symbols/unit_index.h"
#include "engine/util/text_pool.h"

struct strobe_symbol_image {
    char *path;             /* as recorded */
    const char *short_name; /* its last part */
    uint64_t start, end, bias;
    uint8_t build_id[STROBE_BUILD_ID_BYTES];
    uint32_t build_id_bytes;
    uint64_t captured_ns; /* wall-clock time at which the session began */
    enum strobe_image_state state;
    Dwfl *dwfl;
    Dwfl_Module *module; /* NULL unless the file was found unchanged */
    struct strobe_function_index functions;
    struct strobe_unit_index units; /* empty unless has_lines */
    int has_lines;
    uint64_t addresses, unnamed;
    struct strobe_text_pool externals; /* names of inlined functions that the whole program shares */
};

/* A function inlined at an address, or the place in the function itself. */
struct strobe_inline {
    const char *name;  /* as the linker sees it; NULL for the function itself */
    uint64_t identity; /* one for each function inlined in this image, in however many places */
    const char *file;  /* where it stood: "" when unknown */
    uint32_t line;
};

/* Opens the image's file and checks that it is the recorded one; the outcome is in ->state. Once per image. */
enum strobe_status strobe_symbol_image_open(struct strobe_symbol_image *image, unsigned options);

void strobe_symbol_image_close(struct strobe_symbol_image *image);

/* What stood at `address`, innermost first, the function itself last: at least one entry, `max` at most. More than
 * one only when `inlines` is set and there is debug information. */
size_t strobe_symbol_image_places(struct strobe_symbol_image *image, uint64_t address, int inlines,
                                  struct strobe_inline *out, size_t max);

/* The code of the file at the loaded addresses [from, to), or of as much from `from` on as one of its segments has. It
 * belongs to the image. *machine is e_machine of ELF. Returns 0 when the file is not there, or nothing is at `from`. */
size_t strobe_symbol_image_code(struct strobe_symbol_image *image, uint64_t from, uint64_t to, const uint8_t **code,
                                unsigned *machine);

#endif
