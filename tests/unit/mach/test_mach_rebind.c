/* Rebinding: each pointer to a function is replaced by one to its hook, and is restored at the end. Other pointers
 * stay. An inconsistent header changes no pointer. */
#include "engine/backend/mach/rebind.h"
#include "tests/unit/support/mach_image.h"

#include <mach/mach.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- the system */

mach_port_t mach_task_self_;
static int protects, failing_from, failing_before; /* calls of that number fail */

kern_return_t vm_protect(task_t task, vm_address_t address, vm_size_t bytes, boolean_t set_maximum, vm_prot_t to)
{
    (void)task, (void)set_maximum;
    if (++protects >= failing_from && protects < failing_before)
        return KERN_PROTECTION_FAILURE;
    int protection = (to & VM_PROT_READ ? PROT_READ : 0) | (to & VM_PROT_WRITE ? PROT_WRITE : 0);
    return mprotect((void *)address, bytes, protection) == 0 ? KERN_SUCCESS : KERN_INVALID_ADDRESS;
}

enum { TRIES = 3 }; /* that the backend makes */

static void refuse(int next)
{
    failing_from = protects + 1;
    failing_before = failing_from + next;
}

/* ---- an image, and its rebindings */

static int first, second, third, first_hook, second_hook, absent_hook, elsewhere;
static void *const genuine[MACH_IMAGE_SYMBOLS] = {&first, &second, &third};
static const struct strobe_rebinding rebindings[] = {
    {"second", &second_hook, &second},
    {"absent", &absent_hook, &third},
    {"first", &first_hook, &first},
    {"third", &absent_hook, NULL},
};
enum { REBINDINGS = sizeof rebindings / sizeof rebindings[0], ROOM = 64, HOOKED = 2 * MACH_IMAGE_SECTIONS };

static struct mach_image m;
static struct strobe_rebound made[ROOM];
static size_t made_count;

static void protect_constants(int protection)
{
    assert_int_equal(mprotect(m.memory + 2 * MACH_IMAGE_PAGE, MACH_IMAGE_PAGE, protection), 0);
}

