/* Reads the tables of a Firefox profile row by row, in both of its forms: a column for each field (processed), or rows
 * and a schema (raw). Any thread. Reading half only. */
#ifndef STROBE_TRACE_IMPORT_GECKO_GECKO_TABLE_H
#define STROBE_TRACE_IMPORT_GECKO_GECKO_TABLE_H

#include "engine/util/json_read.h"

#include <stdbool.h>
#include <stddef.h>

enum { GECKO_FIELDS_MAX = 4 };

struct strobe_gecko_table {
    unsigned fields;
    bool raw;
    bool has[GECKO_FIELDS_MAX];
    struct strobe_json_in column[GECKO_FIELDS_MAX]; /* processed: the rest of each column */
    size_t index[GECKO_FIELDS_MAX];                 /* raw: the place of each field in a row */
    struct strobe_json_in rows;                     /* raw: the rest of the rows */
    struct strobe_json_in cell[GECKO_FIELDS_MAX];   /* of the current row, where `has` and `filled` */
    bool filled[GECKO_FIELDS_MAX];
};

/* Opens the table whose value is at `json`. False: it is no table. A field that it lacks has `has` false. */
bool strobe_gecko_table_open(struct strobe_gecko_table *t, struct strobe_json_in json, const char *const *fields,
                             unsigned count);

/* Moves to the next row. False at the end, or at damage. */
bool strobe_gecko_table_next(struct strobe_gecko_table *t);

/* Takes a number of the current row. False: there is none (null). */
bool strobe_gecko_number(const struct strobe_gecko_table *t, unsigned field, double *out);

/* Takes a whole number from 0 to `below` - 1. False: there is none, or it is out of range. */
bool strobe_gecko_index(const struct strobe_gecko_table *t, unsigned field, size_t below, size_t *out);

/* Finds a member of the object at `json`. */
bool strobe_gecko_member(struct strobe_json_in json, const char *name, struct strobe_json_in *out);

#endif
