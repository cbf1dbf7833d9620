/* Call frame entries of hand-made files: each instruction's meaning for a function, each encoding of an address, each
 * order of the common part's augmentation; what is damaged is left out, and what is not stays. */
#include "engine/trace/symbols/call_frames.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <elf.h>
#include <cmocka.h>

enum { SECTION = 0x400000, FUNCTION = 0x1000, BYTES = 0x40, CODE_ALIGN = 1, DATA_ALIGN = 0x78 /* -8 */ };
enum { PCREL = 0x10, TEXTREL = 0x20, ULEB = 1, UDATA2 = 2, UDATA4 = 3, UDATA8 = 4, SDATA2 = 10, SDATA4 = 11 };

/* ---- a file with one section, .eh_frame */

static uint8_t section[1024];
static size_t used;

static void put(const void *bytes, size_t count)
{
    assert_true(used + count <= sizeof section);
    if (count)
        memcpy(section + used, bytes, count);
    used += count;
}

static void put_byte(uint8_t byte)
{
    put(&byte, 1);
}

static void put_number(uint64_t number, size_t bytes)
{
    put(&number, bytes);
}

/* Writes the length of the entry that begins at `from`, after padding it. */
static void end_entry(size_t from)
{
    while (used % 8)
        put_byte(0);
    uint32_t bytes = (uint32_t)(used - from - 4);
    memcpy(section + from, &bytes, 4);
}

static void put_common(const char *augmentation, const void *data, uint8_t data_bytes)
{
    size_t from = used;
    put_number(0, 8);
    put_byte(1);
    put(augmentation, strlen(augmentation) + 1);
    put_byte(CODE_ALIGN);
    put_byte(DATA_ALIGN);
    put_byte(16);
    if (augmentation[0] == 'z')
        put_byte(data_bytes);
    put(data, data_bytes);
    end_entry(from);
}

static size_t bytes_of(uint8_t encoding)
{
    static const uint8_t bytes[] = {8, 1, 2, 4, 8};
    return bytes[encoding & 7];
}

/* Writes the entry of a function at `start`, whose common part is at offset 0. */
static void put_function(uint8_t encoding, uint64_t start, int has_augmentation, const void *code, size_t code_bytes)
{
    size_t from = used;
    put_number(0, 4);
    put_number(used, 4);
    put_number(start - ((encoding & 0x70) == PCREL ? SECTION + used : 0), bytes_of(encoding));
    put_number(BYTES, bytes_of(encoding));
    if (has_augmentation)
        put_byte(0);
    put(code, code_bytes);
    end_entry(from);
}

static _Alignas(8) uint8_t image[4096];

/* Puts the section, if it is not empty, into an ELF file. */
static Elf *make_file(uint16_t machine)
{
    static const char names[] = "\0.eh_frame\0.shstrtab";
    Elf64_Ehdr *head = (Elf64_Ehdr *)image;
    Elf64_Shdr *heads = (Elf64_Shdr *)(image + 3072);
    memset(image, 0, sizeof image);
    memcpy(head->e_ident, ELFMAG, SELFMAG);
    head->e_ident[EI_CLASS] = ELFCLASS64;
    head->e_ident[EI_DATA] = ELFDATA2LSB;
    head->e_ident[EI_VERSION] = head->e_version = EV_CURRENT;
    head->e_type = ET_DYN;
    head->e_machine = machine;
    head->e_ehsize = sizeof *head;
    head->e_shoff = 3072;
    head->e_shentsize = sizeof *heads;
    head->e_shnum = 3;
    head->e_shstrndx = 2;
    memcpy(image + 1024, section, used);
    memcpy(image + 2048, names, sizeof names);
    heads[1] = (Elf64_Shdr){.sh_name = used ? 1 : 11,
                            .sh_type = SHT_PROGBITS,
                            .sh_addr = SECTION,
                            .sh_offset = 1024,
                            .sh_size = used,
                            .sh_addralign = 8};
    heads[2] = (Elf64_Shdr){
        .sh_name = 11, .sh_type = SHT_STRTAB, .sh_offset = 2048, .sh_size = sizeof names, .sh_addralign = 1};
    elf_version(EV_CURRENT);
    Elf *elf = elf_memory((char *)image, sizeof image);
    assert_non_null(elf);
    return elf;
}

static struct strobe_call_frame *frames;
static size_t count;

static enum strobe_status read_frames(uint16_t machine)
{
    Elf *elf = make_file(machine);
    free(frames);
    enum strobe_status status = strobe_call_frames_read(elf, &frames, &count);
    elf_end(elf);
    return status;
}

