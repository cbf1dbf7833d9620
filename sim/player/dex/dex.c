/* Layout of the file:
 *
 *   header, string_ids, type_ids, proto_ids, method_ids, class_defs       their sizes are known first
 *   type lists, strings, code, class data, map                            the parts above contain their offsets
 */
#include "sim/player/dex/dex.h"
#include "engine/base/error_format.h"

#include "sim/player/dex/dex_code.h"
#include "sim/player/dex/dex_ids.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLAYER "Lstrobe/Player;"
#define OBJECT "Ljava/lang/Object;"

enum {
    HEADER_BYTES = 0x70,
    CLASS_DEF_BYTES = 32,
    METHODS_MAX = 65535,
    NAME_BYTES = 512,
    ACC_PUBLIC = 1,
    ACC_STATIC = 8,
    ACC_FINAL = 0x10,
    ACC_NATIVE = 0x100,
    PLAYER_NUMBER = -1, /* number of the methods of strobe.Player */
};

/* Type codes of the file's map. */
enum part {
    HEADER = 0,
    STRING_ID,
    TYPE_ID,
    PROTO_ID,
    METHOD_ID = 5,
    CLASS_DEF = 6,
    MAP_LIST = 0x1000,
    TYPE_LIST = 0x1001,
    CLASS_DATA = 0x2000,
    CODE = 0x2001,
    STRING_DATA = 0x2002
};

struct maker {
    const struct sim_scenario *scenario;
    char *names; /* two per method: descriptor, name; NAME_BYTES each */
    struct sim_dex_ids ids;
    uint32_t *place; /* by method of the scenario: index into ids.methods */
    struct sim_dex_player player;
    uint32_t class_count;
    uint32_t *code_at; /* by place; 0 = native */
    uint32_t strings_at, types_at, protos_at, methods_at, classes_at;
    uint32_t type_lists_at[SIM_DEX_PROTOS], string_data_at, first_code_at, code_count, class_data_at;
    struct sim_dex_bytes out;
    struct strobe_error *error;
};

/* ---- names ---- */

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_$-";

/* Stores the name with its parts separated by dots. Names of other languages become ones that Java can have:
 *
 *   -[Cell layout]             Cell.layout
 *   dyld4::prepare             dyld4.prepare
 *   operator new, a:b:         operator_new, a_b_
 *
 * Returns false when the name stays as it is. */
static bool make_java_name(const char *whole, char *out, size_t room)
{
    bool is_message = (*whole == '-' || *whole == '+') && whole[1] == '[';
    const char *from = whole + (is_message ? 2 : 0);
    size_t n = 0;
    for (; *from && n + 1 < room; from++) {
        bool separates = *from == '.' || !strncmp(from, "::", 2) || (is_message && *from == ' ');
        if (is_message && *from == ']' && !from[1])
            continue;
        from += *from == ':' && separates;
        out[n++] = separates ? '.' : strchr(letters, *from) ? *from : '_';
    }
    out[n] = '\0';
    return strcmp(out, whole) != 0;
}

/* True when another method gets the same name: one that has it, or an earlier one that is renamed to it. */
static bool is_taken_name(const struct sim_scenario *s, uint32_t method, const char *name)
{
    char other[NAME_BYTES];
    for (uint32_t i = 0; i < s->method_count; i++)
        if (i != method && (!make_java_name(s->methods[i].name, other, sizeof other) || i < method) &&
            !strcmp(other, name))
            return true;
    return false;
}

void sim_dex_method_name(const struct sim_scenario *s, uint32_t method, char *class, char *name, size_t room)
{
    char whole[NAME_BYTES];
    bool is_renamed = make_java_name(s->methods[method].name, whole, sizeof whole - 8);
    const char *dot = strrchr(whole, '.');
    bool again = is_renamed && is_taken_name(s, method, whole);
    snprintf(name, room, again ? "%s_%u" : "%s", dot ? dot + 1 : whole, method);
    snprintf(class, room, "%.*s", dot ? (int)(dot - whole) : 3, dot ? whole : "App");
    for (char *c = class; *c; c++)
        *c = *c == '.' ? '/' : *c;
}

