/* Damaged Mach-O images in memory: with any headers and tables, hooks are installed or refused within the memory
 * that the loader mapped, and changed words are restored.
 *
 * libFuzzer's input is a list of edits to a small valid image: two bytes for an offset and one for a value. When the
 * offset's highest bit is set, the next four bytes are a word. */
#include "engine/backend/mach/image.h"
#include "engine/backend/mach/rebind.h"
#include "tests/unit/support/mach_image.h"

#include <mach/mach.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

mach_port_t mach_task_self_;
static uint8_t *memory;
static struct mach_image valid;
static int function[MACH_IMAGE_SYMBOLS], hook[MACH_IMAGE_SYMBOLS];
static const struct strobe_rebinding rebindings[] = {
    {"first", &hook[0], &function[0]},
    {"second", &hook[1], &function[1]},
    {"", &hook[2], &function[2]},
};
enum { REBINDINGS = sizeof rebindings / sizeof rebindings[0], ROOM = 16 };

static void must(int ok, const char *what)
{
    if (!ok) {
        perror(what);
        abort();
    }
}

static int within(uint64_t at, uint64_t bytes)
{
    uint64_t start = (uint64_t)(uintptr_t)memory;
    return at >= start && at - start <= MACH_IMAGE_BYTES && bytes <= MACH_IMAGE_BYTES - (at - start);
}

kern_return_t vm_protect(task_t task, vm_address_t address, vm_size_t bytes, boolean_t set_maximum, vm_prot_t to)
{
    (void)task, (void)set_maximum, (void)to;
    must(within(address, bytes), "only the image's own pages are changed");
    return KERN_SUCCESS;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    memory = mmap(NULL, MACH_IMAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    must(memory != MAP_FAILED, "mmap");
    return 0;
}

static void edit(const uint8_t *data, size_t bytes)
{
    for (size_t at = 0; at + 3 <= bytes;) {
        size_t place = ((size_t)data[at] << 8 | data[at + 1]) & 0x7fff;
        size_t width = data[at] & 0x80 ? 4 : 1;
        if (at + 2 + width > bytes)
            return;
        memcpy(memory + place % (MACH_IMAGE_BYTES - 4), data + at + 2, width);
        at += 2 + width;
    }
}

/* True when all segments lie in mapped memory. A loader maps them so, or refuses the image. */
static int is_mapped(void)
{
    struct strobe_mach_image i;
    const struct load_command *c = NULL;
    if (!strobe_mach_image_read(valid.header, valid.slide, &i))
        return 1; /* the tested function must refuse it, too */
    while (strobe_mach_image_command(&i, &c)) {
        const struct segment_command_64 *s = (const void *)c;
        if (c->cmd == LC_SEGMENT_64 && s->initprot && !within(s->vmaddr + (uint64_t)valid.slide, s->vmsize))
            return 0;
    }
    return 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static uint8_t before[MACH_IMAGE_BYTES];
    struct strobe_rebound made[ROOM];
    size_t count = 0;
    mach_image_make(&valid, memory);
    for (int s = 0; s < MACH_IMAGE_SECTIONS; s++)
        for (int p = 0; p < MACH_IMAGE_SYMBOLS; p++)
            valid.pointer[s][p] = &function[p];
    edit(data, bytes);
    if (!is_mapped())
        return 0;
    memcpy(before, memory, sizeof before);
    enum strobe_status status =
        strobe_rebind_image(valid.header, valid.slide, rebindings, REBINDINGS, made, ROOM, &count);
    must(status != STROBE_BAD_INPUT || !count, "what is refused is not changed");
    must(bytes > 2 || (status == STROBE_OK && count == 2 * MACH_IMAGE_SECTIONS), "the whole image is done");
    for (size_t i = 0; i < count; i++)
        must(within((uint64_t)(uintptr_t)made[i].at, sizeof(void *)), "a pointer of the image");
    strobe_rebind_undo(rebindings, made, count);
    must(memcmp(before, memory, sizeof before) == 0, "all is given back");
    return 0;
}
