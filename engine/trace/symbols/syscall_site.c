#include "engine/trace/symbols/syscall_site.h"

#include <elf.h>
#include <string.h>

enum { NUMBER_WITHIN = 48, NUMBER_END = 1024 };

/* ---- x86-64 ---- */

static int is_byte(const struct strobe_machine_code *c, size_t at, uint8_t value)
{
    return at < c->bytes && c->at[at] == value;
}

/* Returns 1 if there is an instruction ff /2 of this length at `at`: a call through a register or memory. */
static int is_indirect_call(const struct strobe_machine_code *c, size_t at, size_t length)
{
    if (!is_byte(c, at, 0xff) || at + 1 >= c->bytes || (c->at[at + 1] >> 3 & 7) != 2)
        return 0;
    unsigned mod = c->at[at + 1] >> 6, rm = c->at[at + 1] & 7;
    size_t expected = 2;
    if (mod != 3)
        expected += (rm == 4) + (mod == 1 ? 1u : mod == 2 || rm == 5 ? 4u : 0u);
    return expected == length;
}

static int follows_call(const struct strobe_machine_code *c, size_t address)
{
    if (address >= 5 && is_byte(c, address - 5, 0xe8))
        return 1;
    for (size_t length = 2; length <= 7 && length <= address; length++)
        if (is_indirect_call(c, address - length, length))
            return 1;
    return 0;
}

static int is_syscall_instruction(const struct strobe_machine_code *c, size_t at)
{
    return is_byte(c, at, 0x0f) && is_byte(c, at + 1, 0x05);
}

static uint32_t read_code_word(const struct strobe_machine_code *c, size_t at)
{
    uint32_t word;
    memcpy(&word, c->at + at, sizeof word);
    return word;
}

/* Searches backwards from the system call for the last constant loaded into eax: mov $N,%eax, mov $N,%rax or
 * xor %eax,%eax. A prefix before the first of these may select another register. */
static int x86_number(const struct strobe_machine_code *c, size_t site)
{
    for (size_t back = 2; back <= NUMBER_WITHIN && back <= site; back++) {
        size_t at = site - back;
        if (back == 2 && is_byte(c, at, 0x31) && is_byte(c, at + 1, 0xc0))
            return 0;
        int has_prefix = at > 0 && (c->at[at - 1] & 0xf0) == 0x40;
        if (back >= 5 && is_byte(c, at, 0xb8) && !has_prefix && read_code_word(c, at + 1) < NUMBER_END)
            return (int)read_code_word(c, at + 1);
        if (back >= 7 && is_byte(c, at, 0x48) && is_byte(c, at + 1, 0xc7) && is_byte(c, at + 2, 0xc0) &&
            read_code_word(c, at + 3) < NUMBER_END)
            return (int)read_code_word(c, at + 3);
    }
    return STROBE_SYSCALL_UNKNOWN;
}

static int x86_site(const struct strobe_machine_code *c, size_t address, int *number)
{
    size_t pc = address - 1;
    size_t site = pc >= 2 && is_syscall_instruction(c, pc - 2) ? pc - 2 : pc;
    if (!is_syscall_instruction(c, site) || follows_call(c, address))
        return 0;
    *number = x86_number(c, site);
    return 1;
}

/* ---- arm64 ---- */

static int arm64_number(const struct strobe_machine_code *c, size_t site)
{
    for (size_t back = 4; back <= NUMBER_WITHIN && back <= site; back += 4) {
        uint32_t word = read_code_word(c, site - back);
        if ((word & 0x7fe0001f) == 0x52800008) /* movz x8 or w8, #N */
            return (int)(word >> 5 & 0xffff) < NUMBER_END ? (int)(word >> 5 & 0xffff) : STROBE_SYSCALL_UNKNOWN;
    }
    return STROBE_SYSCALL_UNKNOWN;
}

/* Return addresses of calls are aligned. The address of an interrupted instruction is kept as its begin plus 1. */
static int arm64_site(const struct strobe_machine_code *c, size_t address, int *number)
{
    const uint32_t svc = 0xd4000001;
    size_t pc = address - 1;
    if (pc % 4 || pc + 4 > c->bytes)
        return 0;
    size_t site = pc >= 4 && read_code_word(c, pc - 4) == svc ? pc - 4 : pc;
    if (read_code_word(c, site) != svc)
        return 0;
    *number = arm64_number(c, site);
    return 1;
}

int strobe_syscall_site(const struct strobe_machine_code *code, size_t address, int *number)
{
    *number = STROBE_SYSCALL_UNKNOWN;
    if (!address || address > code->bytes)
        return 0;
    return code->machine == EM_X86_64    ? x86_site(code, address, number)
           : code->machine == EM_AARCH64 ? arm64_site(code, address, number)
                                         : 0;
}

/* ---- names ---- */

static const char *without_prefix(const char *name, const char *prefix)
{
    size_t n = strlen(prefix);
    return strncmp(name, prefix, n) ? name : name + n;
}

static int is_suffix(const char *end)
{
    static const char *const suffixes[] = {"", "64", "_nocancel", "64_nocancel", "_time64"};
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
        if (!strcmp(end, suffixes[i]))
            return 1;
    return 0;
}

int strobe_syscall_is_named(const char *function, const char *call)
{
    const char *name = without_prefix(function, "__GI_");
    name += strspn(name, "_");
    name = without_prefix(name, "libc_");
    if (!call)
        return !strncmp(name, "syscall", 7) && is_suffix(name + 7);
    call += strspn(call, "_");
    size_t n = strlen(call);
    return !strncmp(name, call, n) && is_suffix(name + n);
}
