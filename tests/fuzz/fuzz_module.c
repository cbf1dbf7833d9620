/* Damaged libraries: with any bytes of a library, a search for symbols ends in an answer within the library or in a
 * line of error text, without a crash, a hang or a read out of bounds.
 *
 * libFuzzer's input is a list of edits to a small valid library that has all kinds of tables, .gnu_debugdata too.
 * The first two bytes state where the file ends. Every following four bytes are an offset (3, modulo the size) and a
 * value. */
#include "engine/backend/art/module.h"
#include "engine/base/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

enum { BYTES_MAX = 1 << 20 };

static const char *const names[] = {"f", "g", "h", "v", "absent", ""};
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
    FILE *f = popen("d=$(mktemp -d) && cd \"$d\" && echo 'int v = 1; int f(int x) { return x + v; }"
                    "static __attribute__((used)) int h(int x) { return f(x); } int g(void) { return h(2); }' >l.c && "
                    "${CC:-cc} -O1 -shared -fPIC -nostdlib -Wl,--hash-style=both,--build-id -o l.so l.c && "
                    "objcopy --only-keep-debug l.so m && xz m && objcopy --add-section .gnu_debugdata=m.xz l.so && "
                    "cat l.so && rm -r \"$d\"",
                    "r");
    must(f != NULL, "a compiler, objcopy, xz");
    valid_bytes = fread(valid, 1, sizeof valid, f);
    must(pclose(f) == 0 && valid_bytes > 1024 && valid_bytes < sizeof valid, "a compiler, objcopy, xz");
    fd = memfd_create("library", 0);
    must(fd >= 0, "memfd_create");
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct strobe_module m;
    struct strobe_error error;
    if (bytes < 2)
        return 0;
    size_t end = data[0] ? valid_bytes : valid_bytes * data[1] / 255;
    memcpy(edited, valid, valid_bytes);
    for (size_t at = 2; at + 4 <= bytes; at += 4)
        edited[((size_t)data[at] << 16 | (size_t)data[at + 1] << 8 | data[at + 2]) % valid_bytes] = data[at + 3];
    must(ftruncate(fd, 0) == 0 && pwrite(fd, edited, end, 0) == (ssize_t)end, "pwrite");
    if (strobe_module_open_file(path, 0, &m, &error) != STROBE_OK) {
        must(memchr(error.text, 0, sizeof error.text) != NULL && error.text[0] && !strchr(error.text, '\n'),
             "one line");
        return 0;
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        uint64_t address = strobe_module_symbol(&m, names[i]);
        must(!address || (address >= m.start && address < m.end), "an address in the library");
        must(bytes > 2 || !data[0] || !address == (i > 3), "the whole library has its symbols");
    }
    strobe_module_close(&m);
    return 0;
}
