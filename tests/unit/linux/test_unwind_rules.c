/* Rules from .eh_frame equal those that elfutils reads, for the first and the last byte of each row of each function of
 * some system libraries and programs (S-43). */
#include "engine/backend/linux/eh_frame.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <gelf.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

struct image {
    const char *path;
    uint8_t *file;
    size_t bytes;
    struct strobe_eh_frame frames;
    Elf *elf;
    Dwarf_CFI *oracle;
};

static uint64_t rows, undescribed, signals, ends;

static bool find_header(const struct image *m, GElf_Phdr *header, GElf_Phdr *segment)
{
    size_t n = 0;
    bool found = false;
    elf_getphdrnum(m->elf, &n);
    for (size_t i = 0; i < n; i++)
        if (gelf_getphdr(m->elf, (int)i, header) && header->p_type == PT_GNU_EH_FRAME) {
            found = true;
            break;
        }
    for (size_t i = 0; found && i < n; i++)
        if (gelf_getphdr(m->elf, (int)i, segment) && segment->p_type == PT_LOAD &&
            header->p_vaddr - segment->p_vaddr < segment->p_filesz)
            return true;
    return false;
}

static bool open_image(struct image *m, const char *path)
{
    struct stat st;
    GElf_Phdr header, segment;
    int fd = open(path, O_RDONLY);
    if (fd < 0)
        return false;
    assert_int_equal(fstat(fd, &st), 0);
    *m = (struct image){.path = path, .bytes = (size_t)st.st_size};
    m->file = mmap(NULL, m->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    assert_true(m->file != MAP_FAILED);
    close(fd);
    m->elf = elf_memory((char *)m->file, m->bytes);
    m->oracle = m->elf ? dwarf_getcfi_elf(m->elf) : NULL;
    assert_true(m->oracle && find_header(m, &header, &segment));
    assert_int_equal(
        strobe_eh_frame_open(m->file + segment.p_offset, segment.p_filesz, segment.p_vaddr, header.p_vaddr, &m->frames),
        STROBE_OK);
    return true;
}

static void close_image(struct image *m)
{
    dwarf_cfi_end(m->oracle);
    elf_end(m->elf);
    munmap(m->file, m->bytes);
}

/* ---- the rules of elfutils, in Strobe's form; false when this form cannot express one ---- */

static bool oracle_cfa(Dwarf_Frame *frame, struct strobe_unwind_rule *out)
{
    Dwarf_Op *ops;
    size_t n;
    assert_int_equal(dwarf_frame_cfa(frame, &ops, &n), 0);
    bool breg = n && ((ops[0].atom >= DW_OP_breg0 && ops[0].atom <= DW_OP_breg31) || ops[0].atom == DW_OP_bregx);
    int64_t offset = breg ? (int64_t)(ops[0].atom == DW_OP_bregx ? ops[0].number2 : ops[0].number) : 0;
    uint64_t reg = breg ? ops[0].atom == DW_OP_bregx ? ops[0].number : (uint64_t)ops[0].atom - DW_OP_breg0 : 0;
    if (n == 9 && breg && ops[1].atom == DW_OP_breg16 && ops[8].atom == DW_OP_plus) {
        *out = (struct strobe_unwind_rule){.kind = STROBE_UNWIND_PLT,
                                           .base = (uint8_t)reg,
                                           .cfa = (int32_t)offset,
                                           .more = (int16_t)(ops[4].atom - DW_OP_lit0)};
        return true;
    }
    bool deref = n >= 2 && ops[1].atom == DW_OP_deref, plus = n == 3 && ops[2].atom == DW_OP_plus_uconst;
    if (!breg || (n > 1 && !deref) || (n > 2 && !plus))
        return false;
    *out = (struct strobe_unwind_rule){.kind = deref ? STROBE_UNWIND_DEREF : STROBE_UNWIND_FRAME,
                                       .base = (uint8_t)reg,
                                       .cfa = (int32_t)offset,
                                       .more = plus ? (int16_t)ops[2].number : 0};
    return true;
}

static uint8_t oracle_register(Dwarf_Frame *frame, int reg, int16_t *at)
{
    uint8_t place;
    Dwarf_Op memory[3], *ops;
    size_t n;
    *at = 0;
    assert_int_equal(dwarf_frame_register(frame, reg, memory, &ops, &n), 0);
    if (n == 0) {
        return ops ? STROBE_SAVED_UNDEFINED : STROBE_SAVED_SAME;
    }
    place = STROBE_SAVED_LOST;
    int64_t offset = 0;
    if (ops[n - 1].atom == DW_OP_stack_value || ops[0].atom == DW_OP_regx ||
        (ops[0].atom >= DW_OP_reg0 && ops[0].atom <= DW_OP_reg31))
        return place;
    if (ops[0].atom == DW_OP_call_frame_cfa && n <= 2 && (n == 1 || ops[1].atom == DW_OP_plus_uconst)) {
        place = STROBE_SAVED_AT_CFA;
        offset = n == 2 ? (int64_t)ops[1].number : 0;
    } else if (ops[0].atom == DW_OP_call_frame_cfa && n == 2 &&
               (ops[1].atom == DW_OP_breg0 + STROBE_EH_FP || ops[1].atom == DW_OP_breg0 + STROBE_EH_SP)) {
        place = ops[1].atom == DW_OP_breg0 + STROBE_EH_FP ? STROBE_SAVED_AT_FP : STROBE_SAVED_AT_SP;
        offset = (int64_t)ops[1].number;
    }
    if (offset % 8)
        place = STROBE_SAVED_LOST;
    *at = place == STROBE_SAVED_LOST ? 0 : (int16_t)(offset / 8);
    return place;
}

static struct strobe_unwind_rule oracle_rule(Dwarf_Frame *frame)
{
    struct strobe_unwind_rule r = {0};
    bool is_signal, describable = oracle_cfa(frame, &r);
    Dwarf_Addr start, end;
    dwarf_frame_info(frame, &start, &end, &is_signal);
    r.fp = oracle_register(frame, STROBE_EH_FP, &r.fp_at) & 15;
    r.ra = oracle_register(frame, STROBE_EH_RA, &r.ra_at) & 15;
#ifdef __x86_64__
    r.bx = oracle_register(frame, STROBE_EH_BX, &r.bx_at) & 15;
    if (r.bx == STROBE_SAVED_UNDEFINED) /* elfutils 0.188 takes rax's number for rbx's where it sets the default */
        r.bx = STROBE_SAVED_SAME;
#endif
    if (r.ra == STROBE_SAVED_UNDEFINED)
        return (struct strobe_unwind_rule){.kind = STROBE_UNWIND_END};
    if (!describable || r.ra == STROBE_SAVED_LOST)
        return (struct strobe_unwind_rule){0};
    r.flags = is_signal ? STROBE_UNWIND_SIGNAL : 0;
    return r;
}

static void show_rule(const char *who, const struct strobe_unwind_rule *r)
{
    print_message("  %-9s kind %d base %d cfa %d more %d fp %d at %d ra %d at %d bx %d at %d flags %d\n", who, r->kind,
                  r->base, r->cfa, r->more, r->fp, r->fp_at, r->ra, r->ra_at, r->bx, r->bx_at, r->flags);
}

static void check_pc(const struct image *m, uint64_t pc, const struct strobe_unwind_rule *expected)
{
    struct strobe_unwind_rule found = strobe_eh_frame_rule(&m->frames, pc);
    if (memcmp(&found, expected, sizeof found)) {
        print_message("%s, at %#llx\n", m->path, (unsigned long long)pc);
        show_rule("found", &found);
        show_rule("expected", expected);
        fail();
    }
}

static void check_function(const struct image *m, uint64_t start, uint64_t end)
{
    for (uint64_t pc = start; pc < end;) {
        Dwarf_Frame *frame;
        Dwarf_Addr row_start, row_end;
        bool is_signal;
        if (dwarf_cfi_addrframe(m->oracle, pc, &frame) != 0)
            return; /* elfutils may find another entry, or no entry, for a function that several entries describe */
        int column = dwarf_frame_info(frame, &row_start, &row_end, &is_signal);
        assert_true(column >= 0 && row_end > pc);
        struct strobe_unwind_rule expected = oracle_rule(frame);
        rows++;
        undescribed += expected.kind == STROBE_UNWIND_NONE;
        signals += expected.flags != 0;
        ends += expected.kind == STROBE_UNWIND_END;
        check_pc(m, pc, &expected);
        check_pc(m, (row_end < end ? row_end : end) - 1, &expected);
        free(frame);
        pc = row_end;
    }
}

static void check_image(const char *path)
{
    struct image m;
    uint64_t start, end;
    if (!open_image(&m, path))
        return;
    uint64_t rows_before = rows;
    for (uint64_t i = 0; i < m.frames.count; i++) {
        assert_true(strobe_eh_frame_range(&m.frames, i, &start, &end));
        check_function(&m, start, end);
    }
    print_message("%s: %llu functions, %llu rows\n", path, (unsigned long long)m.frames.count,
                  (unsigned long long)(rows - rows_before));
    close_image(&m);
}

static int check_loaded(struct dl_phdr_info *info, size_t bytes, void *unused)
{
    (void)bytes, (void)unused;
    check_image(info->dlpi_name[0] ? info->dlpi_name : "/proc/self/exe");
    return 0;
}

static void rules_are_those_of_elfutils(void **state)
{
    (void)state;
    /* Files used if installed: they contain hand-written assembler, code of other compilers, and large frames. */
    static const char *const others[] = {
        "/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
        "/usr/lib/x86_64-linux-gnu/libcrypto.so.3",
        "/usr/lib/x86_64-linux-gnu/libsqlite3.so.0",
        "/usr/bin/python3",
        "/usr/bin/xz",
        "/bin/bash",
    };
    elf_version(EV_CURRENT);
    dl_iterate_phdr(check_loaded, NULL);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        check_image(others[i]);
    print_message("%llu rows, %llu without a rule, %llu of signal frames, %llu ends\n", (unsigned long long)rows,
                  (unsigned long long)undescribed, (unsigned long long)signals, (unsigned long long)ends);
    assert_true(rows > 10000);
    assert_true(ends > 0);
#ifdef __x86_64__
    assert_true(signals > 0); /* on other machines only the vDSO has signal frames, and it is not a file */
#endif
    assert_true(undescribed * 1000 <= rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rules_are_those_of_elfutils)};
    return cmocka_run_group_tests_name("rules of frames", tests, NULL, NULL);
}