static void begin(const char *augmentation, uint8_t encoding)
{
    used = 0;
    put_common(augmentation, &encoding, 1);
}

/* ---- instructions */

#define CODE(...) (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})

struct row {
    const char *what;
    const uint8_t *code;
    size_t bytes;
    enum strobe_frame_use on_x86, on_arm;
};

static void check_rows(const struct row *rows, size_t row_count)
{
    for (size_t i = 0; i < row_count; i++) {
        for (int arm = 0; arm < 2; arm++) {
            begin("zR", PCREL | SDATA4);
            put_function(PCREL | SDATA4, FUNCTION, 1, rows[i].code, rows[i].bytes);
            assert_int_equal(read_frames(arm ? EM_AARCH64 : EM_X86_64), STROBE_OK);
            assert_int_equal(count, 1);
            assert_int_equal(frames[0].start, FUNCTION);
            assert_int_equal(frames[0].bytes, BYTES);
            if (frames[0].use != (arm ? rows[i].on_arm : rows[i].on_x86))
                fail_msg("%s, %s: %d", rows[i].what, arm ? "arm64" : "x86-64", frames[0].use);
        }
    }
}

static void a_function_is_judged_by_what_its_instructions_move_and_save(void **state)
{
    (void)state;
    const enum strobe_frame_use NONE = STROBE_FRAME_NONE, PLAIN = STROBE_FRAME_PLAIN, POINTER = STROBE_FRAME_POINTER;
    const struct row rows[] = {
        {"nothing", CODE(0), NONE, NONE},
        {"the stack moves", CODE(0x41, 0x0e, 0x20), PLAIN, PLAIN},
        {"the stack moves, signed", CODE(0x02, 4, 0x13, 0x7e), PLAIN, PLAIN},
        {"the frame is at rbp, or x6", CODE(0x0d, 6), POINTER, PLAIN},
        {"the frame is at r29", CODE(0x03, 4, 0, 0x0c, 29, 16), PLAIN, POINTER},
        {"the same, signed", CODE(0x04, 4, 0, 0, 0, 0x12, 29, 2), PLAIN, POINTER},
        {"x29 and x30 are saved", CODE(0x9d, 2, 0x9e, 1), PLAIN, POINTER},
        {"x29 only", CODE(0x05, 29, 2), PLAIN, PLAIN},
        {"x30 only, signed", CODE(0x11, 30, 2), PLAIN, PLAIN},
        {"an expression gives the frame", CODE(0x0e, 16, 0x0f, 2, 0x70, 0), NONE, NONE},
        {"the caller is undefined", CODE(0x0e, 16, 0x07, 16), NONE, NONE},
        {"another register is undefined", CODE(0x0e, 16, 0x07, 3), PLAIN, PLAIN},
        {"state is kept and restored", CODE(0x0a, 0x0e, 16, 0x0b, 0x2d), PLAIN, PLAIN},
        {"registers elsewhere",
         CODE(0x0e, 16, 0x08, 3, 0x06, 3, 0x2e, 8, 0x09, 3, 4, 0x14, 3, 1, 0x15, 3, 1, 0x2f, 3, 1), PLAIN, PLAIN},
        {"expressions give registers", CODE(0x0e, 16, 0x10, 3, 1, 0x50, 0x16, 3, 1, 0x50), PLAIN, PLAIN},
        {"a register is as before", CODE(0xc3, 0x0e, 16), PLAIN, PLAIN},
        {"an address is set", CODE(0x01, 0, 0, 0, 0, 0x0e, 16), PLAIN, PLAIN},
    };
    check_rows(rows, sizeof rows / sizeof *rows);
}