/* Returns the length of the leading SimpleName of the format, ASCII only. */
static size_t word_bytes(const char *s)
{
    return strspn(s, letters);
}

static bool is_java_name(const char *class, const char *name)
{
    static const char *const taken[] = {"java/", "dalvik/", "android/", "sun/", "jdk/", "libcore/", "strobe/"};
    for (size_t i = 0; i < sizeof taken / sizeof taken[0]; i++)
        if (!strncmp(class, taken[i], strlen(taken[i])))
            return false;
    size_t n = word_bytes(class);
    for (; n && class[n] == '/'; n = word_bytes(class))
        class += n + 1;
    return n && !class[n] && *name && !name[word_bytes(name)];
}

static bool make_names(struct maker *m, struct sim_dex_id *ids)
{
    for (uint32_t i = 0; i < m->scenario->method_count; i++) {
        char *class = m->names + (size_t)i * 2 * NAME_BYTES, *name = class + NAME_BYTES;
        const char *whole = m->scenario->methods[i].name;
        bool fits = strlen(whole) < NAME_BYTES - 8;
        if (fits)
            sim_dex_method_name(m->scenario, i, class + 1, name, NAME_BYTES - 2);
        if (!fits || !is_java_name(class + 1, name)) {
            strobe_error_set(m->error,
                             "%s: method \"%.200s\": expected a name that Java can have, such as "
                             "Cache.get, in no package of the runtime's own",
                             m->scenario->path, whole);
            return false;
        }
        class[0] = 'L';
        strcat(class, ";");
        ids[i] = (struct sim_dex_id){class, name, SIM_DEX_METHOD, i};
    }
    ids[m->scenario->method_count] = (struct sim_dex_id){PLAYER, "step", SIM_DEX_STEP, (uint32_t)PLAYER_NUMBER};
    ids[m->scenario->method_count + 1] = (struct sim_dex_id){PLAYER, "caught", SIM_DEX_CAUGHT, (uint32_t)PLAYER_NUMBER};
    ids[m->scenario->method_count + 2] = (struct sim_dex_id){PLAYER, "thrown", SIM_DEX_THROWN, (uint32_t)PLAYER_NUMBER};
    return true;
}

/* Fills in `place`. Fails when two methods have the same Java name ("run" and "App.run"). */
static bool find_places(struct maker *m)
{
    const struct sim_dex_id *at = m->ids.methods;
    for (uint32_t i = 0; i < m->ids.method_count; i++) {
        bool own = at[i].number != (uint32_t)PLAYER_NUMBER;
        if (own)
            m->place[at[i].number] = i;
        else
            *(at[i].proto == SIM_DEX_STEP     ? &m->player.step
              : at[i].proto == SIM_DEX_CAUGHT ? &m->player.caught
                                              : &m->player.thrown) = i;
        bool same_class = i && !strcmp(at[i].class, at[i - 1].class);
        if (same_class && !strcmp(at[i].name, at[i - 1].name)) {
            strobe_error_set(m->error, "%s: two methods are %s in Java, expected one", m->scenario->path,
                             m->scenario->methods[at[i].number].name);
            return false;
        }
        m->class_count += own && !same_class;
    }
    return true;
}

/* ---- callees ---- */

struct calls {
    const struct sim_scenario *s;
    bool *called;
};

static void add_messages(const struct calls *c, uint32_t queue)
{
    const struct sim_scenario *s = c->s;
    for (uint32_t i = 0; i < s->op_count; i++)
        if (s->ops[i].kind == SIM_OP_POST && s->ops[i].object == queue)
            c->called[s->ops[i].method] = true;
    if (s->queues[queue].vsync_period_ns)
        c->called[s->queues[queue].frame_method] = true;
}

