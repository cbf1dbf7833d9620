#include "engine/backend/art/libart.h"
#include "engine/base/error_format.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* From this level on the runtime may be later than the system. */
enum { UPDATED_APART = 31 };

/* ---- lookup */

static bool is_candidate_of_level(const struct strobe_art_candidate *c, int api)
{
    return c->first <= api && api <= c->last;
}

static bool is_candidate_of_later_level(const struct strobe_art_candidate *c, int api)
{
    return api >= UPDATED_APART && c->first > api;
}

static bool libart_take_symbol(struct strobe_module *m, const struct strobe_art_candidate *c, struct strobe_libart *out)
{
    out->address[c->symbol] = strobe_module_symbol(m, c->mangled);
    out->shape[c->symbol] = c->shape;
    if (c->symbol == STROBE_ART_METHOD_PRETTY)
        out->libcxx = !strstr(c->mangled, "B5cxx11");
    return out->address[c->symbol] != 0;
}

static void libart_find_symbols(struct strobe_module *m, int api, struct strobe_libart *out)
{
    size_t count;
    const struct strobe_art_candidate *c = strobe_art_candidates(&count);
    for (size_t i = 0; i < count; i++)
        if (is_candidate_of_level(&c[i], api) && !out->address[c[i].symbol])
            libart_take_symbol(m, &c[i], out);
    for (size_t i = 0; i < count; i++)
        if (is_candidate_of_later_level(&c[i], api) && !out->address[c[i].symbol])
            libart_take_symbol(m, &c[i], out);
}

/* ---- what is missing */

static void libart_describe_missing(const struct strobe_module *m, const char *name, int api,
                                    enum strobe_art_symbol symbol, struct strobe_error *error)
{
    size_t count, tried = 0;
    const struct strobe_art_candidate *c = strobe_art_candidates(&count);
    strobe_error_clear(error);
    strobe_error_add(error, "%s (%s): no %s, which nothing goes without (looked for ", name, m->path,
                     strobe_art_symbol_name(symbol));
    for (size_t i = 0; i < count; i++)
        if (c[i].symbol == symbol && (is_candidate_of_level(&c[i], api) || is_candidate_of_later_level(&c[i], api)))
            strobe_error_add(error, "%s%s", tried++ ? " or " : "", c[i].mangled);
    if (m->not_in_file)
        strobe_error_add(error, " in .dynsym; its file: %s)", m->not_in_file);
    else if (m->no_debugdata)
        strobe_error_add(error, " in .dynsym, .symtab; .gnu_debugdata: %s)", m->no_debugdata);
    else
        strobe_error_add(error, " in .dynsym, .symtab, .gnu_debugdata)");
}

static enum strobe_status libart_resolve_symbols(struct strobe_module *m, const char *name, int api,
                                                 struct strobe_libart *out, struct strobe_error *error)
{
    memset(out, 0, sizeof *out);
    snprintf(out->path, sizeof out->path, "%s", m->path);
    out->level = strobe_art_level(api);
    if (!out->level) {
        strobe_error_set(error, "%s (%s): level %d is none of %d to %d", name, m->path, api, STROBE_ART_LEVEL_FIRST,
                         STROBE_ART_LEVEL_LAST);
        return STROBE_UNSUPPORTED;
    }
    libart_find_symbols(m, api, out);
    for (int i = STROBE_ART_SYMBOLS - 1; i >= 0; i--)
        if (!out->address[i] && !strobe_art_symbol_optional(i))
            out->missing[strobe_art_symbol_use(i)] = (uint32_t)i + 1;
    if (!out->missing[STROBE_ART_NEEDED])
        return STROBE_OK;
    libart_describe_missing(m, name, api, out->missing[STROBE_ART_NEEDED] - 1, error);
    return STROBE_UNSUPPORTED;
}

enum strobe_status strobe_libart_resolve(struct strobe_module *module, int api, struct strobe_libart *out,
                                         struct strobe_error *error)
{
    const char *slash = strrchr(module->path, '/');
    return libart_resolve_symbols(module, slash ? slash + 1 : module->path, api, out, error);
}

