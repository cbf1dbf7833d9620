/* JSON lines (https://jsonlines.org): one JSON object a line, for data bases that compare many captures. The section
 * "Many captures" of engine/trace/README.md describes the lines and their fields.
 *
 * Each line begins with its kind and the labels of its capture. All lines of a kind have the same fields in the same
 * order; a field without a value is null. Times are ns since the session's begin. Equal sessions give equal bytes.
 *
 * The sink writes lines of the kinds slice, sample, wait and section. Its caller writes the others (capture, finding)
 * by the functions below.
 *
 * Memory: the function tree, and one path of open slices. Allocates; not
 * thread-safe. Reading half only. */
#ifndef STROBE_TRACE_EXPORT_JSONL_SINK_JSONL_H
#define STROBE_TRACE_EXPORT_JSONL_SINK_JSONL_H

#include "engine/trace/model/sink.h"
#include "engine/util/outfile.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Kinds of lines, as bits. */
enum strobe_jsonl_kind {
    STROBE_JSONL_CAPTURE = 1,
    STROBE_JSONL_SLICE = 2,
    STROBE_JSONL_SAMPLE = 4,
    STROBE_JSONL_WAIT = 8,
    STROBE_JSONL_SECTION = 16,
    STROBE_JSONL_FINDING = 32,
    STROBE_JSONL_ALL = 63
};
enum { STROBE_JSONL_KINDS = 6 };

/* Names of the kinds, by the number of their bit. */
extern const char *const strobe_jsonl_kind_name[STROBE_JSONL_KINDS];

/* A label: a field that all lines of a capture have. A value of NULL is null. */
struct strobe_jsonl_label {
    const char *key, *value;
};

/* The output, and what all lines of the current capture have in common. */
struct strobe_jsonl {
    struct strobe_outfile *out;
    const struct strobe_jsonl_label *labels;
    size_t label_count;
    uint32_t pid;
    uint64_t begin_ns; /* of the session: the origin of times */
};

/* Begins a line: its kind, the labels, the pid. Each field then adds itself, and strobe_jsonl_end ends the line. */
void strobe_jsonl_begin(struct strobe_jsonl *j, enum strobe_jsonl_kind kind);
void strobe_jsonl_end(struct strobe_jsonl *j);

void strobe_jsonl_text(struct strobe_jsonl *j, const char *key, const char *text); /* NULL gives null */
void strobe_jsonl_number(struct strobe_jsonl *j, const char *key, uint64_t number);
void strobe_jsonl_bool(struct strobe_jsonl *j, const char *key, bool value);
void strobe_jsonl_null(struct strobe_jsonl *j, const char *key);

/* Writes a time of the timeline as ns since the session's begin. */
void strobe_jsonl_time(struct strobe_jsonl *j, const char *key, uint64_t time_ns);

/* Writes the key of a value that the caller writes itself. */
void strobe_jsonl_key(struct strobe_jsonl *j, const char *key);

/* Writes a number without a key; one that is not finite is null. */
void strobe_jsonl_real(struct strobe_jsonl *j, double value);

/* Returns a sink that writes the lines of one session of the kinds in `kinds` (bits of enum strobe_jsonl_kind). `j`
 * must outlive it. The sink's finish frees it. NULL: out of memory. */
struct strobe_sink *strobe_sink_jsonl(struct strobe_jsonl *j, unsigned kinds);

#endif
