/* Damaged programs: with any bytes of a program file, the check of it returns an answer, without a crash, a hang or
 * a read out of bounds.
 *
 * libFuzzer's input is a list of edits to a small valid program. The first two bytes state where the file ends.
 * Every following four bytes are an offset (3, modulo the size) and a value. */
#include "engine/trace/symbols/elf_info.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

enum { BYTES_MAX = 1 << 20 };

static uint8_t valid[BYTES_MAX], edited[BYTES_MAX];
static size_t valid_bytes;
static char path[64];
static int fd;

static void must(int ok, const char *what)
{
    if (!ok) {
        perror(what);
        abort();
    }
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    FILE *f = fopen("/bin/true", "rb");
    must(f != NULL, "/bin/true");
    valid_bytes = fread(valid, 1, sizeof valid, f);
    must(valid_bytes > 4096, "/bin/true is too small");
    fclose(f);
    fd = memfd_create("program", 0);
    must(fd >= 0, "memfd_create");
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static struct strobe_elf_info info;
    if (bytes < 2)
        return 0;
    size_t end = data[0] ? valid_bytes : valid_bytes * data[1] / 255;
    memcpy(edited, valid, valid_bytes);
    for (size_t at = 2; at + 4 <= bytes; at += 4)
        edited[((size_t)data[at] << 16 | (size_t)data[at + 1] << 8 | data[at + 2]) % valid_bytes] = data[at + 3];
    must(ftruncate(fd, 0) == 0 && pwrite(fd, edited, end, 0) == (ssize_t)end, "pwrite");
    must(strobe_elf_info(path, &info) == STROBE_OK, "elf_info");
    strobe_elf_count_frames(path, &info);
    must(info.functions_with_fp <= info.functions, "counts");
    must(memchr(info.interpreter, 0, sizeof info.interpreter) != NULL, "interpreter ends");
    return 0;
}
