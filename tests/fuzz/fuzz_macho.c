/* Mach-O files with any bytes: reading one and converting it to an ELF file ends and stays within the bounds, and
 * the reader of ELF files accepts the result. */
#include "engine/base/error.h"
#include "engine/trace/symbols/function_index.h"
#include "engine/trace/symbols/macho_elf.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static const Dwfl_Callbacks callbacks = {.find_elf = dwfl_build_id_find_elf,
                                         .section_address = dwfl_offline_section_address,
                                         .find_debuginfo = dwfl_standard_find_debuginfo};

static void read_functions(int fd)
{
    struct strobe_function_index index;
    Dwfl *dwfl = dwfl_begin(&callbacks);
    if (!dwfl)
        abort();
    dwfl_report_begin(dwfl);
    Dwfl_Module *module = dwfl_report_elf(dwfl, "input", "input", fd, 0, true);
    dwfl_report_end(dwfl, NULL, NULL);
    if (!module)
        close(fd);
    else if (strobe_function_index_build(module, &index) == STROBE_OK)
        strobe_function_index_free(&index);
    dwfl_end(dwfl);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static struct strobe_macho m;
    struct strobe_macho_slice slices[STROBE_MACHO_SLICES_MAX];
    uint32_t count;
    struct strobe_error error;
    if (strobe_macho_slices(data, bytes, slices, &count, &error) != STROBE_OK)
        return 0;
    for (uint32_t i = 0; i < count; i++) {
        if (strobe_macho_read(data, &slices[i], &m, &error) != STROBE_OK)
            continue;
        int fd = memfd_create("elf", MFD_CLOEXEC);
        if (fd < 0 || strobe_macho_write_elf(&m, fd) != STROBE_OK)
            abort();
        read_functions(fd);
    }
    return 0;
}