/* The padding of an entry can complete an instruction, so each of these reaches beyond it. */
static void an_instruction_that_is_cut_off_or_unknown_decides_nothing(void **state)
{
    (void)state;
    const enum strobe_frame_use NONE = STROBE_FRAME_NONE;
#define OPEN 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80 /* a number without an end */
    const struct row rows[] = {
        {"unknown", CODE(0x0e, 16, 0x3f), NONE, NONE},
        {"offset", CODE(0x0e, 16, 0x83, OPEN, OPEN), NONE, NONE},
        {"extended offset", CODE(0x05, OPEN, OPEN), NONE, NONE},
        {"extended offset's second", CODE(0x05, 3, OPEN, OPEN), NONE, NONE},
        {"undefined", CODE(0x07, OPEN, OPEN), NONE, NONE},
        {"frame", CODE(0x0c, OPEN, OPEN), NONE, NONE},
        {"frame's second", CODE(0x0c, 6, OPEN, OPEN), NONE, NONE},
        {"frame register", CODE(0x0d, OPEN, OPEN), NONE, NONE},
        {"frame offset", CODE(0x0e, OPEN, OPEN), NONE, NONE},
        {"register", CODE(0x09, OPEN, OPEN), NONE, NONE},
        {"frame expression", CODE(0x0f, OPEN, OPEN), NONE, NONE},
        {"frame expression's content", CODE(0x0f, 99), NONE, NONE},
        {"expression", CODE(0x10, OPEN, OPEN), NONE, NONE},
        {"expression's length", CODE(0x10, 3, OPEN, OPEN), NONE, NONE},
        {"expression's content", CODE(0x16, 3, 99), NONE, NONE},
        {"location", CODE(0x0e, 16, 0x0e, 16, 0x0e, 16, 0x0e, 16, 0x0e, 16, 0x0e, 16, 0x01, 0, 0), NONE, NONE},
    };
    check_rows(rows, sizeof rows / sizeof *rows);
}

static void another_machine_s_functions_are_known_but_not_judged(void **state)
{
    (void)state;
    begin("zR", PCREL | SDATA4);
    put_function(PCREL | SDATA4, FUNCTION, 1, CODE(0x0d, 6));
    assert_int_equal(read_frames(EM_RISCV), STROBE_OK);
    assert_int_equal(count, 1);
    assert_int_equal(frames[0].use, STROBE_FRAME_NONE);
}

/* ---- encodings */

static void an_address_is_read_in_each_encoding_of_program_files(void **state)
{
    (void)state;
    static const struct {
        uint8_t encoding;
        uint64_t start, as; /* as: what it means */
    } rows[] = {
        {0, 0x123456789a, 0x123456789a},
        {UDATA2, 0xfedc, 0xfedc},
        {UDATA4, 0xfedcba98, 0xfedcba98},
        {UDATA8, 0x123456789a, 0x123456789a},
        {SDATA2, 0xfffe, UINT64_MAX - 1},
        {SDATA2, 0x7ffe, 0x7ffe},
        {SDATA4, 0xfffffff0, UINT64_MAX - 15},
        {PCREL | SDATA4, SECTION - 0x1000, SECTION - 0x1000},
        {PCREL | UDATA8, SECTION + 0x1000, SECTION + 0x1000},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        begin("zR", rows[i].encoding);
        put_function(rows[i].encoding, rows[i].start, 1, CODE(0x0e, 16));
        assert_int_equal(read_frames(EM_X86_64), STROBE_OK);
        assert_int_equal(count, 1);
        assert_int_equal(frames[0].start, rows[i].as);
        assert_int_equal(frames[0].use, STROBE_FRAME_PLAIN);
    }
}

static void an_encoding_that_no_program_has_leaves_out_the_function(void **state)
{
    (void)state;
    static const uint8_t encodings[] = {ULEB, 5, 6, 7, TEXTREL | SDATA4, 0x30, 0x50};
    for (size_t i = 0; i < sizeof encodings; i++) {
        begin("zR", encodings[i]);
        put_function(UDATA8, FUNCTION, 1, CODE(0x0e, 16));
        assert_int_equal(read_frames(EM_X86_64), STROBE_BAD_INPUT);
        assert_int_equal(count, 0);
    }
}

static void the_encoding_is_found_wherever_the_augmentation_has_it(void **state)
{
    (void)state;
    static const struct {
        const char *augmentation;
        uint8_t data[8], bytes, encoding;
        enum strobe_frame_use use;
    } rows[] = {
        {"zR", {UDATA4}, 1, UDATA4, STROBE_FRAME_PLAIN},
        {"zLR", {0xff, UDATA4}, 2, UDATA4, STROBE_FRAME_PLAIN},
        {"zRP", {UDATA4, UDATA4, 0, 0, 0, 0}, 6, UDATA4, STROBE_FRAME_PLAIN},
        {"zPR", {UDATA4, 0, 0, 0, 0, UDATA2}, 6, UDATA2, STROBE_FRAME_PLAIN},
        {"zPLR", {UDATA4, 0, 0, 0, 0, 0xff, UDATA2}, 7, UDATA2, STROBE_FRAME_PLAIN},
        {"zPRL", {UDATA4, 0, 0, 0, 0, UDATA2, 0xff}, 7, UDATA2, STROBE_FRAME_PLAIN},
        {"zRS", {UDATA4}, 1, UDATA4, STROBE_FRAME_NONE}, /* a signal's trampoline */
        {"zS", {0}, 0, 0, STROBE_FRAME_NONE},
        {"z", {0}, 0, 0, STROBE_FRAME_PLAIN},
        {"", {0}, 0, 0, STROBE_FRAME_PLAIN},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        used = 0;
        put_common(rows[i].augmentation, rows[i].data, rows[i].bytes);
        put_function(rows[i].encoding, FUNCTION, rows[i].augmentation[0] == 'z', CODE(0x0e, 16));
        if (read_frames(EM_X86_64) != STROBE_OK || count != 1 || frames[0].start != FUNCTION)
            fail_msg("%s: %zu functions", rows[i].augmentation, count);
        assert_int_equal(frames[0].use, rows[i].use);
    }
}