static int map(void **state)
{
    (void)state;
    void *memory = mmap(NULL, MACH_IMAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return 1;
    mach_image_make(&m, memory);
    for (int s = 0; s < MACH_IMAGE_SECTIONS; s++)
        memcpy(m.pointer[s], genuine, sizeof genuine);
    protect_constants(PROT_READ);
    made_count = 0;
    protects = failing_from = failing_before = 0;
    return 0;
}

static int unmap(void **state)
{
    (void)state;
    return munmap(m.memory, MACH_IMAGE_BYTES);
}

static enum strobe_status rebind_in(size_t room)
{
    return strobe_rebind_image(m.header, m.slide, rebindings, REBINDINGS, made, room, &made_count);
}

static enum strobe_status rebind(void)
{
    return rebind_in(ROOM);
}

static size_t undo(void)
{
    return strobe_rebind_undo(rebindings, made, made_count);
}

/* Asks the kernel, by a copy of the word over itself. */
static bool can_write(void *at)
{
    struct iovec word = {at, sizeof(void *)};
    return process_vm_readv(getpid(), &word, 1, &word, 1, 0) == (ssize_t)sizeof(void *);
}

static void assert_pointers(int section, const void *p0, const void *p1, const void *p2)
{
    assert_ptr_equal(m.pointer[section][0], p0);
    assert_ptr_equal(m.pointer[section][1], p1);
    assert_ptr_equal(m.pointer[section][2], p2);
    assert_null(m.pointer[section][MACH_IMAGE_SYMBOLS]);
}

/* ---- changed pointers */

static void pointers_of_every_kind_lead_to_the_hooks_and_back_again(void **state)
{
    (void)state;
    assert_int_equal(rebind(), STROBE_OK);
    assert_int_equal(made_count, HOOKED);
    for (int s = 0; s < MACH_IMAGE_SECTIONS; s++)
        assert_pointers(s, &first_hook, &second_hook, &third);
    assert_int_equal(undo(), 0);
    for (int s = 0; s < MACH_IMAGE_SECTIONS; s++)
        assert_pointers(s, &first, &second, &third);
}

static void a_name_that_only_begins_alike_is_another_function(void **state)
{
    static const struct strobe_rebinding shorter = {"firs", &first_hook, &first};
    static const struct strobe_rebinding longer = {"firsts", &first_hook, &first};
    (void)state;
    assert_int_equal(strobe_rebind_image(m.header, m.slide, &shorter, 1, made, ROOM, &made_count), STROBE_OK);
    assert_int_equal(strobe_rebind_image(m.header, m.slide, &longer, 1, made, ROOM, &made_count), STROBE_OK);
    assert_int_equal(made_count, 0);
    assert_pointers(MACH_IMAGE_LAZY, &first, &second, &third);
}

static void constants_are_writable_only_while_they_are_written(void **state)
{
    (void)state;
    assert_int_equal(rebind(), STROBE_OK);
    assert_false(can_write(m.pointer[MACH_IMAGE_GOT]));
    assert_true(can_write(m.pointer[MACH_IMAGE_LAZY]));
    undo();
    assert_false(can_write(m.pointer[MACH_IMAGE_GOT]));
    assert_true(protects > 0);
}

static void a_lazy_pointer_is_hooked_before_it_is_bound_and_given_back_unbound(void **state)
{
    (void)state;
    m.pointer[MACH_IMAGE_LAZY][0] = mach_image_helper(&m);
    m.pointer[MACH_IMAGE_NON_LAZY][0] = mach_image_helper(&m);
    assert_int_equal(rebind(), STROBE_OK);
    assert_pointers(MACH_IMAGE_LAZY, &first_hook, &second_hook, &third);
    assert_pointers(MACH_IMAGE_NON_LAZY, mach_image_helper(&m), &second_hook, &third); /* the image's own function */
    undo();
    assert_pointers(MACH_IMAGE_LAZY, mach_image_helper(&m), &second, &third);
}

static void a_pointer_that_somebody_else_has_changed_before_stays(void **state)
{
    (void)state;
    m.pointer[MACH_IMAGE_LAZY][1] = &elsewhere;
    m.pointer[MACH_IMAGE_NON_LAZY][0] = &elsewhere;
    assert_int_equal(rebind(), STROBE_OK);
    assert_pointers(MACH_IMAGE_LAZY, &first_hook, &elsewhere, &third);
    assert_pointers(MACH_IMAGE_NON_LAZY, &elsewhere, &second_hook, &third);
    undo();
    assert_pointers(MACH_IMAGE_NON_LAZY, &elsewhere, &second, &third);
}

static void a_pointer_that_somebody_else_has_changed_since_stays(void **state)
{
    (void)state;
    assert_int_equal(rebind(), STROBE_OK);
    m.pointer[MACH_IMAGE_LAZY][1] = &elsewhere;
    undo();
    assert_pointers(MACH_IMAGE_LAZY, &first, &elsewhere, &third);
}

static void an_image_that_is_done_twice_is_hooked_once(void **state)
{
    (void)state;
    assert_int_equal(rebind(), STROBE_OK);
    assert_int_equal(rebind(), STROBE_OK);
    assert_int_equal(made_count, HOOKED);
}

static void what_finds_no_room_in_the_log_is_left_alone(void **state)
{
    (void)state;
    assert_int_equal(rebind_in(3), STROBE_FULL);
    assert_int_equal(made_count, 3);
    assert_pointers(MACH_IMAGE_NON_LAZY, &first_hook, &second, &third);
    undo();
    assert_pointers(MACH_IMAGE_LAZY, &first, &second, &third);
    assert_pointers(MACH_IMAGE_NON_LAZY, &first, &second, &third);
}

static void what_cannot_be_made_writable_is_left_alone(void **state)
{
    (void)state;
    refuse(TRIES);
    assert_int_equal(rebind(), STROBE_UNSUPPORTED);
    assert_pointers(MACH_IMAGE_GOT, &first, &second, &third);
    assert_pointers(MACH_IMAGE_LAZY, &first_hook, &second_hook, &third);
    assert_pointers(MACH_IMAGE_AUTH_GOT, &first_hook, &second_hook, &third);
    refuse(TRIES);
    assert_int_equal(undo(), 1);
    assert_pointers(MACH_IMAGE_LAZY, &first, &second, &third);
}

static void what_can_be_made_writable_at_the_last_try_is_hooked_and_given_back(void **state)
{
    (void)state;
    refuse(TRIES - 1);
    assert_int_equal(rebind(), STROBE_OK);
    assert_pointers(MACH_IMAGE_GOT, &first_hook, &second_hook, &third);
    refuse(TRIES - 1);
    assert_int_equal(undo(), 0);
    assert_pointers(MACH_IMAGE_GOT, &first, &second, &third);
    assert_false(can_write(&m.pointer[MACH_IMAGE_GOT][0]));
}

static void an_image_without_symbols_is_fine_as_it_is(void **state)
{
    (void)state;
    m.dysymtab->cmd = LC_FUNCTION_STARTS;
    assert_int_equal(rebind(), STROBE_OK);
    assert_int_equal(made_count, 0);
}

/* ---- damage */

struct damage {
    void *at;
    uint64_t value;
    uint32_t bytes;
};

static void a_header_that_does_not_fit_together_is_refused_and_nothing_changed(void **state)
{
    static uint8_t before[MACH_IMAGE_BYTES];
    uint64_t far = UINT64_C(1) << 40;
    const struct damage damages[] = {
        {&m.header->magic, 0xfeedface, 4},
        {&m.header->ncmds, 1000, 4},
        {&m.header->ncmds, 2, 4},
        {&m.header->sizeofcmds, UINT32_MAX, 4},
        {&m.header->sizeofcmds, 40, 4},
        {&m.header->sizeofcmds, m.header->sizeofcmds + 8, 4},
        {&m.text->cmdsize, 0, 4},
        {&m.text->cmdsize, 16, 4},
        {&m.text->cmdsize, m.text->cmdsize + 4, 4},
        {&m.text->cmdsize, UINT32_MAX & ~7u, 4},
        {&m.text->vmaddr, m.text->vmaddr + 8, 8},
        {&m.text->filesize, 64, 8},
        {&m.text->filesize, far, 8},
        {&m.data->nsects, 3, 4},
        {&m.data->nsects, UINT32_MAX, 4},
        {&m.data->vmsize, UINT64_MAX, 8},
        {&m.linkedit->segname[2], 0, 1},
        {&m.linkedit->filesize, 2048, 8},
        {&m.linkedit->fileoff, far, 8},
        {&m.symtab->cmdsize, 16, 4},
        {&m.symtab->symoff, 0, 4},
        {&m.symtab->symoff, m.symtab->symoff + 4, 4},
        {&m.symtab->symoff, UINT32_MAX, 4},
        {&m.symtab->nsyms, 2, 4},
        {&m.symtab->nsyms, UINT32_MAX, 4},
        {&m.symtab->stroff, 4 * MACH_IMAGE_PAGE, 4},
        {&m.symtab->strsize, MACH_IMAGE_PAGE, 4},
        {&m.symtab->strsize, 9, 4},
        {&m.dysymtab->indirectsymoff, m.dysymtab->indirectsymoff + 2, 4},
        {&m.dysymtab->indirectsymoff, UINT32_MAX, 4},
        {&m.dysymtab->nindirectsyms, MACH_IMAGE_POINTERS, 4},
        {&m.dysymtab->nindirectsyms, UINT32_MAX, 4},
        {&m.section[MACH_IMAGE_GOT]->addr, far, 8},
        {&m.section[MACH_IMAGE_GOT]->addr, m.section[MACH_IMAGE_GOT]->addr + 4, 8},
        {&m.section[MACH_IMAGE_GOT]->addr, m.text->vmaddr, 8},
        {&m.section[MACH_IMAGE_GOT]->size, MACH_IMAGE_PAGE + 8, 8},
        {&m.section[MACH_IMAGE_GOT]->size, 4, 8},
        {&m.section[MACH_IMAGE_GOT]->size, UINT64_MAX & ~UINT64_C(7), 8},
        {&m.section[MACH_IMAGE_AUTH_GOT]->reserved1, UINT32_MAX, 4},
        {&m.section[MACH_IMAGE_AUTH_GOT]->reserved1, 13, 4},
        {&m.indirect[5], MACH_IMAGE_SYMBOLS, 4},
        {&m.symbols[1].n_un.n_strx, UINT32_MAX, 4},
        {&m.id->dylib.name.offset, 200, 4},
        {&m.id->dylib.name.offset, 4, 4},
        {(char *)m.id + m.id->cmdsize - 8, UINT64_MAX, 8},
    };
    (void)state;
    for (size_t i = 0; i < sizeof damages / sizeof damages[0]; i++) {
        const struct damage *d = &damages[i];
        uint64_t was = 0;
        memcpy(&was, d->at, d->bytes);
        memcpy(d->at, &d->value, d->bytes);
        memcpy(before, m.memory, sizeof before);
        enum strobe_status status = rebind();
        if (status != STROBE_BAD_INPUT || made_count || memcmp(before, m.memory, sizeof before) != 0)
            fail_msg("damage %zu: %s, %zu pointers changed", i, strobe_status_text(status), made_count);
        memcpy(d->at, &was, d->bytes);
    }
    assert_int_equal(rebind(), STROBE_OK);
    assert_int_equal(made_count, HOOKED);
}

static void pointers_that_lie_in_the_tables_themselves_are_refused(void **state)
{
    (void)state;
    m.data->vmaddr = m.linkedit->vmaddr;
    m.section[MACH_IMAGE_LAZY]->addr = m.linkedit->vmaddr + 3072;
    m.section[MACH_IMAGE_NON_LAZY]->addr = m.linkedit->vmaddr + 3584;
    assert_int_equal(rebind(), STROBE_BAD_INPUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(pointers_of_every_kind_lead_to_the_hooks_and_back_again, map, unmap),
        cmocka_unit_test_setup_teardown(a_name_that_only_begins_alike_is_another_function, map, unmap),
        cmocka_unit_test_setup_teardown(constants_are_writable_only_while_they_are_written, map, unmap),
        cmocka_unit_test_setup_teardown(a_lazy_pointer_is_hooked_before_it_is_bound_and_given_back_unbound, map, unmap),
        cmocka_unit_test_setup_teardown(a_pointer_that_somebody_else_has_changed_before_stays, map, unmap),
        cmocka_unit_test_setup_teardown(a_pointer_that_somebody_else_has_changed_since_stays, map, unmap),
        cmocka_unit_test_setup_teardown(an_image_that_is_done_twice_is_hooked_once, map, unmap),
        cmocka_unit_test_setup_teardown(what_finds_no_room_in_the_log_is_left_alone, map, unmap),
        cmocka_unit_test_setup_teardown(what_cannot_be_made_writable_is_left_alone, map, unmap),
        cmocka_unit_test_setup_teardown(what_can_be_made_writable_at_the_last_try_is_hooked_and_given_back, map, unmap),
        cmocka_unit_test_setup_teardown(an_image_without_symbols_is_fine_as_it_is, map, unmap),
        cmocka_unit_test_setup_teardown(a_header_that_does_not_fit_together_is_refused_and_nothing_changed, map, unmap),
        cmocka_unit_test_setup_teardown(pointers_that_lie_in_the_tables_themselves_are_refused, map, unmap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
