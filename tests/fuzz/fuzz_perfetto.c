/* Damaged traces: with any bytes of a Perfetto trace, the import and its sums end in a status, without a crash, a
 * hang or a read out of bounds. The input is the file itself. */
#include "engine/base/error.h"
#include "engine/trace/import/perfetto/import_perfetto.h"
#include "engine/trace/report/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void must(int ok, const char *what)
{
    if (!ok) {
        perror(what);
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static FILE *nowhere;
    static char path[64];
    static int fd = -1;
    struct strobe_error error = {""};
    struct strobe_report *report;
    struct strobe_report_options options = {.top = 5};
    if (fd < 0) {
        fd = memfd_create("trace", 0);
        nowhere = fopen("/dev/null", "w");
        must(fd >= 0 && nowhere != NULL, "memfd_create");
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    }
    must(ftruncate(fd, 0) == 0 && pwrite(fd, data, bytes, 0) == (ssize_t)bytes, "pwrite");
    if (strobe_report_trace(path, &options, &report, &error) == STROBE_OK) {
        strobe_report_print(report, nowhere);
        strobe_report_print_json(report, nowhere);
        strobe_report_close(report);
    } else {
        must(error.text[0] != 0, "a failure says why");
    }
    return 0;
}
