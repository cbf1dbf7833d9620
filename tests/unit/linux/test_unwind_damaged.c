/* Damaged call frame information: with any bytes, the search for rules ends and reads nothing outside them. The
 * bytes lie between two unreadable pages (S-44). */
#include "engine/backend/linux/eh_frame.h"

#include "engine/base/mix.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <cmocka.h>

enum { PAGE = 4096, PLACES = 16 };

/* Call frame information of this program. */
static const uint8_t *whole;
static uint64_t whole_bytes, header, text_low, text_bytes;
static uint8_t *pages;
static size_t pages_bytes;

static int find_own(struct dl_phdr_info *info, size_t bytes, void *unused)
{
    (void)bytes, (void)unused;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type == PT_GNU_EH_FRAME)
            header = info->dlpi_addr + p->p_vaddr;
        if (p->p_type == PT_LOAD && p->p_flags & PF_X) {
            text_low = info->dlpi_addr + p->p_vaddr;
            text_bytes = p->p_memsz;
        }
    }
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uint64_t at = info->dlpi_addr + p->p_vaddr;
        if (p->p_type == PT_LOAD && header - at < p->p_filesz)
            whole_bytes = at + p->p_filesz - header;
    }
    whole = (const uint8_t *)(uintptr_t)header;
    return 1;
}

static int prepare(void **state)
{
    (void)state;
    dl_iterate_phdr(find_own, NULL);
    pages_bytes = (whole_bytes + PAGE - 1) / PAGE * PAGE + 2 * PAGE;
    pages = mmap(NULL, pages_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return whole_bytes < 256 || pages == MAP_FAILED || mprotect(pages, PAGE, PROT_NONE) ||
           mprotect(pages + pages_bytes - PAGE, PAGE, PROT_NONE);
}

/* Copies the first `bytes` of the information to the end of the readable pages. */
static uint8_t *put_at_end(uint64_t bytes)
{
    uint8_t *at = pages + pages_bytes - PAGE - bytes;
    memcpy(at, whole, bytes);
    return at;
}

/* Looks up rules for addresses all over the code, for those of the table's entries, and for their ends. */
static uint64_t look_everywhere(const uint8_t *bytes, uint64_t size)
{
    struct strobe_eh_frame e;
    uint64_t start, end, described = 0;
    if (strobe_eh_frame_open(bytes, size, header, header, &e) != STROBE_OK)
        return 0;
    for (uint64_t i = 0; i < PLACES; i++) {
        described += strobe_eh_frame_rule(&e, text_low + text_bytes * i / PLACES).kind != STROBE_UNWIND_NONE;
        if (strobe_eh_frame_range(&e, e.count * i / PLACES, &start, &end)) {
            described += strobe_eh_frame_rule(&e, start).kind != STROBE_UNWIND_NONE;
            described += strobe_eh_frame_rule(&e, end - 1).kind != STROBE_UNWIND_NONE;
        }
    }
    return described;
}

static void whole_information_describes_this_program(void **state)
{
    (void)state;
    assert_true(look_everywhere(put_at_end(whole_bytes), whole_bytes) >= PLACES);
}

static void information_that_is_cut_anywhere_is_read_to_its_end_at_most(void **state)
{
    (void)state;
    for (uint64_t bytes = 0; bytes < whole_bytes; bytes += bytes < 512 ? 1 : 13)
        look_everywhere(put_at_end(bytes), bytes);
}

static void bytes_that_are_changed_at_random_lead_to_no_read_outside(void **state)
{
    (void)state;
    const int rounds = getenv("STROBE_TEST_LIGHT") ? 2000 : 20000;
    uint64_t random = 20240607;
    uint64_t described = 0;
    for (int i = 0; i < rounds; i++) {
        uint8_t *at = put_at_end(whole_bytes);
        for (int k = 0; k < 1 + i % 64; k++) {
            random = strobe_mix64(random + (uint64_t)i + 1);
            /* Half of the changes are in the header, the table and the first entries. */
            uint64_t place = (random >> 8) % (random & 1 ? whole_bytes : 256);
            at[place] = (uint8_t)(random >> 40);
        }
        described += look_everywhere(at, whole_bytes);
    }
    assert_true(described > 0);
}

/* The table leads to a description near the end of the information, and its length passes that end. */
static void a_description_that_passes_the_end_describes_nothing(void **state)
{
    (void)state;
    uint8_t *at = put_at_end(whole_bytes);
    struct strobe_eh_frame e;
    assert_int_equal(strobe_eh_frame_open(at, whole_bytes, header, header, &e), STROBE_OK);
    for (uint64_t back = 4; back < 64; back += 4) {
        int32_t entry = (int32_t)(whole_bytes - back);
        uint32_t length = 0x7fffff00, id = 8;
        memcpy(at + e.table + 4, &entry, sizeof entry);
        memcpy(at + whole_bytes - back, &length, sizeof length);
        if (back > 4)
            memcpy(at + whole_bytes - back + 4, &id, sizeof id);
        uint64_t start, end;
        assert_false(strobe_eh_frame_range(&e, 0, &start, &end));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_information_describes_this_program),
        cmocka_unit_test(information_that_is_cut_anywhere_is_read_to_its_end_at_most),
        cmocka_unit_test(bytes_that_are_changed_at_random_lead_to_no_read_outside),
        cmocka_unit_test(a_description_that_passes_the_end_describes_nothing),
    };
    return cmocka_run_group_tests_name("damaged call frame information", tests, prepare, NULL);
}
