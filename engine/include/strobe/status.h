/* Result codes and error texts of Strobe's functions.
 *
 * Functions return errors as values. They do not print, exit or abort because of an error. A function that can fail for
 * a reason that is worth a sentence takes a `struct strobe_error *` as its last parameter.
 *
 * C11 and C++. Part of the public API: values never change, new ones are added at the end. */
#ifndef STROBE_INCLUDE_STROBE_STATUS_H
#define STROBE_INCLUDE_STROBE_STATUS_H

/* The functions of the public headers. The libraries export nothing else. */
#define STROBE_API __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

enum strobe_status {
    STROBE_OK = 0,
    STROBE_FULL,        /* a fixed capacity is used up. A function of the capture that loses an item counts the loss */
    STROBE_NO_ENTRY,    /* the requested item does not exist */
    STROBE_BAD_INPUT,   /* a file or an argument is not valid */
    STROBE_BAD_VERSION, /* another version of the format wrote the session */
    STROBE_TRUNCATED,   /* the file is shorter than its header states */
    STROBE_EXISTS,      /* the target exists, and the caller did not ask to overwrite it */
    STROBE_IO,          /* a system call failed; errno holds the reason */
    STROBE_UNSUPPORTED, /* this machine or this build cannot do it */
    STROBE_LATE,        /* a thread did not stop, or did not leave the engine, in time */
    STROBE_GONE,        /* a thread has ended */
    STROBE_UNREADABLE,  /* memory of the traced program is not readable */
    STROBE_NO_MEMORY,   /* out of memory */
    STROBE_WOULD_BLOCK, /* the call would have to wait for another call that is in progress */
};

/* Returns a lower-case phrase for a status, never NULL. Any thread, also in a signal handler. */
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
    case STROBE_NO_MEMORY: return "out of memory";
    case STROBE_WOULD_BLOCK: return "would block";
    }
    return "unknown status";
}

enum { STROBE_ERROR_BYTES = 1024 };

/* The text of an error: one line for a person, beside the status code for the program. The text names the file, the
 * place and what was expected. It has no line end. The caller owns the object; a failing function sets the text. The
 * text has no meaning after a success. NULL instead of an object: the caller does not want the text. */
struct strobe_error {
    char text[STROBE_ERROR_BYTES]; /* ends with NUL; "" = no text. A text that is too long is cut */
};

#ifdef __cplusplus
}
#endif

#endif
