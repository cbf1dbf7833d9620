/* Code of recorded programs: with any bytes around any address, the search for a system call reads within them, and
 * gives a number that a name can be searched for. Input: the machine and the address (3 bytes), then the code. */
#include "engine/trace/symbols/syscall_site.h"
#include "tests/fuzz/support/bytes.h"

#include <elf.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static const unsigned machines[] = {EM_X86_64, EM_AARCH64, EM_386};
    struct fuzz_bytes in = {data, bytes};
    unsigned machine = machines[fuzz_below(&in, 3)];
    size_t address = fuzz_pair(&in);
    struct strobe_machine_code code = {machine, in.at, in.left};
    int number = -2;
    address %= in.left + 1;
    if (strobe_syscall_site(&code, address, &number)) {
        fuzz_require(number >= STROBE_SYSCALL_UNKNOWN);
        const char *name = strobe_syscall_name(machine, number);
        fuzz_require(!name || strobe_syscall_is_named(name, name));
    }
    return 0;
}
