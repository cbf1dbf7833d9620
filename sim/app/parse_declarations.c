#include "sim/app/parser.h"

#include <stdio.h>
#include <string.h>

static bool declare_once(struct sim_parser *p, struct sim_place *said, const struct sim_place *here, const char *word)
{
    if (said->source)
        return sim_parse_fault(p, here, "expected '%s' only once, found another after %s:%u:%u", word,
                               said->source->path, said->line, said->column);
    *said = *here;
    return true;
}

static bool once_here(struct sim_parser *p, struct sim_place *said, const char *word)
{
    struct sim_place here = sim_parse_place(p);
    if (!declare_once(p, said, &here, word))
        return false;
    sim_parse_next(p);
    return true;
}

/* Accepts an attribute of a declaration. It may occur once. */
static bool attribute(struct sim_parser *p, const char *word, unsigned bit, unsigned *said)
{
    if (!sim_token_is(&p->token, word))
        return false;
    if (*said & bit)
        return sim_parse_expected(p, "'%s' only once", word);
    *said |= bit;
    sim_parse_next(p);
    return true;
}

#define ADD(p, array, count, item) append_declared(p, (void **)&(array), &(count), &(item), sizeof(item))

static bool append_declared(struct sim_parser *p, void **items, uint32_t *count, const void *item, size_t bytes)
{
    if (*count >= SIM_DECLARED_MAX)
        return sim_parse_expected(p, "at most %d declarations of a kind", SIM_DECLARED_MAX);
    void *grown = sim_array_grow(*items, *count, bytes);
    if (!grown)
        return sim_parse_no_memory(p);
    *items = grown;
    memcpy((char *)grown + *count * bytes, item, bytes);
    ++*count;
    return true;
}

static bool scenario(struct sim_parser *p)
{
    struct sim_scenario *s = p->s;
    if (!once_here(p, &p->scenario_place, "scenario"))
        return false;
    if (p->token.kind != SIM_TOKEN_WORD)
        return sim_parse_expected(p, "a word as the scenario's name");
    return sim_parse_name(p, "a word as the scenario's name", &s->name) &&
           sim_parse_text(p, "a sentence in \"\" on what the scenario is about", &s->about);
}

static bool duration(struct sim_parser *p)
{
    if (!once_here(p, &p->duration_place, "duration"))
        return false;
    return sim_parse_time(p, 1, SIM_TIME_MAX_NS, &p->s->duration_ns);
}

static bool cores(struct sim_parser *p)
{
    uint64_t n;
    if (!once_here(p, &p->cores_place, "cores"))
        return false;
    if (!sim_parse_count(p, "a number of cores", 1, SIM_CORES_MAX, &n))
        return false;
    p->s->cores = (uint32_t)n;
    return true;
}

static bool busy(struct sim_parser *p)
{
    uint64_t n;
    if (!once_here(p, &p->busy_place, "busy"))
        return false;
    if (!sim_parse_count(p, "a number of threads", 0, SIM_BUSY_MAX, &n))
        return false;
    p->s->busy = (uint32_t)n;
    return true;
}

static bool one_word(struct sim_parser *p, const char *what, const char *const *words, unsigned count, uint64_t *out)
{
    for (unsigned i = 0; i < count; i++)
        if (sim_parse_accept(p, words[i])) {
            *out = i;
            return true;
        }
    return sim_parse_expected(p, "%s", what);
}

static bool setting_value(struct sim_parser *p, const struct sim_setting *setting, uint64_t *out)
{
    static const char metrics[] = "some of cpu, alloc, faults, switches, or none";
    uint64_t bit = 0;
    switch (setting->kind) {
    case SIM_SETTING_TIME: return sim_parse_time(p, setting->low, setting->high, out);
    case SIM_SETTING_COUNT: return sim_parse_count(p, "a number", setting->low, setting->high, out);
    case SIM_SETTING_KEEP: return one_word(p, "newest or oldest", sim_keep_names, SIM_KEEP_NAMES, out);
    case SIM_SETTING_METRICS:
        *out = 0;
        if (sim_parse_accept(p, "none"))
            return true;
        do {
            if (!one_word(p, metrics, sim_metric_names, SIM_METRIC_NAMES, &bit))
                return false;
            *out |= UINT64_C(1) << bit;
        } while (p->token.kind == SIM_TOKEN_WORD);
        return true;
    }
    return false;
}

