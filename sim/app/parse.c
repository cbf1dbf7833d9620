#include "engine/base/error_format.h"
#include "sim/app/parser.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- faults ---- */

bool sim_parse_fault(struct sim_parser *p, const struct sim_place *place, const char *format, ...)
{
    if (p->status != STROBE_OK)
        return false;
    p->status = STROBE_BAD_INPUT;
    strobe_error_set(p->error, "%s:%u:%u: ", place->source->path, place->line, place->column);
    va_list args;
    va_start(args, format);
    strobe_error_add_list(p->error, format, args);
    va_end(args);
    return false;
}

bool sim_parse_no_memory(struct sim_parser *p)
{
    if (p->status != STROBE_OK)
        return false;
    p->status = STROBE_IO;
    errno = ENOMEM;
    strobe_error_set(p->error, "%s: no memory to read it", p->source->path);
    return false;
}

/* Describes a token for a message: its text, shortened when it is long. */
static const char *describe_token(const struct sim_token *t, char *out, size_t out_bytes)
{
    enum { SHOWN = 40 };
    if (t->kind == SIM_TOKEN_FILE_END)
        return "the end of the file";
    if (t->kind == SIM_TOKEN_LINE_END && *t->begin == '\n')
        return "the end of the line";
    if (t->wrong)
        return t->wrong;
    unsigned char c = (unsigned char)*t->begin;
    if (t->kind == SIM_TOKEN_WRONG && (c < ' ' || c == 0x7f || (c >= 0x80 && t->bytes == 1))) {
        snprintf(out, out_bytes, "byte 0x%02x", c);
        return out;
    }
    size_t n = t->bytes;
    if (n > SHOWN)
        for (n = SHOWN; n && (t->begin[n] & 0xc0) == 0x80; n--)
            continue;
    snprintf(out, out_bytes, t->kind == SIM_TOKEN_TEXT ? "%.*s%s" : "'%.*s%s'", (int)n, t->begin,
             n < t->bytes ? "..." : "");
    return out;
}

bool sim_parse_expected(struct sim_parser *p, const char *format, ...)
{
    char what[256], text[64];
    struct sim_place place = sim_parse_place(p);
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    return sim_parse_fault(p, &place, "expected %s, found %s", what, describe_token(&p->token, text, sizeof text));
}

/* ---- tokens ---- */

struct sim_place sim_parse_place(const struct sim_parser *p)
{
    return (struct sim_place){p->source, p->token.line, p->token.column};
}

void sim_parse_next(struct sim_parser *p)
{
    p->token = sim_lexer_next(&p->lexer);
}

bool sim_parse_accept(struct sim_parser *p, const char *word)
{
    if (!sim_token_is(&p->token, word))
        return false;
    sim_parse_next(p);
    return true;
}

bool sim_parse_expect(struct sim_parser *p, const char *mark)
{
    return sim_parse_accept(p, mark) || sim_parse_expected(p, "'%s'", mark);
}

void sim_parse_skip_lines(struct sim_parser *p)
{
    while (p->token.kind == SIM_TOKEN_LINE_END)
        sim_parse_next(p);
}

bool sim_parse_statement_end(struct sim_parser *p)
{
    if (p->token.kind == SIM_TOKEN_LINE_END || p->token.kind == SIM_TOKEN_FILE_END || sim_token_is(&p->token, "}"))
        return true;
    return sim_parse_expected(p, "the end of the line");
}

/* At the top level of a file '}' ends nothing. */
bool sim_parse_declaration_end(struct sim_parser *p)
{
    if (sim_token_is(&p->token, "}"))
        return sim_parse_expected(p, "the end of the line");
    return sim_parse_statement_end(p);
}

/* ---- sources ---- */

static struct sim_source *new_source(struct sim_parser *p, const char *path, struct sim_source *includer)
{
    struct sim_source *source = calloc(1, sizeof *source);
    size_t bytes = strlen(path) + 1;
    char *kept = source ? sim_scenario_take(p->s, bytes) : NULL;
    if (!kept) {
        free(source);
        return NULL;
    }
    memcpy(kept, path, bytes);
    *source = (struct sim_source){.next = p->sources, .includer = includer, .path = kept};
    p->sources = source;
    return source;
}

/* Reads a regular file of limited size; other files could be endless. Returns NULL, or an error text. */
static const char *load_source(struct sim_source *source)
{
    static const char too_large[] = "larger than 4 MiB";
    struct stat st;
    int fd = open(source->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        const char *why = fd < 0 ? strerror(errno) : "not a file";
        if (fd >= 0)
            close(fd);
        return why;
    }
    source->device = (uint64_t)st.st_dev;
    source->inode = (uint64_t)st.st_ino;
    source->owned = true;
    source->text = malloc(SIM_SOURCE_BYTES_MAX + 1);
    ssize_t n = source->text ? 1 : -1;
    while (n > 0 && source->bytes <= SIM_SOURCE_BYTES_MAX) {
        n = read(fd, source->text + source->bytes, SIM_SOURCE_BYTES_MAX + 1 - source->bytes);
        source->bytes += n > 0 ? (size_t)n : 0;
    }
    const char *why = n < 0 ? strerror(errno) : n > 0 ? too_large : NULL;
    close(fd);
    return why;
}

