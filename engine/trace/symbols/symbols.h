/* Resolves the addresses of a session to image, function, file and line, with elfutils' libdwfl and the files that the
 * session's image table names. Each distinct address is looked up once. Sources, in this order:
 *
 *   1. the traced process's own name for exactly this address (store/names.h)
 *   2. the file of the image that contains the address: debug information, the symbol table, the compressed mini symbol
 *      table (.gnu_debugdata), dynamic symbols
 *   3. for a function of an image without a name, the start from its call frame entry (.eh_frame), so that the
 *      addresses of one nameless function stay together
 *   4. for an address outside of images, or in an image whose file does not exist, the session's names of generated
 *      machine code (code_names.h). Code of equal names is one function, because a runtime compiles a function several
 *      times
 *
 * Debug files are searched on this machine only; nothing is fetched from the network.
 *
 * Reading half: allocates. One symbols object is used by one thread at a time. */
#ifndef STROBE_TRACE_SYMBOLS_SYMBOLS_H
#define STROBE_TRACE_SYMBOLS_SYMBOLS_H

#include "engine/base/status.h"
#include "engine/store/session.h"

#include <stddef.h>
#include <stdint.h>

enum {
    STROBE_SYMBOLS_INLINES = 1,  /* also one frame per inlined call */
    STROBE_SYMBOLS_MANGLED = 2,  /* mangled names */
    STROBE_SYMBOLS_NO_LINES = 4, /* without file and line: faster */
};

enum { STROBE_SYMBOLS_FRAMES_MAX = 32 };

/* All strings belong to the symbols object, are valid as long as it is, and are never NULL. */
struct strobe_symbol {
    const char *function;      /* demangled name; or placeholder: "libfoo.so+0x1234" with the address in the file,
                                * "0x7f12..." outside of all files, "[vdso]" when that
                                * is another kernel's (S-57) */
    const char *image;         /* path as recorded; "[jit]" for generated code that has a name, outside of images; ""
                                * when no image holds the address */
    const char *file;          /* source file, "" when unknown */
    uint32_t line;             /* 0 when unknown */
    uint32_t function_id;      /* dense from 0: one per distinct (image, function start, inline identity) (S-59); of
                                * generated code one per name */
    uint64_t function_address; /* start of the function as loaded; the address itself when unknown */
    int is_local;              /* the image is known not to export the function */
};

/* The result of opening one image of the session. */
enum strobe_image_state {
    STROBE_IMAGE_UNUSED, /* none of its addresses was looked up yet */
    STROBE_IMAGE_DEBUG,  /* debug information was found */
    STROBE_IMAGE_SYMTAB, /* a full or mini symbol table, but no debug information */
    STROBE_IMAGE_DYNSYM, /* exported names only */
    STROBE_IMAGE_NO_SYMBOLS,
    STROBE_IMAGE_CHANGED, /* the file is not the recorded one, and is not used */
    STROBE_IMAGE_MISSING, /* the file does not exist or cannot be read */
    STROBE_IMAGE_NO_FILE, /* not a file: [vdso] and similar */
};

struct strobe_image_report {
    const char *path;
    enum strobe_image_state state;
    uint64_t addresses; /* distinct addresses looked up */
    uint64_t unnamed;   /* of these, addresses that got a placeholder */
};

struct strobe_symbols;

/* Prepares lookups for a session, which must stay mapped as long as *out exists. A missing or changed file is not an
 * error: its addresses get placeholders. STROBE_IO: out of memory. */
enum strobe_status strobe_symbols_open(const struct strobe_session *session, unsigned options,
                                       struct strobe_symbols **out);

/* Prepares lookups for several sessions, one after the other. strobe_symbols_enter selects the session. Each file is
 * opened once, and each of its functions has one id in all processes, wherever the file was loaded. */
enum strobe_status strobe_symbols_open_shared(unsigned options, struct strobe_symbols **out);

/* Selects the session whose addresses are looked up. It must stay mapped until the next call or until close. STROBE_IO:
 * out of memory. */
enum strobe_status strobe_symbols_enter(struct strobe_symbols *symbols, const struct strobe_session *session);

void strobe_symbols_close(struct strobe_symbols *symbols);

/* Returns the frames of a call by its return address, outermost first: the function and, with STROBE_SYMBOLS_INLINES,
 * the functions inlined there. If these are more than `max` (at most STROBE_SYMBOLS_FRAMES_MAX), the function and the
 * innermost of the others. The lookup uses the byte before the address, so that a call at the end of a function is not
 * attributed to the next function. Returns the number of frames, at least 1 for max >= 1. */
size_t strobe_symbols_resolve(struct strobe_symbols *symbols, uint64_t return_address, struct strobe_symbol *out,
                              size_t max);

/* STROBE_IO: an allocation failed during a lookup; frames returned since then may lack names. */
enum strobe_status strobe_symbols_status(const struct strobe_symbols *symbols);

/* Returns 1 if a thread whose stack ends with this return address was in a system call (syscall_site.h) that the name
 * of its function does not state; the name `read` does. *out is then the name to show in the function:
 * "[syscall futex]", or "[syscall]" if the call's number is unknown. */
int strobe_symbols_in_syscall(struct strobe_symbols *symbols, uint64_t return_address, struct strobe_symbol *out);

/* Returns the images of the session with their state, in the session's order. Returns their count; *out is valid until
 * the next call on `symbols`. */
size_t strobe_symbols_images(struct strobe_symbols *symbols, const struct strobe_image_report **out);

/* Returns a lower-case phrase for an image's state. Never NULL. */
const char *strobe_image_state_text(enum strobe_image_state state);

#endif
