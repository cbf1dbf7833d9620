/* Method mapping of an instrumented build: which methods have probes, and by which number a log knows them.
 *
 *   mapping       1,1,com.example.Feed scroll (I)V          id, access flags, class, method, descriptor
 *                 2,257,com.example.Feed nativeDraw         native methods have none
 *                 1048574,1,android.os.Handler dispatchMessage (Landroid.os.Message;)V
 *                 # and empty lines are skipped. Written by id, the dispatch last
 *   ignored       ignore methods:
 *                 com.example.Feed getTitle ()Ljava.lang.String;
 *   black list    -keepclass com/example/Feed               this class, and those within it, get no probes
 *                 -keeppackage com/example/ads/             nor do these
 *                 [package] and other headings, # and empty lines are skipped
 *
 * The pass: a method gets no probes when it has no body, or is of a class on the black list or of those that a build
 * makes itself (R, Manifest, BuildConfig), or is so small that a probe would cost more than it: empty, a getter or
 * setter, without any call. Others get ids from 1 on; with a base mapping those it has keep theirs, and new ones come
 * after its largest.
 *
 * Upstream, otherwise: ids beyond the log's 20 bits are handed out, and such methods never recorded; ours refuses. A
 * name that begins like a class or package of the black list counts as of it (Feeds, as Feed); any file with R$ in
 * its name as one of a build's own. What isn't understood in a black list is skipped; ours refuses.
 *
 * Source: Tencent Matrix 3b8293bd, matrix-gradle-plugin, as studied. Reading half: allocates; not thread-safe. */
#ifndef STROBE_TRACE_IMPORT_MATRIX_MATRIX_MAP_H
#define STROBE_TRACE_IMPORT_MATRIX_MATRIX_MAP_H

#include "engine/base/error.h"
#include "engine/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { STROBE_ACCESS_NATIVE = 0x100, STROBE_ACCESS_ABSTRACT = 0x400 }; /* as class files have them */

struct strobe_matrix_method {
    uint32_t id;
    uint32_t access;
    const char *name; /* "class method desc", or "class method" */
};

struct strobe_matrix_map;

/* An empty mapping, but for the dispatch. NULL: out of memory. */
struct strobe_matrix_map *strobe_matrix_map_open(void);
void strobe_matrix_map_close(struct strobe_matrix_map *m); /* NULL is fine */

/* Reads a mapping. STROBE_IO, or STROBE_BAD_INPUT with `FILE:LINE: expected ...` in `error`; *out is NULL then. */
enum strobe_status strobe_matrix_map_read(const char *path, struct strobe_matrix_map **out, struct strobe_error *error);

/* The same of text in memory; `path` is what errors call it. */
enum strobe_status strobe_matrix_map_parse(const char *text, size_t bytes, const char *path,
                                           struct strobe_matrix_map **out, struct strobe_error *error);

/* Writes a mapping; see outfile.h for `replace`, and for what happens to the file. */
enum strobe_status strobe_matrix_map_write(const struct strobe_matrix_map *m, const char *path, int replace);

/* Methods by number 0 .. count - 1, in the order in which they came, the dispatch among them. */
size_t strobe_matrix_map_count(const struct strobe_matrix_map *m);
const struct strobe_matrix_method *strobe_matrix_map_at(const struct strobe_matrix_map *m, size_t number);

/* The method of an id, or NULL. */
const struct strobe_matrix_method *strobe_matrix_map_of(const struct strobe_matrix_map *m, uint32_t id);

/* The id of "class method desc", with dots; a method that isn't there gets the next one. STROBE_FULL: there is none.
 * STROBE_IO: out of memory, and the mapping is good for nothing but closing. */
enum strobe_status strobe_matrix_map_id(struct strobe_matrix_map *m, uint32_t access, const char *name, uint32_t *id);

/* ---- black lists */

struct strobe_matrix_blacklist;

/* The one that every build has: android, com.tencent.matrix. NULL: out of memory. */
struct strobe_matrix_blacklist *strobe_matrix_blacklist_open(void);
void strobe_matrix_blacklist_close(struct strobe_matrix_blacklist *l); /* NULL is fine */

/* Adds those of a text. Errors as above; what came before the line at fault has been added. */
enum strobe_status strobe_matrix_blacklist_parse(struct strobe_matrix_blacklist *l, const char *text, size_t bytes,
                                                 const char *path, struct strobe_error *error);

bool strobe_matrix_blacklist_has(const struct strobe_matrix_blacklist *l, const char *class_name);

/* ---- the pass */

/* A method of the build. Names with dots or slashes; what its body holds, as its byte code says. */
struct strobe_matrix_candidate {
    const char *class_name, *method, *desc; /* desc may be NULL */
    uint32_t access;
    bool class_is_abstract; /* or an interface */
    uint32_t ops;           /* instructions */
    uint32_t plain_ops;     /* of those: loads, constants, fields, returns: what accessors are made of */
    uint32_t calls;
    uint32_t special_calls; /* of those: of constructors, private methods, the superclass's */
};

enum strobe_matrix_verdict {
    STROBE_MATRIX_TRACED,
    STROBE_MATRIX_NO_BODY,   /* abstract, native, or of an abstract class */
    STROBE_MATRIX_LISTED,    /* its class or package is on the black list */
    STROBE_MATRIX_GENERATED, /* R, Manifest, BuildConfig */
    STROBE_MATRIX_EMPTY,
    STROBE_MATRIX_ACCESSOR,
    STROBE_MATRIX_CALLS_NOTHING,
    STROBE_MATRIX_VERDICTS
};

enum strobe_matrix_verdict strobe_matrix_judge(const struct strobe_matrix_blacklist *l,
                                               const struct strobe_matrix_candidate *c);

/* Gives the methods that are worth it ids, in their order; ids[i] is 0 for the others. `m`: empty, or the base
 * mapping; gets what is new. A method that is there twice has one id. STROBE_IO: out of memory. STROBE_FULL: there
 * are more than the log has ids for; `error` says at which it ran out. */
enum strobe_status strobe_matrix_assign(struct strobe_matrix_map *m, const struct strobe_matrix_blacklist *l,
                                        const struct strobe_matrix_candidate *candidates, size_t count, uint32_t *ids,
                                        struct strobe_error *error);

/* Writes the file of those that have none (ids[i] = 0), by class. */
enum strobe_status strobe_matrix_ignored_write(const struct strobe_matrix_candidate *candidates, size_t count,
                                               const uint32_t *ids, const char *path, int replace);

#endif