static bool config(struct sim_parser *p)
{
    uint64_t value;
    sim_parse_next(p);
    struct sim_place place = sim_parse_place(p);
    const struct sim_setting *setting = sim_settings;
    while (setting->name && !sim_token_is(&p->token, setting->name))
        setting++;
    if (!setting->name)
        return sim_parse_expected(p, "a setting of the engine (as interval_main)");
    if (p->settings_said >> (setting - sim_settings) & 1)
        return sim_parse_expected(p, "each setting only once");
    p->settings_said |= UINT64_C(1) << (setting - sim_settings);
    sim_parse_next(p);
    if (!setting_value(p, setting, &value))
        return false;
    if (setting->offset == offsetof(struct strobe_config, ring_subs) && (value & (value - 1)) != 0)
        return sim_parse_fault(p, &place, "expected a power of two for ring_subs, found '%llu'",
                               (unsigned long long)value);
    sim_setting_put(setting, &p->s->config, value);
    return true;
}

/* `image`: mention of the enclosing image block's image; UINT32_MAX: none. */
static bool method_attributes(struct sim_parser *p, uint32_t image, struct sim_method *m)
{
    enum { KIND = 1, FRAMELESS = 2, FRAME = 4, IN = 8, AS = 16 };
    unsigned said = 0;
    uint64_t frame = SIM_FRAME_DEFAULT;
    while (!sim_token_is(&p->token, "{") && p->status == STROBE_OK) {
        if (attribute(p, "managed", KIND, &said)) {
            m->managed = true;
        } else if (attribute(p, "native", KIND, &said)) {
            m->managed = false;
        } else if (attribute(p, "frameless", FRAMELESS, &said)) {
            m->frameless = true;
        } else if (attribute(p, "as", AS, &said)) {
            if (!sim_parse_name(p, "the name that stacks show", &m->name))
                return false;
        } else if (attribute(p, "frame", FRAME, &said)) {
            struct sim_place value = sim_parse_place(p);
            if (!sim_parse_size(p, 0, SIM_FRAME_MAX, &frame))
                return false;
            if (frame % 16)
                return sim_parse_fault(p, &value, "expected a frame that is a multiple of 16 bytes, found %llu",
                                       (unsigned long long)frame);
        } else if (image == UINT32_MAX && attribute(p, "in", IN, &said)) {
            if (!sim_parse_mention(p, SIM_ARG_ANY_IMAGE, &m->image))
                return false;
        } else {
            return sim_parse_expected(p, "managed, native, frameless, frame, as%s or '{'",
                                      image == UINT32_MAX ? ", in" : "");
        }
    }
    m->frame_bytes = m->frameless && !(said & FRAME) ? 0 : (uint32_t)frame;
    return p->status == STROBE_OK;
}

static bool method(struct sim_parser *p, uint32_t image, bool managed)
{
    struct sim_scenario *s = p->s;
    struct sim_method m = {.image = image, .managed = managed};
    uint32_t index = s->method_count, place_count = index;
    sim_parse_next(p);
    struct sim_place place = sim_parse_place(p);
    if (!sim_parse_name(p, "a name for the method", &m.key))
        return false;
    m.name = m.key;
    return method_attributes(p, image, &m) && sim_parse_declare(p, SIM_TABLE_METHOD, m.key, index, &place) &&
           ADD(p, s->methods, s->method_count, m) && ADD(p, p->method_places, place_count, place) &&
           sim_parse_body(p, m.frameless, &s->methods[index].block);
}

static bool free_method(struct sim_parser *p)
{
    return method(p, UINT32_MAX, false);
}

