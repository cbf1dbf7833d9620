/* Reads ftrace text (see ftrace_line.h): what Android's atrace and systrace write, what RheaTrace 1.0's processor
 * makes.
 *
 * From events tracing_mark_write and print:
 *
 *   B|pid|name   E|pid   E|   E          a call's begin, and its end: of the innermost that was begun so
 *   B|pid|B:name  B|pid|E:name  B|pid|T:name     RheaTrace's marks: BEGIN, END and THROW of `name`
 *   C|pid|name|value                     a counter
 *   S|pid|name|cookie  F|pid|name|cookie     an asynchronous slice
 *   I|pid|name                           an instant
 *
 * Names may hold any character but a line's end, `|` too: what stands behind it is told by the last one. RheaTrace's
 * marks are known by their E: and T: marks: where a file has none, B: is part of names (or option `marks` says).
 * From android_fs_dataread_start and _end, and datawrite: a call `read: FILE,offset: N, size: N`, or `write: ...`, with
 * the file's name whole (RheaTrace's own script eats letters at both of its ends).
 *
 * A stream is of one process: option `pid`, or the one with the most marks. A thread belongs to the process its first
 * mark names, else to its tgid. What else the file holds is ignored, and counted: comments, other events, marks of
 * other kinds, other processes. Marks that lack what they need, and a last line that has no end and so may be cut, are
 * left out and counted. Events that go back in time get the time of the one before on their thread; nothing is sorted.
 *
 * Calls are as told: repair them (calls_repair.h). Facts: RheaTrace btrace v1.0.1 and Android's atrace, as studied. */
#ifndef STROBE_TRACE_IMPORT_FTRACE_FTRACE_READ_H
#define STROBE_TRACE_IMPORT_FTRACE_FTRACE_READ_H

#include "engine/base/error.h"
#include "engine/base/status.h"
#include "engine/trace/model/calls.h"

enum strobe_ftrace_marks { STROBE_FTRACE_AUTO, STROBE_FTRACE_PLAIN, STROBE_FTRACE_RHEA };

struct strobe_ftrace_options {
    enum strobe_ftrace_marks marks;
    uint32_t pid; /* 0 = the process with the most marks */
};

struct strobe_ftrace_stats {
    uint64_t lines;   /* all of them, and: */
    uint64_t marks;   /* understood, of any process */
    uint64_t io;      /* begins and ends of reads and writes of files */
    uint64_t ignored; /* comments, other events, marks of other kinds */
    uint64_t broken;  /* marks that lack what they need; the first in line */
    uint64_t first_broken;
    uint64_t cut;             /* 1: the last line has no end */
    uint64_t orphans;         /* ends without a name when nothing was open, reads' and writes' likewise: left out */
    uint64_t unordered;       /* events that went back in time */
    uint64_t other_processes; /* of marks: those of processes left out */
    bool rhea;                /* RheaTrace's marks were taken as such */
};

/* Reads `bytes` of text into *out, which it opens; close it in any case. STROBE_BAD_INPUT: no line of it is ftrace's,
 * or no mark is of the process asked for; STROBE_IO: out of memory. `error` gets one line, without the file's name:
 * what was expected where. `stats` may be NULL. Allocates. */
enum strobe_status strobe_ftrace_read(const char *text, size_t bytes, const struct strobe_ftrace_options *options,
                                      struct strobe_calls *out, struct strobe_ftrace_stats *stats,
                                      struct strobe_error *error);

#endif