static void dex_add_calls(const struct calls *c, uint32_t block)
{
    const struct sim_block *b = &c->s->blocks[block];
    for (uint32_t i = b->first; i < b->first + b->count; i++) {
        const struct sim_op *op = &c->s->ops[i];
        switch (op->kind) {
        case SIM_OP_CALL:
        case SIM_OP_JNI:
        case SIM_OP_RECURSE: c->called[op->object] = true; break;
        case SIM_OP_LOOP: add_messages(c, op->object); break;
        case SIM_OP_CHOOSE:
            for (uint32_t k = op->first; k < op->first + op->count; k++)
                dex_add_calls(c, c->s->arms[k].block);
            break;
        default: break;
        }
        if (op->block)
            dex_add_calls(c, op->block);
        if (op->other_block)
            dex_add_calls(c, op->other_block);
    }
}

/* Sets called[] for the methods that a method calls, including the method itself when it is recursive. */
static void find_callees(const struct sim_scenario *s, uint32_t method, bool *called)
{
    struct calls c = {s, called};
    memset(called, 0, s->method_count * sizeof *called);
    dex_add_calls(&c, s->methods[method].block);
    for (uint32_t i = 0; i < s->op_count; i++)
        if (s->ops[i].kind == SIM_OP_RECURSE && s->ops[i].object == method)
            called[method] = true;
}

/* ---- parts ---- */

static void put_ids(struct maker *m)
{
    struct sim_dex_bytes *out = &m->out;
    static const uint8_t header[HEADER_BYTES];
    sim_dex_put(out, header, sizeof header);
    m->strings_at = (uint32_t)out->count;
    for (uint32_t i = 0; i < m->ids.string_count; i++)
        sim_dex_put32(out, 0);
    m->types_at = (uint32_t)out->count;
    for (uint32_t i = 0; i < m->ids.type_count; i++)
        sim_dex_put32(out, sim_dex_string(&m->ids, m->ids.types[i]));
    m->protos_at = (uint32_t)out->count;
    for (uint32_t i = 0; i < SIM_DEX_PROTOS; i++) {
        sim_dex_put32(out, sim_dex_string(&m->ids, sim_dex_prototypes[i].shorty));
        sim_dex_put32(out, sim_dex_type(&m->ids, sim_dex_prototypes[i].result));
        sim_dex_put32(out, 0);
    }
    m->methods_at = (uint32_t)out->count;
    for (uint32_t i = 0; i < m->ids.method_count; i++) {
        sim_dex_put16(out, sim_dex_type(&m->ids, m->ids.methods[i].class));
        sim_dex_put16(out, m->ids.methods[i].proto);
        sim_dex_put32(out, sim_dex_string(&m->ids, m->ids.methods[i].name));
    }
    m->classes_at = (uint32_t)out->count;
    for (uint32_t i = 0; i < m->class_count * CLASS_DEF_BYTES / 4; i++)
        sim_dex_put32(out, 0);
}

/* Writes the parameter lists. The third word of a proto_id is the offset of its list. */
static void put_type_lists(struct maker *m)
{
    for (uint32_t i = 0; i < SIM_DEX_PROTOS; i++) {
        const struct sim_dex_prototype *p = &sim_dex_prototypes[i];
        uint32_t count = p->parameters[1] ? 2 : 1;
        sim_dex_align(&m->out, 4);
        m->type_lists_at[i] = (uint32_t)m->out.count;
        sim_dex_set32(&m->out, m->protos_at + i * 12 + 8, m->type_lists_at[i]);
        sim_dex_put32(&m->out, count);
        for (uint32_t k = 0; k < count; k++)
            sim_dex_put16(&m->out, sim_dex_type(&m->ids, p->parameters[k]));
    }
}

static void put_strings(struct maker *m)
{
    m->string_data_at = (uint32_t)m->out.count;
    for (uint32_t i = 0; i < m->ids.string_count; i++) {
        const char *text = m->ids.strings[i];
        sim_dex_set32(&m->out, m->strings_at + i * 4, (uint32_t)m->out.count);
        sim_dex_put_uleb(&m->out, (uint32_t)strlen(text));
        sim_dex_put(&m->out, text, strlen(text) + 1);
    }
}

