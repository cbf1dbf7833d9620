/* Names for the addresses of a session: image, function, file and line, by elfutils' libdwfl, from the files that the
 * session's image table names. Each distinct address is looked up once.
 *
 * What is used, in this order: debug information, the symbol table, the compressed mini symbol table
 * (.gnu_debugdata), dynamic symbols; where a function has no name at all, the start that its call frame
 * entry (.eh_frame) gives, so that addresses of one nameless function still belong together. Debug files
 * are looked for on this machine only; nothing is fetched from the network. Before all of these comes what the traced
 * process itself has told (store/names.h): a name for exactly that address, which is in no image. After the images come
 * the names of generated machine code that the session holds (code_names.h); code of equal names is one function,
 * since a runtime compiles a function several times.
 *
 * Reading half: allocates. One symbols object is used by one thread at a time. */
#ifndef STROBE_TRACE_SYMBOLS_SYMBOLS_H
#define STROBE_TRACE_SYMBOLS_SYMBOLS_H

#include "engine/base/status.h"
#include "engine/store/session.h"

#include <stddef.h>
#include <stdint.h>

enum {
    STROBE_SYMBOLS_INLINES = 1,  /* one frame per inlined call as well */
    STROBE_SYMBOLS_MANGLED = 2,  /* names as the linker sees them */
    STROBE_SYMBOLS_NO_LINES = 4, /* no file and line: faster, and less is read */
};

enum { STROBE_SYMBOLS_FRAMES_MAX = 32 };

/* All strings belong to the symbols object, live as long as it does, and are never NULL. */
struct strobe_symbol {
    const char *function;      /* demangled name; or placeholder: "libfoo.so+0x1234" with the address in the file,
                                * "0x7f12..." outside of all files, "[vdso]" when that
                                * is another kernel's (S-57) */
    const char *image;         /* path as recorded; "[jit]" for generated code that has a name; "" when no image holds
                                * the address */
    const char *file;          /* source file, "" when unknown */
    uint32_t line;             /* 0 when unknown */
    uint32_t function_id;      /* dense from 0: one per distinct (image, function start, inline identity) (S-59); of
                                * generated code one per name */
    uint64_t function_address; /* start of the function as loaded; the address itself when unknown */
    int is_local;              /* known not to be exported by its image */
};

/* What became of one image of the session. */
enum strobe_image_state {
    STROBE_IMAGE_UNUSED, /* no address of it was asked for yet */
    STROBE_IMAGE_DEBUG,  /* debug information was found */
    STROBE_IMAGE_SYMTAB, /* a symbol table, whole or mini, but no debug information */
    STROBE_IMAGE_DYNSYM, /* exported names only */
    STROBE_IMAGE_NO_SYMBOLS,
    STROBE_IMAGE_CHANGED, /* the file is not the one that was recorded: not used */
    STROBE_IMAGE_MISSING, /* the file is gone, or can't be read */
    STROBE_IMAGE_NO_FILE, /* never was a file: [vdso] and the like */
};

struct strobe_image_report {
    const char *path;
    enum strobe_image_state state;
    uint64_t addresses; /* distinct addresses asked for */
    uint64_t unnamed;   /* of these, how many got a placeholder */
};

struct strobe_symbols;

/* Prepares lookups for a session, which must stay mapped as long as *out lives. A missing or changed file is no error:
 * its addresses get placeholders. STROBE_IO: out of memory. */
enum strobe_status strobe_symbols_open(const struct strobe_session *session, unsigned options,
                                       struct strobe_symbols **out);

/* The same for several sessions, one after the other: strobe_symbols_enter says whose addresses are asked for. Each
 * file is opened once, and a function of it has one id, however many processes had it loaded and wherever. */
enum strobe_status strobe_symbols_open_shared(unsigned options, struct strobe_symbols **out);

/* `session` must stay mapped until the next call, or close. STROBE_IO: out of memory. */
enum strobe_status strobe_symbols_enter(struct strobe_symbols *symbols, const struct strobe_session *session);

void strobe_symbols_close(struct strobe_symbols *symbols);

/* Frames of a call by its return address, outermost first: the function, and with STROBE_SYMBOLS_INLINES what was
 * inlined there; when that is more than `max` (at most STROBE_SYMBOLS_FRAMES_MAX), the function and the innermost of
 * the others. Looked up one byte before, so that a call that ends a function is not taken for its neighbour. Returns
 * how many; at least 1 for max >= 1. */
size_t strobe_symbols_resolve(struct strobe_symbols *symbols, uint64_t return_address, struct strobe_symbol *out,
                              size_t max);

/* Whether a thread whose stack ends with this return address was in a system call (syscall_site.h) that the name of its
 * function does not say; the name `read` does. *out is then what to show in the function: "[syscall futex]", or
 * "[syscall]" when the number of the call is not known. */
int strobe_symbols_in_syscall(struct strobe_symbols *symbols, uint64_t return_address, struct strobe_symbol *out);

/* The images of the session, and what became of each, in the session's order. Returns their count; *out lives until the
 * next call on `symbols`. */
size_t strobe_symbols_images(struct strobe_symbols *symbols, const struct strobe_image_report **out);

/* One lower-case phrase for an image's state, never NULL. */
const char *strobe_image_state_text(enum strobe_image_state state);

#endif
