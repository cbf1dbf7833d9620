/* The text forms of ftrace's events, and the fields of Perfetto's messages for them. One event may have several forms,
 * because kernels and trace-cmd print it differently; the first that fits counts.
 *
 * In a form, a blank stands for one or more blanks or tabs. `%` begins a value: the number of its field (0 = none; the
 * value is only skipped), and a letter:
 *
 *   d  decimal number, may be negative      u  decimal number
 *   x  hexadecimal number, 0x optional      v  device `major,minor`
 *   s  text, up to what follows             p  the same, for long texts
 *   f  text: a function of the kernel       t  a task's state, such as `S`, `R+`, `D|K`
 *   h  `handled` or `unhandled`             b  `begin` or `end`
 *   m  kind of a memory event               r  kind of resident memory
 *
 * Everything else is itself. A form may fit the begin of a text, if a blank follows: newer kernels append fields.
 *
 * Sources: TP_printk of the events in the kernel's include/trace/events and in Android's kernel; trace-cmd's plugins
 * for the sched events; field numbers from Perfetto's protos/perfetto/trace/ftrace. Any context. */
#ifndef STROBE_TRACE_IMPORT_FTRACE_FTRACE_FORMS_H
#define STROBE_TRACE_IMPORT_FTRACE_FTRACE_FORMS_H

#include "engine/trace/import/ftrace/ftrace_line.h"

enum {
    STROBE_FTRACE_PRINT = 3,
    STROBE_FTRACE_SCHED_SWITCH = 4,
    STROBE_FTRACE_SCHED_WAKEUP = 17,
    STROBE_FTRACE_SCHED_BLOCKED_REASON = 18,
    STROBE_FTRACE_SCHED_WAKING = 20,
    STROBE_FTRACE_SCHED_WAKEUP_NEW = 114,
    STROBE_FTRACE_TASK_RENAME = 236,
    STROBE_FTRACE_GENERIC = 327,
};

struct strobe_ftrace_form {
    const char *event;
    uint32_t field; /* of the event's message in Perfetto's FtraceEvent */
    const char *form;
};

/* Forms of one event follow one another. */
extern const struct strobe_ftrace_form strobe_ftrace_forms[];
extern const size_t strobe_ftrace_form_count;

enum { STROBE_FTRACE_VALUES_MAX = 10 };

struct strobe_ftrace_value {
    uint32_t field;
    char type;       /* the letter */
    uint64_t number; /* of types other than s, p, f and t; a negative number as two's complement */
    struct strobe_ftrace_text text;
};

struct strobe_ftrace_values {
    struct strobe_ftrace_value at[STROBE_FTRACE_VALUES_MAX];
    size_t count;
};

/* Reads the values of `text` by the form. Returns false if it does not fit. */
bool strobe_ftrace_match(const char *form, struct strobe_ftrace_text text, struct strobe_ftrace_values *out);

/* Returns the value of a field, or NULL. */
const struct strobe_ftrace_value *strobe_ftrace_value(const struct strobe_ftrace_values *values, uint32_t field);

#endif