static bool put_code(struct maker *m, uint32_t method, bool *called, struct sim_dex_callee *callees)
{
    uint32_t count = 0;
    find_callees(m->scenario, method, called);
    for (uint32_t i = 0; i < m->scenario->method_count; i++)
        if (called[i])
            callees[count++] = (struct sim_dex_callee){i, m->place[i]};
    if (count > SIM_DEX_CALLEES_MAX) {
        strobe_error_set(m->error, "%s: %s calls %u methods, expected at most %d", m->scenario->path,
                         m->scenario->methods[method].name, count, SIM_DEX_CALLEES_MAX);
        return false;
    }
    sim_dex_align(&m->out, 4);
    m->code_at[m->place[method]] = (uint32_t)m->out.count;
    if (m->code_count++ == 0)
        m->first_code_at = (uint32_t)m->out.count;
    sim_dex_put_code(&m->out, &m->player, callees, count);
    return true;
}

static bool put_codes(struct maker *m)
{
    uint32_t methods = m->scenario->method_count;
    bool *called = calloc(methods + 1u, sizeof *called), whole = called;
    struct sim_dex_callee *callees = calloc(methods + 1u, sizeof *callees);
    m->out.failed |= !called || !callees;
    for (uint32_t i = 0; i < methods && whole && !m->out.failed; i++)
        if (m->scenario->methods[i].managed)
            whole = put_code(m, i, called, callees);
    free(called);
    free(callees);
    return whole;
}

/* Writes the methods [first, end) of a class. All are static, which the format calls direct. */
static void put_class_data(struct maker *m, uint32_t first, uint32_t end)
{
    struct sim_dex_bytes *out = &m->out;
    sim_dex_put_uleb(out, 0);
    sim_dex_put_uleb(out, 0);
    sim_dex_put_uleb(out, end - first);
    sim_dex_put_uleb(out, 0);
    for (uint32_t i = first, before = 0; i < end; before = i++) {
        sim_dex_put_uleb(out, i - before);
        sim_dex_put_uleb(out, ACC_PUBLIC | ACC_STATIC | (m->code_at[i] ? 0 : ACC_NATIVE));
        sim_dex_put_uleb(out, m->code_at[i]);
    }
}

static void put_classes(struct maker *m)
{
    const struct sim_dex_id *at = m->ids.methods;
    uint32_t def = m->classes_at;
    m->class_data_at = (uint32_t)m->out.count;
    for (uint32_t first = 0, end; first < m->ids.method_count; first = end) {
        for (end = first + 1; end < m->ids.method_count && !strcmp(at[first].class, at[end].class);)
            end++;
        if (at[first].number == (uint32_t)PLAYER_NUMBER)
            continue;
        sim_dex_set32(&m->out, def, sim_dex_type(&m->ids, at[first].class));
        sim_dex_set32(&m->out, def + 4, ACC_PUBLIC | ACC_FINAL);
        sim_dex_set32(&m->out, def + 8, sim_dex_type(&m->ids, OBJECT));
        sim_dex_set32(&m->out, def + 16, UINT32_MAX); /* no source file */
        sim_dex_set32(&m->out, def + 24, (uint32_t)m->out.count);
        put_class_data(m, first, end);
        def += CLASS_DEF_BYTES;
    }
}