static bool methods_of_image(struct sim_parser *p, const char *name, const struct sim_place *place, bool managed)
{
    uint32_t image;
    if (!sim_parse_mention_as(p, SIM_ARG_ANY_IMAGE, name, place, &image) || !sim_parse_expect(p, "{"))
        return false;
    sim_parse_skip_lines(p);
    while (!sim_parse_accept(p, "}")) {
        if (!sim_token_is(&p->token, "method"))
            return sim_parse_expected(p, "'method' or '}'");
        if (!method(p, image, managed) || !sim_parse_statement_end(p))
            return false;
        sim_parse_skip_lines(p);
    }
    return true;
}

static bool image(struct sim_parser *p)
{
    enum { MANAGED = 1, LATER = 2 };
    struct sim_scenario *s = p->s;
    struct sim_image i = {.loaded_at_start = true};
    unsigned said = 0;
    sim_parse_next(p);
    struct sim_place place = sim_parse_place(p);
    if (!sim_parse_name(p, "a name for the image", &i.name))
        return false;
    while (attribute(p, "managed", MANAGED, &said) || attribute(p, "later", LATER, &said))
        continue;
    i.loaded_at_start = !(said & LATER);
    if (s->image_count == SIM_IMAGES_MAX)
        return sim_parse_fault(p, &place, "expected at most %d images, found '%s'", SIM_IMAGES_MAX, i.name);
    if (!sim_parse_declare(p, SIM_TABLE_IMAGE, i.name, s->image_count, &place) || !ADD(p, s->images, s->image_count, i))
        return false;
    if (!(said & MANAGED) && !sim_token_is(&p->token, "{"))
        return p->status == STROBE_OK;
    return methods_of_image(p, i.name, &place, said & MANAGED);
}

static bool declare_lock(struct sim_parser *p, enum sim_lock_kind kind, const char *what)
{
    struct sim_scenario *s = p->s;
    struct sim_lock l = {.kind = kind};
    sim_parse_next(p);
    struct sim_place place = sim_parse_place(p);
    return sim_parse_name(p, what, &l.name) && sim_parse_declare(p, SIM_TABLE_LOCK, l.name, s->lock_count, &place) &&
           ADD(p, s->locks, s->lock_count, l);
}

static bool declare_mutex(struct sim_parser *p)
{
    return declare_lock(p, SIM_LOCK_MUTEX, "a name for the mutex");
}

static bool declare_monitor(struct sim_parser *p)
{
    return declare_lock(p, SIM_LOCK_MONITOR, "a name for the monitor");
}

static bool declare_rwlock(struct sim_parser *p)
{
    return declare_lock(p, SIM_LOCK_RWLOCK, "a name for the rwlock");
}

static bool declare_cond(struct sim_parser *p)
{
    struct sim_scenario *s = p->s;
    struct sim_named c = {NULL};
    sim_parse_next(p);
    struct sim_place place = sim_parse_place(p);
    return sim_parse_name(p, "a name for the condition", &c.name) &&
           sim_parse_declare(p, SIM_TABLE_COND, c.name, s->cond_count, &place) && ADD(p, s->conds, s->cond_count, c);
}

static bool semaphore(struct sim_parser *p)
{
    struct sim_scenario *s = p->s;
    struct sim_semaphore m = {NULL, 0};
    uint64_t count = 0;
    sim_parse_next(p);
    struct sim_place place = sim_parse_place(p);
    if (!sim_parse_name(p, "a name for the semaphore", &m.name))
        return false;
    if (p->token.kind == SIM_TOKEN_NUMBER && !sim_parse_count(p, "a count", 0, SIM_TIMES_MAX, &count))
        return false;
    m.count = (uint32_t)count;
    return sim_parse_declare(p, SIM_TABLE_SEM, m.name, s->sem_count, &place) && ADD(p, s->sems, s->sem_count, m);
}

static bool declare_queue(struct sim_parser *p)
{
    struct sim_scenario *s = p->s;
    struct sim_queue q = {.frame_method = UINT32_MAX};
    sim_parse_next(p);
    struct sim_place place = sim_parse_place(p);
    if (!sim_parse_name(p, "a name for the queue", &q.name))
        return false;
    if (sim_parse_accept(p, "vsync") &&
        (!sim_parse_time(p, SIM_VSYNC_MIN_NS, SIM_TIME_MAX_NS, &q.vsync_period_ns) || !sim_parse_expect(p, "frame") ||
         !sim_parse_mention(p, SIM_ARG_METHOD, &q.frame_method)))
        return false;
    return sim_parse_declare(p, SIM_TABLE_QUEUE, q.name, s->queue_count, &place) &&
           ADD(p, s->queues, s->queue_count, q);
}

