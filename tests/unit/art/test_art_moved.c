/* Instructions that a detour moves have the same effect in their new place. The test detours all functions of two
 * libraries, and compares the moved instructions with the original ones. */
#include "engine/backend/art/detour/detour.h"
#include "engine/backend/art/detour/detour_code.h"
#include "engine/backend/art/module.h"
#include "engine/base/error.h"

#include <dlfcn.h>
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#if defined(__x86_64__)

#include <capstone/capstone.h>

enum { SEEN_BYTES = 32, MOVED_BYTES_MAX = 128 };

static csh capstone;

static void never_called(void) {}

static bool names_place(const cs_insn *i)
{
    const cs_x86 *x = &i->detail->x86;
    return (cs_insn_group(capstone, i, CS_GRP_JUMP) || cs_insn_group(capstone, i, CS_GRP_CALL)) && x->op_count == 1 &&
           x->operands[0].type == X86_OP_IMM;
}

/* Returns the address of an operand relative to the instruction's place; 0 = no such operand. */
static uint64_t relative_place(const cs_insn *i)
{
    const cs_x86 *x = &i->detail->x86;
    for (int k = 0; k < x->op_count; k++)
        if (x->operands[k].type == X86_OP_MEM && x->operands[k].mem.base == X86_REG_RIP)
            return i->address + i->size + (uint64_t)x->operands[k].mem.disp;
    return 0;
}

/* A branch was replaced by a jump through a word. Before it comes the branch of the opposite condition, if it has a
 * condition. */
static bool same_branch(const cs_insn *was, const cs_insn *is, size_t *used)
{
    bool conditional = was->id != X86_INS_JMP && was->id != X86_INS_CALL;
    uint64_t word;
    if (conditional) {
        bool opposite = names_place(is) && (is->bytes[0] & 1) != (was->detail->x86.opcode[was->bytes[0] == 0x0f] & 1);
        if (!opposite || (uint64_t)is->detail->x86.operands[0].imm != is[1].address + is[1].size)
            return false;
        is++;
        ++*used;
    }
    if (is->id != (conditional ? X86_INS_JMP : was->id) || !relative_place(is))
        return false;
    memcpy(&word, (const void *)(uintptr_t)relative_place(is), sizeof word);
    return word == (uint64_t)was->detail->x86.operands[0].imm;
}

static bool same(const cs_insn *was, const cs_insn *is, size_t *used)
{
    *used = 1;
    if (names_place(was))
        return same_branch(was, is, used);
    if (was->id != is->id || was->size != is->size || relative_place(was) != relative_place(is))
        return false;
    return relative_place(was) || !memcmp(was->bytes, is->bytes, was->size);
}

/* The trampoline stays when the detour is gone. */
static int compare(const uint8_t *function, const uint8_t *moved)
{
    cs_insn *was, *is;
    size_t all = cs_disasm(capstone, function, SEEN_BYTES, (uintptr_t)function, 0, &was);
    size_t in_page = cs_disasm(capstone, moved, MOVED_BYTES_MAX, (uintptr_t)moved, 0, &is);
    size_t landing = strobe_detour_landing(function, function + SEEN_BYTES), bytes = 0, i = 0, used;
    for (size_t at = 0; bytes < landing + STROBE_DETOUR_JUMP_BYTES; i++, at += used) {
        assert_true(i < all && at + 1 < in_page);
        if (!same(&was[i], &is[at], &used))
            fail_msg("%s %s has become %s %s", was[i].mnemonic, was[i].op_str, is[at].mnemonic, is[at].op_str);
        bytes += was[i].size;
    }
    cs_free(was, all);
    cs_free(is, in_page);
    return (int)i;
}

static void instructions_are_the_same_in_their_new_place(void **state)
{
    static const char *const names[] = {"libdw.so.1", "libstdc++.so.6"};
    int detoured = 0, refused = 0, instructions = 0;
    (void)state;
    assert_int_equal(cs_open(CS_ARCH_X86, CS_MODE_64, &capstone), CS_ERR_OK);
    cs_option(capstone, CS_OPT_DETAIL, CS_OPT_ON);
    for (size_t n = 0; n < sizeof names / sizeof names[0]; n++) {
        struct strobe_module m;
        struct strobe_error error;
        if (!dlopen(names[n], RTLD_NOW | RTLD_LOCAL))
            continue;
        assert_int_equal(strobe_module_open(names[n], &m, &error), STROBE_OK);
        const Elf64_Sym *symbol = (const void *)m.dynamic.symbols;
        for (size_t i = 0; i < m.dynamic.count; i += 4) { /* each detour leaves a page behind */
            uint8_t *function = (uint8_t *)(uintptr_t)(m.bias + symbol[i].st_value), before[SEEN_BYTES];
            void *original, *handle;
            if (ELF64_ST_TYPE(symbol[i].st_info) != STT_FUNC || !symbol[i].st_shndx || !symbol[i].st_size)
                continue;
            memcpy(before, function, sizeof before);
            if (strobe_detours.install(NULL, function, (void *)(uintptr_t)never_called, &original, &handle) == 0) {
                assert_int_equal(strobe_detours.remove(NULL, handle), 0);
                assert_memory_equal(before, function, sizeof before);
                instructions += compare(function, original);
                detoured++;
            } else {
                assert_memory_equal(before, function, sizeof before);
                refused++;
            }
        }
        strobe_module_close(&m);
    }
    cs_close(&capstone);
    assert_true(detoured >= 50 && instructions > detoured);
    assert_true(refused < detoured / 5);
}

#else

/* On processors with one size of instructions, test_art_detour runs each kind of moved instruction. */
static void instructions_are_the_same_in_their_new_place(void **state)
{
    (void)state;
    skip();
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(instructions_are_the_same_in_their_new_place)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
