/* ftrace text is found in each file that contains it: compressed, in systrace HTML of any version, damaged. */
#include "engine/trace/import/systrace/systrace_read.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include <cmocka.h>

static const char TEXT[] = "# tracer: nop\na-1 [000] 1.000001: x: \"quoted\" \\ and more\na-1 [000] 1.000002: y: z\n";

static char found[1 << 17];
static size_t found_bytes;
static struct strobe_systrace_stats stats;

static void take(void *ctx, const char *text, size_t bytes)
{
    (void)ctx;
    assert_true(found_bytes + bytes < sizeof found);
    memcpy(found + found_bytes, text, bytes);
    found_bytes += bytes;
    found[found_bytes] = 0;
}

static void read_file(const char *file, size_t bytes)
{
    const struct strobe_systrace_sink sink = {NULL, take};
    found_bytes = 0;
    found[0] = 0;
    char *exact = malloc(bytes + 1); /* so that a sanitizer sees reads behind the end */
    memcpy(exact, file, bytes);
    assert_int_equal(strobe_systrace_read(exact, bytes, &sink, &stats), STROBE_OK);
    free(exact);
}

static void gives(const char *file, size_t bytes, const char *expected)
{
    read_file(file, bytes);
    assert_string_equal(found, expected);
}

static size_t pack(const char *text, char *out, size_t room, int bits)
{
    z_stream z = {0};
    assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, bits, 8, Z_DEFAULT_STRATEGY), Z_OK);
    z.next_in = (unsigned char *)(uintptr_t)text;
    z.avail_in = (uInt)strlen(text);
    z.next_out = (unsigned char *)out;
    z.avail_out = (uInt)room;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    size_t bytes = z.total_out;
    deflateEnd(&z);
    return bytes;
}

static void encode_base64(const char *in, size_t bytes, char *out)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *p = (const unsigned char *)in;
    for (size_t i = 0; i < bytes; i += 3) {
        uint32_t n =
            (uint32_t)p[i] << 16 | (i + 1 < bytes ? (uint32_t)p[i + 1] << 8 : 0) | (i + 2 < bytes ? p[i + 2] : 0);
        for (int k = 0; k < 4; k++)
            *out++ = i + (size_t)k > bytes ? '=' : digits[n >> (18 - 6 * k) & 63];
        if (i % 57 == 54)
            *out++ = '\n';
    }
    *out = 0;
}

/* Writes `in` as a string of JSON; bytes above 126 as \u00XX. */
static void encode_string(const char *in, size_t bytes, const char *line_end, char *out)
{
    for (size_t i = 0; i < bytes; i++) {
        unsigned char c = (unsigned char)in[i];
        if (c == '\n')
            out += sprintf(out, "%s", line_end);
        else if (c == '"' || c == '\\')
            out += sprintf(out, "\\%c", c);
        else
            out += sprintf(out, c < 32 || c > 126 ? "\\u%04x" : "%c", c);
    }
    *out = 0;
}

static void text_is_passed_on_as_it_is(void **state)
{
    (void)state;
    gives(TEXT, strlen(TEXT), TEXT);
    assert_int_equal(stats.parts, 1);
    gives("", 0, "");
    gives("TRACE:\nx", 8, "TRACE:\nx");
}

static void compressed_text_is_inflated(void **state)
{
    char file[2048];
    (void)state;
    gives(file, pack(TEXT, file, sizeof file, 15), TEXT);
    gives(file, pack(TEXT, file, sizeof file, 31), TEXT);
    size_t head = (size_t)sprintf(file, "capturing trace... done\nTRACE:\n");
    gives(file, head + pack(TEXT, file + head, sizeof file - head, 15), TEXT);
    assert_int_equal(stats.damaged, 0);
}