static uint32_t put_map(struct maker *m)
{
    const struct {
        enum part part;
        uint32_t count, at;
    } items[] = {
        {HEADER, 1, 0},
        {STRING_ID, m->ids.string_count, m->strings_at},
        {TYPE_ID, m->ids.type_count, m->types_at},
        {PROTO_ID, SIM_DEX_PROTOS, m->protos_at},
        {METHOD_ID, m->ids.method_count, m->methods_at},
        {CLASS_DEF, m->class_count, m->classes_at},
        {TYPE_LIST, SIM_DEX_PROTOS, m->type_lists_at[0]},
        {STRING_DATA, m->ids.string_count, m->string_data_at},
        {CODE, m->code_count, m->first_code_at},
        {CLASS_DATA, m->class_count, m->class_data_at},
    };
    sim_dex_align(&m->out, 4);
    uint32_t at = (uint32_t)m->out.count, count = 1;
    sim_dex_put32(&m->out, 0);
    for (size_t i = 0; i < sizeof items / sizeof items[0]; i++) {
        if (items[i].count == 0)
            continue;
        count++;
        sim_dex_put32(&m->out, (uint32_t)items[i].part);
        sim_dex_put32(&m->out, items[i].count);
        sim_dex_put32(&m->out, items[i].at);
    }
    sim_dex_put32(&m->out, MAP_LIST);
    sim_dex_put32(&m->out, 1);
    sim_dex_put32(&m->out, at);
    sim_dex_set32(&m->out, at, count);
    return at;
}

static void set_header(struct maker *m, uint32_t map_at)
{
    struct sim_dex_bytes *out = &m->out;
    const uint32_t data_at = m->type_lists_at[0], bytes = (uint32_t)out->count;
    const uint32_t words[] = {
        bytes,
        HEADER_BYTES,
        0x12345678,
        0,
        0,
        map_at,
        m->ids.string_count,
        m->strings_at,
        m->ids.type_count,
        m->types_at,
        SIM_DEX_PROTOS,
        m->protos_at,
        0,
        0,
        m->ids.method_count,
        m->methods_at,
        m->class_count,
        m->class_count ? m->classes_at : 0,
        bytes - data_at,
        data_at,
    };
    for (uint32_t i = 0; i < sizeof words / sizeof words[0]; i++)
        sim_dex_set32(out, 32 + i * 4, words[i]);
    if (out->failed)
        return;
    memcpy(out->at, "dex\n035", 8);
    sim_dex_sha1(out->at + 32, out->count - 32, out->at + 12);
    sim_dex_set32(out, 8, sim_dex_adler32(out->at + 12, out->count - 12));
}

/* ---- file ---- */

static bool make_ids(struct maker *m)
{
    static const char *const besides[] = {OBJECT, NULL};
    uint32_t count = m->scenario->method_count + 3;
    struct sim_dex_id *ids = calloc(count, sizeof *ids);
    m->names = calloc(count, 2 * NAME_BYTES);
    m->place = calloc(count, sizeof *m->place);
    m->code_at = calloc(count, sizeof *m->code_at);
    m->out.failed = !ids || !m->names || !m->place || !m->code_at;
    if (m->out.failed || !make_names(m, ids)) {
        free(ids);
        return false;
    }
    m->out.failed = !sim_dex_ids_make(ids, count, besides, &m->ids);
    return !m->out.failed && find_places(m);
}

static bool dex_make_file(struct maker *m)
{
    if (m->scenario->method_count + 3 > METHODS_MAX) {
        strobe_error_set(m->error, "%s: %u methods, expected at most %d", m->scenario->path, m->scenario->method_count,
                         METHODS_MAX - 3);
        return false;
    }
    if (!make_ids(m))
        return false;
    put_ids(m);
    put_type_lists(m);
    put_strings(m);
    if (!put_codes(m))
        return false;
    put_classes(m);
    set_header(m, put_map(m));
    return !m->out.failed;
}

enum strobe_status sim_dex_of_scenario(const struct sim_scenario *s, void **out, size_t *bytes,
                                       struct strobe_error *error)
{
    struct maker m = {.scenario = s, .error = error};
    bool made = dex_make_file(&m);
    enum strobe_status status = made ? STROBE_OK : m.out.failed ? STROBE_IO : STROBE_BAD_INPUT;
    if (m.out.failed)
        strobe_error_set(error, "out of memory");
    *out = made ? m.out.at : NULL;
    *bytes = made ? m.out.count : 0;
    if (!made)
        free(m.out.at);
    sim_dex_ids_free(&m.ids);
    free(m.names);
    free(m.place);
    free(m.code_at);
    return status;
}
