/* Instructions that a detour moves have the same effect in their new place. The test detours the functions of two
 * libraries, and compares the moved instructions with the original ones. The steps that the decoder sees at the starts
 * of functions, and the ends of functions, are those that capstone and the symbol tables tell. */
#include "engine/backend/art/detour/detour.h"
#include "engine/backend/art/detour/detour_code.h"
#include "engine/backend/art/detour/detour_end.h"
#include "engine/backend/art/module.h"
#include "engine/base/error.h"

#include <dlfcn.h>
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#if defined(__x86_64__)

#include <capstone/capstone.h>

enum { SEEN_BYTES = 32, MOVED_BYTES_MAX = 128 };

static csh capstone;
static int compared, unknown;

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

/* ---- the decoder ---- */

#define GENUINE "/usr/lib/x86_64-linux-gnu/android/" /* Android 11's runtime, where it is installed */

static bool leads_on(const cs_insn *i)
{
    return !(i->id == X86_INS_JMP || i->id == X86_INS_LJMP || i->id == X86_INS_UD2 || i->id == X86_INS_HLT ||
             i->id == X86_INS_INT3 || cs_insn_group(capstone, i, CS_GRP_RET) ||
             cs_insn_group(capstone, i, CS_GRP_IRET));
}

static void compare_step(const uint8_t *at, const cs_insn *i)
{
    struct strobe_detour_step s;
    if (!strobe_detour_step(at, at + 16, &s)) {
        unknown++;
        return;
    }
    bool calls = cs_insn_group(capstone, i, CS_GRP_CALL), named = names_place(i);
    bool same = s.bytes == i->size && s.ends == !leads_on(i) && s.returns == calls && s.calls == (calls && named) &&
                s.jumps == (!calls && named);
    if (!same || (named && s.to != (uint64_t)i->detail->x86.operands[0].imm))
        fail_msg("%s %s: %u bytes%s%s%s", i->mnemonic, i->op_str, s.bytes, s.jumps ? " jumps" : "",
                 s.calls ? " calls" : "", s.ends ? " ends" : "");
    compared++;
}

/* Compares the first instructions of each function. */
static void compare_starts(const struct strobe_module *m)
{
    const Elf64_Sym *symbol = (const void *)m->dynamic.symbols;
    for (size_t i = 0; i < m->dynamic.count; i++) {
        const uint8_t *at = (const uint8_t *)(uintptr_t)(m->bias + symbol[i].st_value), *to = at + SEEN_BYTES;
        if (ELF64_ST_TYPE(symbol[i].st_info) != STT_FUNC || !symbol[i].st_shndx || symbol[i].st_size < SEEN_BYTES)
            continue;
        cs_insn *decoded;
        size_t count = cs_disasm(capstone, at, SEEN_BYTES, (uintptr_t)at, 0, &decoded);
        for (size_t k = 0; k < count && at < to; at += decoded[k++].size)
            compare_step(at, &decoded[k]);
        cs_free(decoded, count);
    }
}

static void the_decoder_sees_what_capstone_sees_where_functions_begin(void **state)
{
    char fake[512];
    const char *build = getenv("B");
    snprintf(fake, sizeof fake, "%s/art/30/libart.so", build ? build : "build");
    const char *const names[] = {"libc.so.6", "libstdc++.so.6", "libdw.so.1", fake, GENUINE "libart.so.0"};
    static const char *const needed[] = {"liblz4.so.1",
                                         "libz.so.1",
                                         GENUINE "liblog.so.0",
                                         GENUINE "libbase.so.0",
                                         GENUINE "libsigchain.so.0",
                                         GENUINE "libnativebridge.so.0",
                                         GENUINE "libnativeloader.so.0",
                                         GENUINE "libziparchive.so.0",
                                         GENUINE "libbacktrace.so.0"};
    for (size_t n = 0; n < sizeof needed / sizeof needed[0]; n++)
        dlopen(needed[n], RTLD_LAZY | RTLD_GLOBAL);
    (void)state;
    assert_int_equal(cs_open(CS_ARCH_X86, CS_MODE_64, &capstone), CS_ERR_OK);
    cs_option(capstone, CS_OPT_DETAIL, CS_OPT_ON);
    compared = unknown = 0;
    for (size_t n = 0; n < sizeof names / sizeof names[0]; n++) {
        struct strobe_module m;
        struct strobe_error error;
        if (!dlopen(names[n], RTLD_LAZY | RTLD_LOCAL))
            continue;
        assert_int_equal(strobe_module_open(names[n], &m, &error), STROBE_OK);
        compare_starts(&m);
        strobe_module_close(&m);
    }
    cs_close(&capstone);
    print_message("%d instructions, %d unknown\n", compared, unknown);
    assert_true(compared > 30000 && unknown < compared / 1000);
}

/* ---- ends of functions ---- */

static void ends_of_functions_are_those_of_their_symbols(void **state)
{
    struct strobe_module m;
    struct strobe_error error;
    int same = 0, others = 0;
    (void)state;
    assert_non_null(dlopen("libdw.so.1", RTLD_NOW | RTLD_LOCAL));
    assert_int_equal(strobe_module_open("libdw.so.1", &m, &error), STROBE_OK);
    const Elf64_Sym *symbol = (const void *)m.dynamic.symbols;
    for (size_t i = 0; i < m.dynamic.count; i++) {
        const uint8_t *function = (const uint8_t *)(uintptr_t)(m.bias + symbol[i].st_value);
        if (ELF64_ST_TYPE(symbol[i].st_info) != STT_FUNC || !symbol[i].st_shndx || !symbol[i].st_size)
            continue;
        same += strobe_detour_end(function) == function + symbol[i].st_size;
        others += strobe_detour_end(function) != function + symbol[i].st_size;
        assert_null(strobe_detour_end(function + 1));
    }
    strobe_module_close(&m);
    print_message("%d functions, %d with another end\n", same, others);
    assert_true(same > 150);
    assert_int_equal(others, 0);
    assert_null(strobe_detour_end((const uint8_t *)&error));
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
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(instructions_are_the_same_in_their_new_place),
#if defined(__x86_64__)
        cmocka_unit_test(the_decoder_sees_what_capstone_sees_where_functions_begin),
        cmocka_unit_test(ends_of_functions_are_those_of_their_symbols),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
