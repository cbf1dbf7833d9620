/* Damaged files of the lab: with any bytes, reading a table of costs, a saved execution of the explorer, or a line of
 * results ends in a value, or in a line that states the error. A result that was read prints as text that reads back
 * the same. Input: one byte with the kind of file, then the file. */
#include "engine/base/error.h"
#include "sim/explore/saved.h"
#include "sim/runtime/costs.h"
#include "sim/score/result.h"
#include "tests/fuzz/support/bytes.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static char path[64];
static int fd;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    fd = memfd_create("file", 0);
    fuzz_require(fd >= 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return 0;
}

static void check_error(enum strobe_status status, const struct strobe_error *error)
{
    fuzz_require(status == STROBE_OK || (error->text[0] && !strchr(error->text, '\n')));
}

static void write_file(const uint8_t *data, size_t bytes)
{
    fuzz_require(ftruncate(fd, 0) == 0 && pwrite(fd, data, bytes, 0) == (ssize_t)bytes);
}

static char *print_result(const struct sim_result *r)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    fuzz_require(out);
    sim_result_print_json(r, out);
    fclose(out);
    return text;
}

static void read_result(const uint8_t *data, size_t bytes)
{
    struct sim_result r, again;
    struct strobe_error error = {""};
    char *line = malloc(bytes + 1);
    fuzz_require(line);
    memcpy(line, data, bytes);
    line[bytes] = '\0';
    enum strobe_status status = sim_result_read_line(line, &r, &error);
    check_error(status, &error);
    if (status == STROBE_OK) {
        char *printed = print_result(&r);
        fuzz_require(sim_result_read_line(printed, &again, &error) == STROBE_OK);
        char *printed_again = print_result(&again);
        fuzz_require(!strcmp(printed, printed_again));
        free(printed);
        free(printed_again);
        sim_result_free(&again);
        sim_result_free(&r);
    }
    free(line);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct fuzz_bytes in = {data, bytes};
    struct strobe_error error = {""};
    struct sim_costs costs;
    struct explore_saved saved;
    switch (fuzz_byte(&in) % 3) {
    case 0:
        write_file(in.at, in.left);
        check_error(sim_costs_read(path, &costs, &error), &error);
        break;
    case 1:
        write_file(in.at, in.left);
        check_error(explore_saved_read(path, &saved, &error), &error);
        explore_saved_free(&saved);
        break;
    default: read_result(in.at, in.left);
    }
    return 0;
}