enum strobe_status strobe_libart_open(const char *name, int api, struct strobe_libart *out, struct strobe_error *error)
{
    struct strobe_module m;
    if (!name)
        name = "libart.so";
    enum strobe_status s = strobe_module_open(name, &m, error);
    if (s != STROBE_OK)
        return s;
    s = libart_resolve_symbols(&m, name, api, out, error);
    strobe_module_close(&m);
    return s;
}

/* ---- calls. A SuspendReason is a char; 0 is kInternal, for suspensions by the runtime itself. */

static void (*libart_function(const struct strobe_libart *a, enum strobe_art_symbol symbol))(void)
{
    return (void (*)(void))(uintptr_t)a->address[symbol];
}

void *strobe_art_suspend(const struct strobe_libart *a, void *list, uint32_t thin_lock_id)
{
    bool timed_out = false;
    void (*f)(void) = libart_function(a, STROBE_ART_SUSPEND_BY_ID);
    switch (a->shape[STROBE_ART_SUSPEND_BY_ID]) {
    case STROBE_ART_SHAPE_BOOL_REASON:
        return ((void *(*)(void *, uint32_t, bool, bool *))f)(list, thin_lock_id, false, &timed_out);
    case STROBE_ART_SHAPE_NO_TIMED_OUT: return ((void *(*)(void *, uint32_t, char))f)(list, thin_lock_id, 0);
    case STROBE_ART_SHAPE_ATTEMPT: return ((void *(*)(void *, uint32_t, char, int))f)(list, thin_lock_id, 0, 0);
    default: return ((void *(*)(void *, uint32_t, char, bool *))f)(list, thin_lock_id, 0, &timed_out);
    }
}

void *strobe_art_suspend_peer(const struct strobe_libart *a, void *list, void *peer)
{
    bool timed_out = false;
    void (*f)(void) = libart_function(a, STROBE_ART_SUSPEND_BY_PEER);
    if (!f)
        return NULL;
    switch (a->shape[STROBE_ART_SUSPEND_BY_PEER]) {
    case STROBE_ART_SHAPE_BOOL_REASON:
        return ((void *(*)(void *, void *, bool, bool, bool *))f)(list, peer, true, false, &timed_out);
    case STROBE_ART_SHAPE_NO_REQUEST: return ((void *(*)(void *, void *, char, bool *))f)(list, peer, 0, &timed_out);
    case STROBE_ART_SHAPE_NO_TIMED_OUT: return ((void *(*)(void *, void *, char))f)(list, peer, 0);
    default: return ((void *(*)(void *, void *, bool, char, bool *))f)(list, peer, true, 0, &timed_out);
    }
}

bool strobe_art_resume(const struct strobe_libart *a, void *list, void *thread)
{
    void (*f)(void) = libart_function(a, STROBE_ART_RESUME);
    if (a->shape[STROBE_ART_RESUME] != STROBE_ART_SHAPE_BOOL_REASON)
        return ((bool (*)(void *, void *, char))f)(list, thread, 0);
    ((void (*)(void *, void *, bool))f)(list, thread,
                                        false); /* returns nothing; it aborts where other levels return false */
    return true;
}

size_t strobe_art_run_checkpoint(const struct strobe_libart *a, void *list, struct strobe_art_closure *closure)
{
    void (*f)(void) = libart_function(a, STROBE_ART_RUN_CHECKPOINT);
    switch (a->shape[STROBE_ART_RUN_CHECKPOINT]) {
    case STROBE_ART_SHAPE_NO_CALLBACK: return ((size_t(*)(void *, void *))f)(list, closure);
    case STROBE_ART_SHAPE_MORE_FLAGS: return ((size_t(*)(void *, void *, void *, bool))f)(list, closure, NULL, true);
    case STROBE_ART_SHAPE_TWO_FLAGS:
        return ((size_t(*)(void *, void *, void *, bool, bool))f)(list, closure, NULL, true, false);
    default: return ((size_t(*)(void *, void *, void *))f)(list, closure, NULL);
    }
}
