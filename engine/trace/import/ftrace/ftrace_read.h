/* Reads ftrace text (see ftrace_line.h), as Android's atrace, systrace and RheaTrace 1.0's processor write it.
 *
 * From events tracing_mark_write and print:
 *
 *   B|pid|name   E|pid   E|   E          a call's begin, and the end of the innermost call begun this way
 *   B|pid|B:name  B|pid|E:name  B|pid|T:name     RheaTrace's markers: BEGIN, END and THROW of `name`
 *   C|pid|name|value                     a counter
 *   S|pid|name|cookie  F|pid|name|cookie     an asynchronous slice
 *   I|pid|name                           an instant
 *
 * Names may contain any character except a line end, also `|`: the value or cookie comes after the last `|`.
 * RheaTrace's markers are detected by their E: and T: markers. If a file has none, B: is part of names, unless option
 * `marks` says otherwise. From android_fs_dataread_start and _end, and datawrite: a call `read: FILE,offset: N, size:
 * N`, or `write: ...`, with the complete name of the file (RheaTrace's own script removes letters at both of its ends).
 *
 * A stream is of one process: option `pid`, or the process with the most markers. A thread belongs to the process that
 * its first marker names, else to its tgid. Other contents are ignored and counted: comments, other events, markers of
 * other kinds, other processes. Events that are left out are also counted by kind. Incomplete markers are left out and
 * counted. So is a last line without a line end, because it may be truncated. An event that goes back in time gets the
 * time of the previous event of its thread; nothing is sorted.
 *
 * Calls are not repaired (calls_repair.h). Sources: RheaTrace btrace v1.0.1 and Android's atrace, as studied. */
#ifndef STROBE_TRACE_IMPORT_FTRACE_FTRACE_READ_H
#define STROBE_TRACE_IMPORT_FTRACE_FTRACE_READ_H

#include "engine/base/error.h"
#include "engine/base/status.h"
#include "engine/trace/import/ftrace/ftrace_kinds.h"
#include "engine/trace/model/calls.h"

enum strobe_ftrace_marks { STROBE_FTRACE_AUTO, STROBE_FTRACE_PLAIN, STROBE_FTRACE_RHEA };

struct strobe_ftrace_options {
    enum strobe_ftrace_marks marks;
    uint32_t pid;                         /* 0 = the process with the most marks */
    struct strobe_ftrace_kinds *left_out; /* counts the events that are not read; NULL = not wanted */
};

struct strobe_ftrace_stats {
    uint64_t lines;   /* all lines */
    uint64_t marks;   /* markers read, of any process */
    uint64_t io;      /* begins and ends of file reads and writes */
    uint64_t ignored; /* comments, other events, markers of other kinds */
    uint64_t broken;  /* incomplete markers; line of the first in first_broken */
    uint64_t first_broken;
    uint64_t cut;             /* 1: the last line has no line end */
    uint64_t orphans;         /* ends without an open call, also of reads and writes: left out */
    uint64_t unordered;       /* events that went back in time */
    uint64_t other_processes; /* markers of other processes, left out */
    bool rhea;                /* RheaTrace's markers were interpreted */
};

/* Reads `bytes` of text into *out, which it opens; close it in any case. STROBE_BAD_INPUT: no line is in ftrace's form,
 * or no marker is of the selected process. STROBE_IO: out of memory. `error` gets one line, without the file's name:
 * the place, and what was expected there. `stats` may be NULL. Allocates. */
enum strobe_status strobe_ftrace_read(const char *text, size_t bytes, const struct strobe_ftrace_options *options,
                                      struct strobe_calls *out, struct strobe_ftrace_stats *stats,
                                      struct strobe_error *error);

/* Returns true for an event that strobe_ftrace_read takes as a call, a counter or the like. */
bool strobe_ftrace_is_read(const struct strobe_ftrace_line *line);

/* Returns true for a marker E: or T: of RheaTrace, by which a text is known to have markers of RheaTrace. */
bool strobe_ftrace_is_rhea(const struct strobe_ftrace_line *line);

#endif
