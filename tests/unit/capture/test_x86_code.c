/* The lengths and effects of instructions equal those that capstone reports, on all code of the C library. */
#include "engine/capture/x86_code.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#ifdef __x86_64__

#include <capstone/capstone.h>
#include <link.h>

struct tally {
    uint64_t instructions, unknown, wrong_length, unseen_write, stack;
};

static csh capstone;

static bool is_frame_register(uint16_t reg)
{
    return reg == X86_REG_RSP || reg == X86_REG_ESP || reg == X86_REG_SP || reg == X86_REG_RBP || reg == X86_REG_EBP ||
           reg == X86_REG_BP;
}

static bool writes_frame_register(const cs_insn *i)
{
    cs_regs read, written;
    uint8_t read_count, written_count;
    bool returns = cs_insn_group(capstone, i, CS_GRP_RET);
    if (returns || cs_regs_access(capstone, i, read, &read_count, written, &written_count) != 0)
        return false;
    for (uint8_t k = 0; k < written_count; k++)
        if (is_frame_register(written[k]))
            return true;
    return false;
}

static void compare(const uint8_t *code, const cs_insn *i, struct tally *t)
{
    uint32_t length;
    enum strobe_x86_effect effect = strobe_x86_decode(code, i->size, &length);
    t->instructions++;
    t->stack += effect == STROBE_X86_STACK;
    if (effect == STROBE_X86_UNKNOWN) {
        t->unknown++;
        return;
    }
    bool unseen = effect == STROBE_X86_NOTHING && writes_frame_register(i);
    if ((length != i->size && !t->wrong_length++) || (unseen && !t->unseen_write++))
        print_message("%s %s: %u bytes, not %u, first %02x %02x %02x %02x\n", i->mnemonic, i->op_str, i->size, length,
                      code[0], code[1], code[2], code[3]);
}

static void compare_all(const uint8_t *code, size_t bytes, struct tally *t)
{
    uint64_t address = (uintptr_t)code;
    cs_insn *i = cs_malloc(capstone);
    while (bytes) {
        const uint8_t *at = code;
        if (cs_disasm_iter(capstone, &code, &bytes, &address, i)) {
            compare(at, i, t);
        } else {
            code++;
            bytes--;
            address++;
        }
    }
    cs_free(i, 1);
}

static int visit(struct dl_phdr_info *info, size_t size, void *tally)
{
    (void)size;
    for (int i = 0; strstr(info->dlpi_name, "libc.so") && i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type == PT_LOAD && p->p_flags & PF_X)
            compare_all((const uint8_t *)(uintptr_t)(info->dlpi_addr + p->p_vaddr), p->p_filesz, tally);
    }
    return 0;
}

static void lengths_and_effects_are_those_of_capstone(void **state)
{
    struct tally t = {0};
    (void)state;
    assert_int_equal(cs_open(CS_ARCH_X86, CS_MODE_64, &capstone), CS_ERR_OK);
    cs_option(capstone, CS_OPT_DETAIL, CS_OPT_ON);
    dl_iterate_phdr(visit, &t);
    cs_close(&capstone);
    print_message("%llu instructions, %llu unknown, %llu of the stack\n", (unsigned long long)t.instructions,
                  (unsigned long long)t.unknown, (unsigned long long)t.stack);
    assert_true(t.instructions > 100000 && t.stack > t.instructions / 50);
    assert_int_equal(t.wrong_length, 0);
    assert_int_equal(t.unseen_write, 0);
    assert_true(t.unknown < t.instructions / 50);
}

#endif

struct example {
    const char *what;
    uint8_t code[12];
    uint32_t bytes;
    enum strobe_x86_effect effect;
};

