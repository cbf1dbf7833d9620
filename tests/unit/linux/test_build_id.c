/* The build id among an image's notes: it is found, and nothing outside the notes is read. */
#include "engine/backend/common/build_id.h"
#include "engine/store/session.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <elf.h>
#include <string.h>
#include <sys/mman.h>
#include <cmocka.h>

enum { PAGE = 4096, ID_BYTES = 20 };

static uint8_t *pages; /* the last byte before a page that can't be read is pages[PAGE - 1] */

static int map_pages(void **state)
{
    (void)state;
    pages = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return pages == MAP_FAILED || mprotect(pages + PAGE, PAGE, PROT_NONE);
}

struct notes {
    uint8_t bytes[256];
    size_t count;
};

static void add_note(struct notes *n, uint32_t type, uint32_t name_bytes, uint32_t desc_bytes)
{
    const uint32_t head[3] = {name_bytes, desc_bytes, type};
    memcpy(n->bytes + n->count, head, sizeof head);
    n->count += sizeof head;
    memcpy(n->bytes + n->count, "GNU", 4);
    n->count += 4;
    for (uint32_t i = 0; i < desc_bytes && i < 64; i++)
        n->bytes[n->count++] = (uint8_t)(0xa0 + i);
}

/* Looks among the notes where they end at a page that can't be read. */
static uint32_t look(const struct notes *n, uint8_t out[STROBE_BUILD_ID_BYTES])
{
    uint8_t *at = pages + PAGE - n->count;
    memcpy(at, n->bytes, n->count);
    return strobe_build_id(at, n->count, 4, out, STROBE_BUILD_ID_BYTES);
}

static void an_id_is_found_behind_another_note(void **state)
{
    (void)state;
    struct notes n = {0};
    uint8_t id[STROBE_BUILD_ID_BYTES];
    add_note(&n, NT_GNU_PROPERTY_TYPE_0, 4, 16);
    add_note(&n, NT_GNU_BUILD_ID, 4, ID_BYTES);
    assert_int_equal(look(&n, id), ID_BYTES);
    assert_memory_equal(id, n.bytes + n.count - ID_BYTES, ID_BYTES);
}

/* In a segment aligned to 8, the content of a note with a name of four bytes begins at 16, and the next note is
 * aligned to 8, too. */
static void padding_follows_the_alignment_of_the_segment(void **state)
{
    (void)state;
    struct notes n = {0};
    uint8_t id[STROBE_BUILD_ID_BYTES];
    add_note(&n, NT_GNU_ABI_TAG, 4, 4);
    n.count += 4;
    add_note(&n, NT_GNU_BUILD_ID, 4, ID_BYTES);
    assert_int_equal(strobe_build_id(n.bytes, n.count, 8, id, STROBE_BUILD_ID_BYTES), ID_BYTES);
    assert_memory_equal(id, n.bytes + n.count - ID_BYTES, ID_BYTES);
    assert_int_equal(strobe_build_id(n.bytes, n.count, 4, id, STROBE_BUILD_ID_BYTES), 0);
}

static void a_note_whose_padding_passes_the_end_is_the_last(void **state)
{
    (void)state;
    struct notes n = {0};
    uint8_t id[STROBE_BUILD_ID_BYTES];
    add_note(&n, NT_GNU_ABI_TAG, 4, 5); /* padded to 8, of which 3 are not there */
    assert_int_equal(look(&n, id), 0);
}

static void a_description_that_passes_the_end_is_not_read(void **state)
{
    (void)state;
    for (uint32_t missing = 1; missing <= ID_BYTES; missing++) {
        struct notes n = {0};
        uint8_t id[STROBE_BUILD_ID_BYTES];
        add_note(&n, NT_GNU_BUILD_ID, 4, ID_BYTES);
        n.count -= missing;
        assert_int_equal(look(&n, id), 0);
    }
}

static void sizes_that_wrap_lead_nowhere(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {5, 64, 0x7fffffff, 0xfffffff0, 0xfffffffc, 0xfffffffd, 0xffffffff};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct notes name = {0}, desc = {0};
        uint8_t id[STROBE_BUILD_ID_BYTES];
        add_note(&name, NT_GNU_ABI_TAG, sizes[i], 16);
        add_note(&desc, NT_GNU_ABI_TAG, 4, sizes[i]);
        desc.count = 32;
        assert_int_equal(look(&name, id), 0);
        assert_int_equal(look(&desc, id), 0);
    }
}

static void notes_cut_anywhere_end_in_an_answer(void **state)
{
    (void)state;
    struct notes whole = {0};
    uint8_t id[STROBE_BUILD_ID_BYTES];
    add_note(&whole, NT_GNU_ABI_TAG, 4, 16);
    add_note(&whole, NT_GNU_BUILD_ID, 4, ID_BYTES);
    for (size_t bytes = 0; bytes < whole.count; bytes++) {
        struct notes n = whole;
        n.count = bytes;
        assert_int_equal(look(&n, id), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_id_is_found_behind_another_note),
        cmocka_unit_test(padding_follows_the_alignment_of_the_segment),
        cmocka_unit_test(a_note_whose_padding_passes_the_end_is_the_last),
        cmocka_unit_test(a_description_that_passes_the_end_is_not_read),
        cmocka_unit_test(sizes_that_wrap_lead_nowhere),
        cmocka_unit_test(notes_cut_anywhere_end_in_an_answer),
    };
    return cmocka_run_group_tests_name("build ids", tests, map_pages, NULL);
}