/* ---- damage */

static void functions_come_in_the_order_of_their_starts(void **state)
{
    (void)state;
    begin("zR", UDATA4);
    put_function(UDATA4, 0x3000, 1, CODE(0x0e, 16));
    put_function(UDATA4, 0x1000, 1, CODE(0x0e, 16));
    put_function(UDATA4, 0x2000, 1, CODE(0x0e, 16));
    assert_int_equal(read_frames(EM_X86_64), STROBE_OK);
    assert_int_equal(count, 3);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(frames[i].start, 0x1000 * (i + 1));
}

static void what_is_whole_before_and_behind_a_damaged_entry_stays(void **state)
{
    (void)state;
    begin("zR", UDATA4);
    put_function(UDATA4, 0x1000, 1, CODE(0x0e, 16));
    size_t damaged = used;
    put_function(UDATA4, 0x2000, 1, CODE(0x0e, 16));
    put_function(UDATA4, 0x3000, 1, CODE(0x0e, 16));
    memset(section + damaged + 4, 1, 4); /* points to no common part */
    assert_int_equal(read_frames(EM_X86_64), STROBE_BAD_INPUT);
    assert_int_equal(count, 2);
    assert_int_equal(frames[1].start, 0x3000);
    section[damaged + 1] = 0x7f; /* longer than the section */
    assert_int_equal(read_frames(EM_X86_64), STROBE_BAD_INPUT);
    assert_int_equal(count, 1);
}

static void an_entry_too_short_for_its_addresses_is_left_out(void **state)
{
    (void)state;
    begin("zR", UDATA8);
    put_function(UDATA4, 0x1000, 0, NULL, 0); /* 8 bytes where 16 are due */
    assert_int_equal(read_frames(EM_X86_64), STROBE_BAD_INPUT);
    assert_int_equal(count, 0);
    begin("zR", UDATA4);
    put_function(UDATA4, 0x1000, 0, CODE(0x7f)); /* its augmentation is longer than the entry */
    assert_int_equal(read_frames(EM_X86_64), STROBE_BAD_INPUT);
    assert_int_equal(count, 0);
    begin("zR", UDATA4);
    put_function(UDATA4, 0x1000, 0, CODE(OPEN, 0x80));
    assert_int_equal(read_frames(EM_X86_64), STROBE_BAD_INPUT);
    assert_int_equal(count, 0);
}

static void a_file_without_the_section_has_no_entries(void **state)
{
    (void)state;
    used = 0;
    assert_int_equal(read_frames(EM_X86_64), STROBE_OK);
    assert_int_equal(count, 0);
    assert_null(frames);
}

static int forget(void **state)
{
    (void)state;
    free(frames);
    frames = NULL;
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_function_is_judged_by_what_its_instructions_move_and_save),
        cmocka_unit_test(an_instruction_that_is_cut_off_or_unknown_decides_nothing),
        cmocka_unit_test(another_machine_s_functions_are_known_but_not_judged),
        cmocka_unit_test(an_address_is_read_in_each_encoding_of_program_files),
        cmocka_unit_test(an_encoding_that_no_program_has_leaves_out_the_function),
        cmocka_unit_test(the_encoding_is_found_wherever_the_augmentation_has_it),
        cmocka_unit_test(functions_come_in_the_order_of_their_starts),
        cmocka_unit_test(what_is_whole_before_and_behind_a_damaged_entry_stays),
        cmocka_unit_test(an_entry_too_short_for_its_addresses_is_left_out),
        cmocka_unit_test(a_file_without_the_section_has_no_entries),
    };
    return cmocka_run_group_tests(tests, NULL, forget);
}