static bool declarations(struct sim_parser *p, struct sim_source *source)
{
    p->source = source;
    sim_lexer_open(&p->lexer, source->text, source->bytes);
    sim_parse_next(p);
    sim_parse_skip_lines(p);
    while (p->token.kind != SIM_TOKEN_FILE_END) {
        if (!sim_parse_declaration(p))
            return false;
        sim_parse_skip_lines(p);
    }
    return true;
}

/* Builds the path of an included file: relative to the including file, unless absolute. */
static bool make_include_path(struct sim_parser *p, const char *name, char *out, size_t out_bytes)
{
    const char *slash = strrchr(p->source->path, '/');
    int folder = *name == '/' || !slash ? 0 : (int)(slash + 1 - p->source->path);
    return snprintf(out, out_bytes, "%.*s%s", folder, p->source->path, name) < (int)out_bytes;
}

bool sim_parse_include(struct sim_parser *p)
{
    char path[4096];
    const char *name;
    sim_parse_next(p);
    struct sim_place place = sim_parse_place(p);
    if (!sim_parse_text(p, "the path of a file in \"\"", &name) || !sim_parse_declaration_end(p))
        return false;
    if (p->include_depth == SIM_INCLUDE_DEPTH_MAX || p->include_count == SIM_INCLUDES_MAX)
        return sim_parse_fault(p, &place,
                               "expected at most %d files that include one another, and %d in all, found "
                               "\"%s\"",
                               SIM_INCLUDE_DEPTH_MAX, SIM_INCLUDES_MAX, name);
    if (!make_include_path(p, name, path, sizeof path))
        return sim_parse_fault(p, &place, "expected a path of at most %zu bytes", sizeof path - 1);
    struct sim_source *includer = p->source, *source = new_source(p, path, includer);
    if (!source)
        return sim_parse_no_memory(p);
    const char *why = load_source(source);
    if (why)
        return sim_parse_fault(p, &place, "expected a file, found \"%s\": %s", path, why);
    for (const struct sim_source *s = includer; s; s = s->includer)
        if (s->inode == source->inode && s->device == source->device && s->inode)
            return sim_parse_fault(p, &place, "expected a file that does not include itself, found \"%s\"", name);
    struct sim_lexer lexer = p->lexer;
    struct sim_token token = p->token;
    p->include_depth++;
    p->include_count++;
    if (!declarations(p, source))
        return false;
    p->include_depth--;
    p->source = includer;
    p->lexer = lexer;
    p->token = token;
    return true;
}

static void close_parser(struct sim_parser *p)
{
    while (p->sources) {
        struct sim_source *source = p->sources;
        p->sources = source->next;
        if (source->owned)
            free(source->text);
        free(source);
    }
    free(p->declared);
    free(p->mentions);
    free(p->method_places);
    free(p->open_ops);
    free(p->op_faults);
    free(p->open_arms);
}

static enum strobe_status finish_parse(struct sim_parser *p, struct sim_scenario **out)
{
    if (p->status == STROBE_OK)
        *out = p->s;
    else
        sim_scenario_free(p->s);
    close_parser(p);
    return p->status;
}

static enum strobe_status begin_parse(struct sim_parser *p, const char *path, struct sim_scenario **out,
                                      struct strobe_error *error)
{
    *out = NULL;
    *p = (struct sim_parser){.error = error, .s = sim_scenario_new()};
    struct sim_source *source = p->s ? new_source(p, path, NULL) : NULL;
    if (!source) {
        sim_scenario_free(p->s);
        strobe_error_set(error, "%s: no memory to read it", path);
        return STROBE_IO;
    }
    p->source = source;
    p->s->path = source->path;
    return STROBE_OK;
}

enum strobe_status sim_scenario_read(const char *path, struct sim_scenario **out, struct strobe_error *error)
{
    struct sim_parser p;
    if (begin_parse(&p, path, out, error) != STROBE_OK)
        return STROBE_IO;
    const char *cannot = load_source(p.source);
    if (cannot) {
        p.status = STROBE_IO;
        strobe_error_set(error, "%s: expected a scenario: %s", path, cannot);
    } else if (declarations(&p, p.source)) {
        sim_parse_resolve(&p);
    }
    return finish_parse(&p, out);
}

enum strobe_status sim_scenario_parse(const char *text, const char *path, struct sim_scenario **out,
                                      struct strobe_error *error)
{
    struct sim_parser p;
    if (begin_parse(&p, path, out, error) != STROBE_OK)
        return STROBE_IO;
    p.source->text = (char *)text;
    p.source->bytes = strlen(text);
    if (declarations(&p, p.source))
        sim_parse_resolve(&p);
    return finish_parse(&p, out);
}
