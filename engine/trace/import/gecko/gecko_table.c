#include "engine/trace/import/gecko/gecko_table.h"

bool strobe_gecko_member(struct strobe_json_in json, const char *name, struct strobe_json_in *out)
{
    struct strobe_cursor key;
    if (strobe_json_peek(&json) != '{')
        return false;
    strobe_json_enter(&json, '{');
    while (strobe_json_key(&json, &key)) {
        if (strobe_json_is(key, name)) {
            *out = json;
            return strobe_json_peek(out) != 0;
        }
        strobe_json_skip(&json);
    }
    return false;
}

static bool open_rows(struct strobe_gecko_table *t, struct strobe_json_in schema, struct strobe_json_in json,
                      const char *const *fields)
{
    t->raw = true;
    for (unsigned i = 0; i < t->fields; i++) {
        struct strobe_json_in at;
        double index = -1;
        t->has[i] = strobe_gecko_member(schema, fields[i], &at) && strobe_json_take_number(&at, &index) && index >= 0 &&
                    index < 64;
        t->index[i] = t->has[i] ? (size_t)index : 0;
    }
    return strobe_gecko_member(json, "data", &t->rows) && strobe_json_enter(&t->rows, '[');
}

bool strobe_gecko_table_open(struct strobe_gecko_table *t, struct strobe_json_in json, const char *const *fields,
                             unsigned count)
{
    struct strobe_json_in schema;
    bool any = false;
    *t = (struct strobe_gecko_table){.fields = count};
    if (strobe_gecko_member(json, "schema", &schema))
        return open_rows(t, schema, json, fields);
    for (unsigned i = 0; i < count; i++) {
        t->has[i] = strobe_gecko_member(json, fields[i], &t->column[i]) && strobe_json_peek(&t->column[i]) == '[' &&
                    strobe_json_enter(&t->column[i], '[');
        any |= t->has[i];
    }
    return any;
}

static bool next_raw_row(struct strobe_gecko_table *t)
{
    if (!strobe_json_item(&t->rows) || !strobe_json_enter(&t->rows, '['))
        return false;
    for (size_t place = 0; strobe_json_item(&t->rows); place++) {
        for (unsigned i = 0; i < t->fields; i++)
            if (t->has[i] && t->index[i] == place) {
                t->cell[i] = t->rows;
                t->filled[i] = true;
            }
        strobe_json_skip(&t->rows);
    }
    return !t->rows.bad;
}

bool strobe_gecko_table_next(struct strobe_gecko_table *t)
{
    bool any = false;
    for (unsigned i = 0; i < t->fields; i++)
        t->filled[i] = false;
    if (t->raw)
        return next_raw_row(t);
    for (unsigned i = 0; i < t->fields; i++) {
        if (!t->has[i])
            continue;
        if (!strobe_json_item(&t->column[i]))
            return false;
        t->cell[i] = t->column[i];
        t->filled[i] = any = strobe_json_skip(&t->column[i]);
        if (!any)
            return false;
    }
    return any;
}

bool strobe_gecko_number(const struct strobe_gecko_table *t, unsigned field, double *out)
{
    struct strobe_json_in at = t->cell[field];
    return t->filled[field] && !strobe_json_take_null(&at) && strobe_json_take_number(&at, out);
}

bool strobe_gecko_index(const struct strobe_gecko_table *t, unsigned field, size_t below, size_t *out)
{
    double number;
    if (!strobe_gecko_number(t, field, &number) || !(number >= 0) || number >= (double)below)
        return false;
    *out = (size_t)number;
    return true;
}