static const struct example examples[] = {
    {"nop", {0x90}, 1, STROBE_X86_NOTHING},
    {"ret", {0xc3}, 1, STROBE_X86_NOTHING},
    {"lea 1(%rdi),%eax", {0x8d, 0x47, 0x01}, 3, STROBE_X86_NOTHING},
    {"mov %edi,-4(%rsp)", {0x89, 0x7c, 0x24, 0xfc}, 4, STROBE_X86_NOTHING},
    {"cmp %rsp,%rax", {0x48, 0x39, 0xe0}, 3, STROBE_X86_NOTHING},
    {"movabs $imm64,%rax", {0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8}, 10, STROBE_X86_NOTHING},
    {"nopw cs:disp32(%rax,%rax)", {0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0}, 10, STROBE_X86_NOTHING},
    {"mov %rax,%r12", {0x49, 0x89, 0xc4}, 3, STROBE_X86_NOTHING},
    {"testb $1,(%rdi)", {0xf6, 0x07, 0x01}, 3, STROBE_X86_NOTHING},
    {"negb (%rdi)", {0xf6, 0x1f}, 2, STROBE_X86_NOTHING},
    {"vaddps %ymm0,%ymm1,%ymm4", {0xc5, 0xf4, 0x58, 0xe0}, 4, STROBE_X86_NOTHING},
    {"push %rbx", {0x53}, 1, STROBE_X86_STACK},
    {"push %r12", {0x41, 0x54}, 2, STROBE_X86_STACK},
    {"pop %rbp", {0x5d}, 1, STROBE_X86_STACK},
    {"sub $16,%rsp", {0x48, 0x83, 0xec, 0x10}, 4, STROBE_X86_STACK},
    {"sub $4096,%rsp", {0x48, 0x81, 0xec, 0, 16, 0, 0}, 7, STROBE_X86_STACK},
    {"lea -8(%rsp),%rsp", {0x48, 0x8d, 0x64, 0x24, 0xf8}, 5, STROBE_X86_STACK},
    {"mov %rsp,%rbp", {0x48, 0x89, 0xe5}, 3, STROBE_X86_STACK},
    {"mov %rsp,%rbp, the other way", {0x48, 0x8b, 0xec}, 3, STROBE_X86_STACK},
    {"mov %rax,%rsp", {0x48, 0x89, 0xc4}, 3, STROBE_X86_STACK},
    {"xchg %rax,%rbp", {0x48, 0x95}, 2, STROBE_X86_STACK},
    {"call rel32", {0xe8, 0, 0, 0, 0}, 5, STROBE_X86_STACK},
    {"call *%rax", {0xff, 0xd0}, 2, STROBE_X86_STACK},
    {"leave", {0xc9}, 1, STROBE_X86_STACK},
    {"vaddps %zmm1,%zmm0,%zmm0", {0x62, 0xf1, 0x7c, 0x48, 0x58, 0xc1}, 6, STROBE_X86_NOTHING},
    {"vpshufb %xmm2,%xmm1,%xmm0", {0xc4, 0xe2, 0x71, 0x00, 0xc2}, 5, STROBE_X86_NOTHING},
    {"vpalignr $8,%xmm2,%xmm1,%xmm0", {0xc4, 0xe3, 0x71, 0x0f, 0xc2, 8}, 6, STROBE_X86_NOTHING},
    {"vzeroupper", {0xc5, 0xf8, 0x77}, 3, STROBE_X86_NOTHING},
    {"pshufb %xmm1,%xmm0", {0x66, 0x0f, 0x38, 0x00, 0xc1}, 5, STROBE_X86_NOTHING},
    {"palignr $8,%xmm1,%xmm0", {0x66, 0x0f, 0x3a, 0x0f, 0xc1, 8}, 6, STROBE_X86_NOTHING},
    {"mov abs64,%eax", {0xa1, 1, 2, 3, 4, 5, 6, 7, 8}, 9, STROBE_X86_NOTHING},
    {"mov abs32,%eax", {0x67, 0xa1, 1, 2, 3, 4}, 6, STROBE_X86_NOTHING},
    {"cmpw $imm16,(%rdi)", {0x66, 0x81, 0x3f, 1, 2}, 5, STROBE_X86_NOTHING},
    {"mov disp32(,%rdi,8),%eax", {0x8b, 0x04, 0xfd, 1, 2, 3, 4}, 7, STROBE_X86_NOTHING},
    {"mov disp32(%rip),%eax", {0x8b, 0x05, 1, 2, 3, 4}, 6, STROBE_X86_NOTHING},
    {"a map that no instruction has", {0xc4, 0xe4, 0x71, 0x00, 0xc2}, 0, STROBE_X86_UNKNOWN},
    {"the map of one-byte opcodes", {0x62, 0xf0, 0x7c, 0x48, 0x58, 0xc1}, 0, STROBE_X86_UNKNOWN},
    {"int3", {0xcc}, 0, STROBE_X86_UNKNOWN},
    {"ud2", {0x0f, 0x0b}, 0, STROBE_X86_UNKNOWN},
};

static void each_form_has_its_length_and_effect(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
        uint32_t length;
        enum strobe_x86_effect effect = strobe_x86_decode(examples[i].code, sizeof examples[i].code, &length);
        if (effect != examples[i].effect || length != examples[i].bytes)
            fail_msg("%s: effect %d, %u bytes", examples[i].what, (int)effect, length);
    }
}

static void an_instruction_that_is_not_all_there_is_unknown(void **state)
{
    uint32_t length;
    (void)state;
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++)
        for (uint32_t bytes = 0; bytes < examples[i].bytes; bytes++)
            if (strobe_x86_decode(examples[i].code, bytes, &length) != STROBE_X86_UNKNOWN || length)
                fail_msg("%s: %u bytes of it", examples[i].what, bytes);
}

static void an_instruction_has_at_most_15_bytes(void **state)
{
    uint8_t code[16] = {[15] = 0x90};
    uint32_t length;
    (void)state;
    memset(code, 0x66, 15);
    assert_int_equal(strobe_x86_decode(code, sizeof code, &length), STROBE_X86_UNKNOWN);
    assert_int_equal(strobe_x86_decode(code + 1, sizeof code - 1, &length), STROBE_X86_NOTHING);
    assert_int_equal(length, 15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#ifdef __x86_64__
        cmocka_unit_test(lengths_and_effects_are_those_of_capstone),
#endif
        cmocka_unit_test(each_form_has_its_length_and_effect),
        cmocka_unit_test(an_instruction_that_is_not_all_there_is_unknown),
        cmocka_unit_test(an_instruction_has_at_most_15_bytes),
    };
    return cmocka_run_group_tests_name("code of x86-64", tests, NULL, NULL);
}