static void a_damaged_part_is_counted_and_its_begin_is_read(void **state)
{
    char *text = malloc(100001), *file = malloc(100001);
    (void)state;
    for (int i = 0; i < 100000; i++)
        text[i] = (char)('a' + rand() % 26);
    text[100000] = 0;
    size_t bytes = pack(text, file, 100000, 15);
    read_file(file, bytes / 2);
    assert_int_equal(stats.damaged, 1);
    assert_true(found_bytes > 20000 && found_bytes < 100000);
    assert_memory_equal(found, text, found_bytes);
    memset(file + bytes / 2, 0xff, 100);
    read_file(file, bytes);
    assert_int_equal(stats.damaged, 1);
    free(text);
    free(file);
}

static void each_form_of_html_gives_its_text(void **state)
{
    static const char element[] = "<script class=\"trace-data\" type=\"application/text\">";
    char packed[2048], coded[4096], html[8192], expected[512];
    (void)state;
    snprintf(expected, sizeof expected, "%s\n", TEXT);
    size_t bytes = pack(TEXT, packed, sizeof packed, 15);

    snprintf(html, sizeof html, "<!DOCTYPE html>\n<script>var a = 1;</script>%s\n%s</script>\n<b>", element, TEXT);
    gives(html, strlen(html), expected);
    snprintf(html, sizeof html, "  <HTML><SCRIPT id=x class='trace-data'>%s</SCRIPT>", TEXT);
    gives(html, strlen(html), expected);

    encode_base64(packed, bytes, coded);
    snprintf(html, sizeof html, "<html>%s\n%s\n</script>", element, coded);
    gives(html, strlen(html), expected);

    encode_string(TEXT, strlen(TEXT), "\\n", coded);
    snprintf(html, sizeof html, "<html>%s{\"traceEvents\": [], \"systemTraceEvents\": \"%s\"}</script>", element,
             coded);
    gives(html, strlen(html), expected);

    encode_string(TEXT, strlen(TEXT), "\\n\\\n", coded);
    snprintf(html, sizeof html, "<html><script>\nvar linuxPerfData = \"\\\n%s\";\n</script>", coded);
    gives(html, strlen(html), expected);

    encode_string(packed, bytes, "\\n", coded);
    snprintf(html, sizeof html, "<html><script>\nvar linuxPerfData = \"%s\";\n</script>", coded);
    gives(html, strlen(html), expected);
    assert_int_equal(stats.damaged, 0);
}

static void json_of_chrome_gives_its_system_trace(void **state)
{
    char coded[2048], json[4096];
    (void)state;
    encode_string(TEXT, strlen(TEXT), "\\n", coded);
    snprintf(json, sizeof json, "{\"traceEvents\": [],\n\"systemTraceEvents\" : \"%s\"}", coded);
    gives(json, strlen(json), TEXT);
    gives("{\"traceEvents\": []}", 19, "");
    assert_int_equal(stats.foreign, 1);
}

static void elements_without_text_are_counted(void **state)
{
    static const char html[] = "<html><script class=\"trace-data\">{\"traceEvents\": []}</script>"
                               "<script class=\"trace-data\">QUJDREVGR0hJSktMTU5PUA==</script>"
                               "<script class=\"trace-data\"></script><script class=\"trace-data\" x";
    (void)state;
    gives(html, strlen(html), "\n\n\n");
    assert_int_equal(stats.foreign, 2);
    assert_int_equal(stats.parts, 0);
}

static void several_elements_are_read_and_a_missing_end_is_forgiven(void **state)
{
    static const char html[] = "<html><script class=\"trace-data\">one</script><p><script class=\"trace-data\">two";
    (void)state;
    gives(html, strlen(html), "one\ntwo\n");
    assert_int_equal(stats.parts, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_is_passed_on_as_it_is),
        cmocka_unit_test(compressed_text_is_inflated),
        cmocka_unit_test(a_damaged_part_is_counted_and_its_begin_is_read),
        cmocka_unit_test(each_form_of_html_gives_its_text),
        cmocka_unit_test(json_of_chrome_gives_its_system_trace),
        cmocka_unit_test(elements_without_text_are_counted),
        cmocka_unit_test(several_elements_are_read_and_a_missing_end_is_forgiven),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
