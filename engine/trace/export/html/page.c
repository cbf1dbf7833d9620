#include "engine/trace/export/html/page.h"

#include "engine/util/utf8.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* The sources of the viewer (page_text.S). */
extern const char strobe_page_html[], strobe_page_css[], strobe_page_js[];

/* Returns the escape of the character at `p` within a string, and its bytes in *bytes. NULL: it needs none. */
static const char *page_escape(const char *p, size_t left, size_t *bytes)
{
    *bytes = 1;
    switch (*p) {
    case '<': return "\\u003c";
    case '>': return "\\u003e";
    case '&': return "\\u0026";
    default: break;
    }
    if (left < 3 || memcmp(p, "\xe2\x80", 2) != 0 || (p[2] != '\xa8' && p[2] != '\xa9'))
        return NULL;
    *bytes = 3;
    return p[2] == '\xa8' ? "\\u2028" : "\\u2029";
}

void strobe_page_json(struct strobe_outfile *out, const char *json, size_t bytes)
{
    bool in_string = false;
    size_t kept = 0; /* bytes before this one are written */
    for (size_t i = 0, n = 1; i < bytes; i += n, n = 1) {
        const char *escape = in_string ? page_escape(json + i, bytes - i, &n) : NULL;
        bool blank = !in_string && strchr(" \n\t\r", json[i]);
        if (!escape && !blank) {
            if (json[i] == '"')
                in_string = !in_string;
            else if (in_string && json[i] == '\\' && i + 1 < bytes)
                n = 2;
            continue;
        }
        strobe_outfile_write(out, json + kept, i - kept);
        strobe_outfile_text(out, escape ? escape : "");
        kept = i + n;
    }
    strobe_outfile_write(out, json + kept, bytes - kept);
}

static void write_page_title(struct strobe_outfile *out, const char *text)
{
    for (size_t n; *text; text += n) {
        char c = *text;
        size_t whole = strobe_utf8_bytes(text, 4);
        n = whole ? whole : 1;
        if (!whole || (unsigned char)c < ' ' || c == 0x7f)
            strobe_outfile_text(out, "\xef\xbf\xbd");
        else if (strchr("&<>\"", c))
            strobe_outfile_text(out, c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : "&quot;");
        else
            strobe_outfile_write(out, text, n);
    }
}

static enum strobe_status write_page_part(struct strobe_outfile *out, const struct strobe_page_part *part)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&text, &bytes);
    if (!stream)
        return STROBE_IO;
    part->write(part->ctx, stream);
    bool failed = ferror(stream);
    failed |= fclose(stream) != 0;
    if (!failed) {
        strobe_outfile_text(out, "<script type=\"application/json\" id=\"data-");
        strobe_outfile_text(out, part->id);
        strobe_outfile_text(out, "\">");
        strobe_page_json(out, text, bytes);
        strobe_outfile_text(out, "</script>\n");
    }
    free(text);
    return failed ? STROBE_IO : STROBE_OK;
}

/* Returns the length of the place holder at `p`, or 0 when there is none. *which is its first letter. */
static size_t page_place(const char *p, char *which)
{
    static const char *const places[] = {"@title@", "@style@", "@data@", "@code@"};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (!strncmp(p, places[i], strlen(places[i]))) {
            *which = places[i][1];
            return strlen(places[i]);
        }
    return 0;
}

enum strobe_status strobe_page_write_with(struct strobe_outfile *out, const char *title,
                                          const struct strobe_page_part *parts, size_t count,
                                          const struct strobe_page_source *more)
{
    enum strobe_status status = STROBE_OK;
    for (const char *p = strobe_page_html; *p && status == STROBE_OK;) {
        char which = 0;
        size_t text = strcspn(p, "@"), place = page_place(p + text, &which);
        strobe_outfile_write(out, p, text);
        p += text;
        if (which == 't') {
            write_page_title(out, title);
        } else if (which == 's') {
            strobe_outfile_text(out, strobe_page_css);
            strobe_outfile_text(out, more->style);
        } else if (which == 'c') {
            strobe_outfile_text(out, strobe_page_js);
            strobe_outfile_text(out, more->script);
        }
        for (size_t i = 0; which == 'd' && i < count && status == STROBE_OK; i++)
            status = write_page_part(out, &parts[i]);
        if (*p && !place)
            strobe_outfile_write(out, p, place = 1);
        p += place;
    }
    return status;
}

enum strobe_status strobe_page_write(struct strobe_outfile *out, const char *title,
                                     const struct strobe_page_part *parts, size_t count)
{
    return strobe_page_write_with(out, title, parts, count, &(struct strobe_page_source){"", ""});
}
