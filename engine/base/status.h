/* Outcomes of engine calls. Errors are values: nothing in the engine prints, exits or aborts on
 * them; only a broken invariant aborts. Any context. */
#ifndef STROBE_BASE_STATUS_H
#define STROBE_BASE_STATUS_H

enum strobe_status {
    STROBE_OK = 0,
    STROBE_FULL,         /* a fixed capacity is used up; the loss is counted where it happened */
    STROBE_NO_ENTRY,     /* the thing asked for is not there */
    STROBE_BAD_INPUT,    /* a file or argument is not what it must be */
    STROBE_BAD_VERSION,  /* a session written by another version of the format */
    STROBE_TRUNCATED,    /* a file ends before what its header promises */
    STROBE_EXISTS,       /* would overwrite, and was not asked to */
    STROBE_IO,           /* the system refused; errno tells why */
    STROBE_UNSUPPORTED,  /* this machine or build cannot do it */
    STROBE_LATE,         /* a thread could not be stopped in time */
    STROBE_GONE,         /* a thread has ended */
    STROBE_UNREADABLE,   /* memory of the traced program could not be read */
};

/* One lower-case phrase for a status, never NULL. Any context. */
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
