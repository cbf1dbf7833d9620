/* Options of commands: any text is a number, a time or a count within its bounds, or it is refused and changes nothing.
 * A file's name states at most one format. The input is the text. */
#include "engine/cmd/arguments.h"
#include "engine/cmd/cmd.h"
#include "tests/fuzz/support/bytes.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/* In place of the command's function, which prints. */
int strobe_complain(const char *format, ...)
{
    (void)format;
    return STROBE_EXIT_BAD;
}

/* A number that is accepted reads back as what it is. */
static void check_number(const char *text, uint64_t number)
{
    char *end;
    fuzz_require(strtoull(text, &end, 10) == number && !*end);
}

/* A time that is accepted is what its number and its unit say. */
static void check_time(const char *text, uint64_t ns)
{
    char *unit;
    double value = strtod(text, &unit);
    double wanted = value * (*unit == 's' ? 1e9 : *unit == 'm' ? 1e6 : *unit == 'u' ? 1e3 : 1);
    double off = (double)ns - wanted;
    fuzz_require(off <= 1 + wanted * 1e-9 && off >= -1 - wanted * 1e-9);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    char *text = malloc(bytes + 1);
    uint64_t number = 7, ns = 7;
    uint32_t count = 7;
    enum strobe_format format;
    fuzz_require(text);
    memcpy(text, data, bytes);
    text[bytes] = '\0';
    if (strobe_parse_number(text, 1000000, &number)) {
        fuzz_require(number <= 1000000);
        check_number(text, number);
    } else {
        fuzz_require(number == 7);
    }
    if (strobe_parse_time(text, &ns))
        check_time(text, ns);
    else
        fuzz_require(ns == 7);
    fuzz_require(strobe_parse_count(text, 10, 5000000, &count) ? count >= 10 && count <= 5000000 : count == 7);
    fuzz_require(strobe_trace_ending(text, &format) <= strlen(text));
    free(text);
    return 0;
}
