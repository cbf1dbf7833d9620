#include "sim/learn/writer.h"

#include "engine/util/array.h"
#include "sim/app/syntax.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_plain_word(const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
    static const char others[] = "0123456789.$:-";
    size_t n = strspn(name, letters);
    while (n && name[n] && (strchr(letters, name[n]) || strchr(others, name[n])))
        n++;
    return n && !name[n];
}

void sim_learn_put_name(struct sim_text *t, const char *name)
{
    if (is_plain_word(name)) {
        sim_text_put(t, " %s", name);
        return;
    }
    sim_text_put(t, " \"");
    for (; *name; name++)
        sim_text_put(t, *name == '"' || *name == '\\' ? "\\%c" : "%c", (unsigned char)*name < 0x20 ? '?' : *name);
    sim_text_put(t, "\"");
}

void sim_learn_put_time(struct sim_text *t, uint64_t ns)
{
    if (ns % 1000000 == 0)
        sim_text_put(t, "%llums", (unsigned long long)(ns / 1000000));
    else if (ns % 1000 == 0)
        sim_text_put(t, "%lluus", (unsigned long long)(ns / 1000));
    else
        sim_text_put(t, "%lluns", (unsigned long long)ns);
}

static void put_fitted(struct sim_text *t, uint64_t value, bool is_time)
{
    if (is_time)
        sim_learn_put_time(t, value);
    else
        sim_text_put(t, "%llu", (unsigned long long)value);
}

void sim_learn_put_fit(struct sim_text *t, const struct sim_fit *f, bool is_time)
{
    static const char *const words[] = {
        [SIM_DIST_CONSTANT] = " ",        [SIM_DIST_UNIFORM] = " ",
        [SIM_DIST_EXPONENTIAL] = " exp(", [SIM_DIST_LOGNORMAL] = " lognormal(",
        [SIM_DIST_LIST] = " one_of(",
    };
    sim_text_put(t, "%s", words[f->kind]);
    if (f->kind != SIM_DIST_LIST)
        put_fitted(t, f->a, is_time);
    if (f->kind == SIM_DIST_UNIFORM) {
        sim_text_put(t, "..");
        put_fitted(t, f->b, is_time);
    } else if (f->kind == SIM_DIST_LOGNORMAL) {
        sim_text_put(t, ", %.3f", f->sigma);
    }
    for (uint32_t i = 0; i < f->count; i++) {
        sim_text_put(t, i ? ", " : "");
        put_fitted(t, f->values[i], is_time);
    }
    if (f->kind >= SIM_DIST_EXPONENTIAL)
        sim_text_put(t, ")");
}

void sim_learn_put_sample(const struct learn_writer *w, struct sim_text *t, uint64_t *sample, size_t count,
                          int64_t shift_ns)
{
    struct sim_fit fit;
    for (size_t i = 0; i < count; i++) {
        int64_t least = (int64_t)(sample[i] / 16 + 1), moved = (int64_t)sample[i] - shift_ns;
        sample[i] = (uint64_t)(moved > least ? moved : least);
        sample[i] = sample[i] < SIM_TIME_MAX_NS ? sample[i] : SIM_TIME_MAX_NS;
    }
    sim_fit_sample(sample, count, &fit);
    sim_fit_shorten(&fit, w->plan->list_most);
    fit.a += fit.kind == SIM_DIST_UNIFORM && !fit.a; /* a timeout of 0 has another meaning */
    sim_learn_put_fit(t, &fit, true);
}

/* Counts have no fractions: uniform, or the values that occur. */
void sim_learn_put_counts(const struct learn_writer *w, struct sim_text *t, uint64_t *counts, size_t count)
{
    struct sim_fit fit;
    for (size_t i = 0; i < count; i++)
        counts[i] = counts[i] < SIM_TIMES_MAX ? counts[i] : SIM_TIMES_MAX;
    sim_fit_sample(counts, count, &fit);
    if (fit.kind == SIM_DIST_EXPONENTIAL || fit.kind == SIM_DIST_LOGNORMAL) {
        fit = (struct sim_fit){.kind = SIM_DIST_LIST, .count = SIM_FIT_LIST_MAX};
        for (uint32_t i = 0; i < fit.count; i++)
            fit.values[i] = counts[(2 * i + 1) * count / (2 * (size_t)fit.count)];
    }
    sim_fit_shorten(&fit, w->plan->list_most);
    sim_learn_put_fit(t, &fit, false);
}

/* Copies a name as far as its text in the scenario has at most so many bytes. True: it is whole. */
static bool copy_name_part(const char *name, char *out, size_t bytes)
{
    size_t n = 0, used = 0;
    for (; name[n]; n++) {
        used += name[n] == '"' || name[n] == '\\' ? 2 : 1;
        if (used > bytes)
            break;
        out[n] = name[n];
    }
    out[n] = 0;
    return !name[n];
}

void sim_learn_new_key(struct learn_writer *w, uint32_t name, char *key)
{
    int fresh;
    uint32_t *uses = strobe_idmap_put(&w->uses, name, 0, &fresh);
    if (!uses) {
        w->failed = true;
        key[0] = 0;
        return;
    }
    char base[LEARN_KEY_BYTES];
    bool is_whole = copy_name_part(w->a->names.texts[name], base, LEARN_NAME_BYTES);
    if (++*uses == 1 && is_whole)
        snprintf(key, LEARN_KEY_BYTES, "%s", base);
    else
        snprintf(key, LEARN_KEY_BYTES, "%.*s#%u", LEARN_NAME_BYTES, base, *uses);
}

bool sim_learn_is_put(struct learn_writer *w, uint32_t name, const struct sim_text *body, char *key)
{
    struct sim_text whole = {0};
    sim_text_put(&whole, "%u:%u:%s", w->a->groups[w->group].managed, name, body->text ? body->text : "");
    uint32_t number = whole.failed ? UINT32_MAX : strobe_text_number(&w->bodies, whole.text, whole.bytes);
    free(whole.text);
    if (number == UINT32_MAX || !strobe_array_reserve_zeroed(&w->keys, &w->key_room, (size_t)number + 1)) {
        w->failed = true;
        return true;
    }
    if (w->keys[number].text[0]) {
        memcpy(key, w->keys[number].text, LEARN_KEY_BYTES);
        return true;
    }
    sim_learn_new_key(w, name, key);
    memcpy(w->keys[number].text, key, LEARN_KEY_BYTES);
    return false;
}

void sim_learn_put_method(struct learn_writer *w, uint32_t name, const char *key, struct sim_text *body)
{
    struct sim_text *out = &w->methods;
    sim_text_put(out, "method");
    sim_learn_put_name(out, key);
    if (strcmp(key, w->a->names.texts[name]) != 0) {
        char shown[LEARN_KEY_BYTES];
        copy_name_part(w->a->names.texts[name], shown, LEARN_NAME_BYTES);
        sim_text_put(out, " as");
        sim_learn_put_name(out, shown);
    }
    sim_text_put(out, "%s {\n%s}\n", w->a->groups[w->group].managed ? " managed" : "", body->text ? body->text : "");
    w->failed |= body->failed || out->failed;
    free(body->text);
    *body = (struct sim_text){0};
}