/* Parses "x8" as a number of threads. Returns false, without a fault, for another token. */
static bool parse_thread_count(const struct sim_token *t, uint32_t *count)
{
    uint64_t n = 0;
    if (t->kind != SIM_TOKEN_WORD || t->bytes < 2 || t->bytes > 7 || *t->begin != 'x')
        return false;
    for (size_t i = 1; i < t->bytes; i++) {
        if (t->begin[i] < '0' || t->begin[i] > '9')
            return false;
        n = n * 10 + (uint64_t)(t->begin[i] - '0');
    }
    *count = (uint32_t)n;
    return true;
}

static bool thread_attributes(struct sim_parser *p, struct sim_thread_spec *t)
{
    enum { MAIN = 1, MULTIPLE = 2, START = 4, NICE = 8, TID = 16, REUSE = 32 };
    unsigned said = 0;
    while (!sim_token_is(&p->token, "run")) {
        if (!(said & MULTIPLE) && parse_thread_count(&p->token, &t->count)) {
            said |= MULTIPLE;
            sim_parse_next(p);
        } else if (attribute(p, "main", MAIN, &said)) {
            t->is_main = true;
        } else if (attribute(p, "start", START, &said)) {
            if (!sim_parse_dist(p, SIM_ARG_TIME, &t->start))
                return false;
        } else if (attribute(p, "nice", NICE, &said)) {
            if (!sim_parse_int(p, "a niceness", -20, 19, &t->nice))
                return false;
        } else if (attribute(p, "tid", TID, &said)) {
            if (!sim_parse_count(p, "a tid", 1, INT32_MAX, &t->tid))
                return false;
        } else if (attribute(p, "reuse_tid", REUSE, &said)) {
            t->reuse_tid = true;
        } else {
            return sim_parse_expected(p, "main, xN, start, nice, tid, reuse_tid or run");
        }
    }
    return true;
}

static bool declare_thread(struct sim_parser *p)
{
    struct sim_scenario *s = p->s;
    struct sim_thread_spec t = {.count = 1, .start = sim_dist_constant(0)};
    sim_parse_next(p);
    struct sim_place place = sim_parse_place(p);
    if (!sim_parse_name(p, "a name for the thread", &t.name) || !thread_attributes(p, &t) ||
        !sim_parse_expect(p, "run") || !sim_parse_mention(p, SIM_ARG_METHOD, &t.entry))
        return false;
    p->threads_started += t.count;
    if (p->threads_started > SIM_THREADS_MAX)
        return sim_parse_fault(p, &place, "expected at most %d threads in all, found %llu", SIM_THREADS_MAX,
                               (unsigned long long)p->threads_started);
    if (t.is_main && declare_once(p, &p->main_place, &place, "main") && t.count != 1)
        return sim_parse_fault(p, &place, "expected one main thread, found x%u", t.count);
    if (t.tid && t.count > 1)
        return sim_parse_fault(p, &place, "expected one thread of a given tid, found x%u", t.count);
    return p->status == STROBE_OK && sim_parse_declare(p, SIM_TABLE_THREAD, t.name, s->thread_count, &place) &&
           ADD(p, s->threads, s->thread_count, t);
}

static bool fault_kind(struct sim_parser *p, enum sim_fault_kind *kind)
{
    for (int k = 0; k < SIM_FAULT_KINDS; k++)
        if (sim_parse_accept(p, sim_fault_word((enum sim_fault_kind)k))) {
            *kind = (enum sim_fault_kind)k;
            return true;
        }
    return sim_parse_expected(p, "a kind of fault (as suspend_refused)");
}

