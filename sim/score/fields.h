/* The scores of a run by name. JSON, its reader, summaries and tables all use this one list. For sim/score only. */
#ifndef STROBE_SIM_SCORE_FIELDS_H
#define STROBE_SIM_SCORE_FIELDS_H

#include "sim/score/score.h"

enum sim_field_unit { SIM_FIELD_SHARE, SIM_FIELD_COUNT, SIM_FIELD_NS, SIM_FIELD_BYTES };

struct sim_field {
    const char *name; /* in JSON */
    size_t offset;    /* in struct sim_score */
    bool real;        /* true: a double; false: a uint64_t */
    enum sim_field_unit unit;
};

/* The first SIM_FIELD_HEADLINES fields are the headlines. */
enum { SIM_FIELD_HEADLINES = 21, SIM_FIELD_COUNT_ALL = 56 };
extern const struct sim_field sim_fields[SIM_FIELD_COUNT_ALL];

double sim_field_value(const struct sim_field *f, const struct sim_score *s);

/* Formats a value for people, e.g. "97.3 %", "1.25 ms", "12". Writes to `text` and returns it. */
enum { SIM_FIELD_TEXT_BYTES = 32 };
const char *sim_field_text(enum sim_field_unit unit, double value, char text[SIM_FIELD_TEXT_BYTES]);

#endif
