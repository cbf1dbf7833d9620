/* Result codes of engine functions. The engine returns errors as values: it does not print, exit or abort because of an
 * error. It aborts only when an invariant is broken. Any context. */
#ifndef STROBE_BASE_STATUS_H
#define STROBE_BASE_STATUS_H

enum strobe_status {
    STROBE_OK = 0,
    STROBE_FULL,        /* a fixed capacity is used up; the place of the loss counts it */
    STROBE_NO_ENTRY,    /* the requested item does not exist */
    STROBE_BAD_INPUT,   /* a file or an argument is not valid */
    STROBE_BAD_VERSION, /* another version of the format wrote the session */
    STROBE_TRUNCATED,   /* the file is shorter than its header states */
    STROBE_EXISTS,      /* the target exists, and the caller did not ask to overwrite it */
    STROBE_IO,          /* a system call failed; errno holds the reason */
    STROBE_UNSUPPORTED, /* this machine or this build cannot do it */
    STROBE_LATE,        /* a thread did not stop in time */
    STROBE_GONE,        /* a thread has ended */
    STROBE_UNREADABLE,  /* memory of the traced program is not readable */
};

/* Returns a lower-case phrase for a status, never NULL. Any context. */
static inline const char *strobe_status_text(enum strobe_status s)
{
    switch (s) {
    case STROBE_OK: return "ok";
    case STROBE_FULL: return "capacity used up";
    case STROBE_NO_ENTRY: return "no such entry";
    case STROBE_BAD_INPUT: return "not a valid input";
    case STROBE_BAD_VERSION: return "another format version";
    case STROBE_TRUNCATED: return "truncated";
    case STROBE_EXISTS: return "exists already";
    case STROBE_IO: return "input/output error";
    case STROBE_UNSUPPORTED: return "not supported here";
    case STROBE_LATE: return "not stopped in time";
    case STROBE_GONE: return "thread has ended";
    case STROBE_UNREADABLE: return "memory not readable";
    }
    return "unknown status";
}

#endif