bool sim_parse_injected(struct sim_parser *p, const struct sim_place *place, struct sim_fault *out)
{
    enum { OF = 1, AT = 2, TIMES = 4, CHANCE = 8, THREAD = 16 };
    struct sim_fault f = {.line = place->line, .column = place->column, .chance = 1};
    unsigned said = 0;
    uint64_t times = 0;
    uint32_t about;
    bool fine = fault_kind(p, &f.kind);
    while (fine && p->token.kind == SIM_TOKEN_WORD) {
        if (attribute(p, "of", OF, &said)) {
            fine = sim_parse_any_amount(p, &f.amount);
        } else if (attribute(p, "at", AT, &said)) {
            fine = sim_parse_time(p, 0, SIM_TIME_MAX_NS, &f.at_ns);
        } else if (attribute(p, "times", TIMES, &said)) {
            fine = sim_parse_count(p, "a number of times", 1, SIM_TIMES_MAX, &times);
        } else if (attribute(p, "chance", CHANCE, &said)) {
            fine = sim_parse_decimal(p, "a chance", 0, 1, &f.chance);
        } else if (attribute(p, "thread", THREAD, &said)) {
            fine = sim_parse_mention(p, SIM_ARG_THREAD, &about);
            f.thread = fine ? about + 1 : 0;
        } else {
            return sim_parse_expected(p, "of, at, times, chance, thread or the end of the line");
        }
    }
    f.times = (uint32_t)times;
    *out = f;
    return fine;
}

static bool declare_fault(struct sim_parser *p)
{
    struct sim_place place = sim_parse_place(p);
    struct sim_fault f;
    sim_parse_next(p);
    return sim_parse_injected(p, &place, &f) && ADD(p, p->s->faults, p->s->fault_count, f);
}

/* The names of sim/genuine/runtime.h and sim/fake/mach, and `fake` for all fake Android runtimes. */
static bool is_runtime_name(const char *name)
{
    static const char *const others[] = {"fake", "mach", "art11", "art14"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (!strcmp(name, others[i]))
            return true;
    unsigned level = 0;
    char rest;
    return sscanf(name, "fake%2u%c", &level, &rest) == 1 && level >= 24 && level <= 36;
}

static bool expected_runtime(struct sim_parser *p, const char **runtime)
{
    static const char what[] = "a runtime (as fake30, fake, mach or art11)";
    struct sim_place place = sim_parse_place(p);
    return sim_parse_name(p, what, runtime) &&
           (is_runtime_name(*runtime) || sim_parse_fault(p, &place, "expected %s, found '%s'", what, *runtime));
}

static bool declare_expectation(struct sim_parser *p)
{
    struct sim_scenario *s = p->s;
    struct sim_expect e = {.line = p->token.line, .column = p->token.column};
    sim_parse_next(p);
    return sim_parse_name(p, "the name of a score (as agreement)", &e.score) &&
           sim_parse_name(p, "the name of a policy (as strobe)", &e.policy) &&
           (!sim_parse_accept(p, "on") || expected_runtime(p, &e.runtime)) && sim_parse_range(p, &e.low, &e.high) &&
           ADD(p, s->expects, s->expect_count, e);
}

bool sim_expect_covers(const struct sim_expect *e, const char *runtime)
{
    if (!e->runtime || !runtime)
        return !e->runtime && !runtime;
    return !strcmp(e->runtime, runtime) || (!strcmp(e->runtime, "fake") && !strncmp(runtime, "fake", 4));
}

bool sim_parse_declaration(struct sim_parser *p)
{
    static const struct {
        const char *word;
        bool (*read)(struct sim_parser *);
    } words[] = {
        {"scenario", scenario},
        {"duration", duration},
        {"cores", cores},
        {"busy", busy},
        {"config", config},
        {"image", image},
        {"method", free_method},
        {"mutex", declare_mutex},
        {"monitor", declare_monitor},
        {"rwlock", declare_rwlock},
        {"cond", declare_cond},
        {"semaphore", semaphore},
        {"queue", declare_queue},
        {"thread", declare_thread},
        {"fault", declare_fault},
        {"expect", declare_expectation},
        {"include", sim_parse_include},
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (sim_token_is(&p->token, words[i].word))
            return words[i].read(p) && (words[i].read == sim_parse_include || sim_parse_declaration_end(p));
    return sim_parse_expected(p, "a declaration (as method or thread)");
}
