/* Damaged call frame information: with any bytes of .eh_frame_hdr and .eh_frame, a search for a rule ends and reads
 * nothing outside of them.
 *
 * libFuzzer's input is a list of edits to this program's own information. The first two bytes state where the
 * information ends. Every following four bytes are an offset (3, modulo the size) and a value. Rules are searched
 * for at the first addresses of the table. */
#include "engine/backend/linux/eh_frame.h"

#include <link.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

enum { BYTES_MAX = 1 << 16, PLACES = 8 };

static const uint8_t *whole;
static uint64_t whole_bytes, header;

static int find_own(struct dl_phdr_info *info, size_t bytes, void *unused)
{
    (void)bytes, (void)unused;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_GNU_EH_FRAME)
            header = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uint64_t at = info->dlpi_addr + p->p_vaddr;
        if (p->p_type == PT_LOAD && header - at < p->p_filesz)
            whole_bytes = at + p->p_filesz - header;
    }
    return 1;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    dl_iterate_phdr(find_own, NULL);
    whole = (const uint8_t *)(uintptr_t)header;
    if (whole_bytes < 256)
        abort();
    if (whole_bytes > BYTES_MAX)
        whole_bytes = BYTES_MAX; /* the table then states more entries than there are */
    return 0;
}

static void look_up(const uint8_t *at, uint64_t size)
{
    struct strobe_eh_frame e;
    strobe_eh_frame_start(at, size, header);
    if (strobe_eh_frame_open(at, size, header, header, &e) != STROBE_OK)
        return;
    for (uint64_t i = 0; i < PLACES; i++) {
        uint64_t start, end;
        if (!strobe_eh_frame_range(&e, i, &start, &end))
            continue;
        strobe_eh_frame_rule(&e, start);
        strobe_eh_frame_rule(&e, start + (end - start) / 2);
        strobe_eh_frame_rule(&e, end - 1);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    if (bytes < 2)
        return 0;
    uint64_t size = data[0] ? whole_bytes : whole_bytes * data[1] / 255;
    uint8_t *at = malloc(size ? size : 1); /* of this size, so that a sanitizer sees each read outside */
    if (!at)
        abort();
    memcpy(at, whole, size);
    for (size_t i = 2; size && i + 4 <= bytes; i += 4)
        at[((uint64_t)data[i] << 16 | (uint64_t)data[i + 1] << 8 | data[i + 2]) % size] = data[i + 3];
    look_up(at, size);
    free(at);
    return 0;
}
