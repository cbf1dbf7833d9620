/* Discovery of the runtime's objects, in memory that the test lays out: objects are found by their content, and refused
 * when one property does not match.
 *
 * R-16, of what NetEase's capture scans for: decoys (words_that_equal..., two_places_that_are_both_proven...), none and
 * unaligned (a_java_vm_that_is_missing...), the mapping's end (the_scan_ends_where...), another
 * level's layout (members_at_other_places_are_refused, in tests/contract_art/suspend.c), and methods that have gone
 * (tests/contract_art/engine.c and netease.c). */
#include "engine/backend/art/discover.h"
#include "engine/base/error.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* ---- memory ---- */

/* Addresses of objects. Each object has REGION_BYTES, unless the test makes it shorter. No other memory is readable. */
enum {
    VM = 0x100000,
    INSTANCE = 0x110000,
    RUNTIME = 0x120000,
    LIST = 0x130000,
    LINKER = 0x140000,
    INTERN = 0x150000,
    HEAP = 0x160000,
    CARDS = 0x170000,
    SELF = 0x180000,
    OTHER = 0x190000,
    NODES = 0x1a0000,
    SPARE = 0x1b0000,
    REGIONS = 12,
    REGION_BYTES = 0x8000
};

/* Word offsets in the Runtime as at level 30. The other offsets are arbitrary. */
enum {
    JAVA_VM = 65,
    THREAD_LIST = JAVA_VM - 5,
    INTERN_TABLE = THREAD_LIST + 1,
    CLASS_LINKER = JAVA_VM - 3,
    HEAP_AT = JAVA_VM - 13,
    HEAD = 1024,
    TID = 4321,
    OTHER_TID = 4322,
    GONE_TID = 666,
    CARD_BEGIN = 0x7770
};

static union {
    uint64_t word[REGION_BYTES / 8];
    uint32_t half[REGION_BYTES / 4];
} memory[REGIONS];
static size_t readable[REGIONS];

static uint64_t *at(uint64_t address)
{
    return &memory[(address - VM) >> 16].word[(address & 0xffff) / 8];
}

static size_t reads_of_spare;

static enum strobe_status read_memory(void *ctx, uint64_t address, void *out, size_t bytes, size_t *copied)
{
    (void)ctx;
    reads_of_spare += address >= SPARE && address < SPARE + REGION_BYTES;
    uint64_t region = (address - VM) >> 16, offset = address & 0xffff;
    *copied = 0;
    if (address < VM || region >= REGIONS || offset >= readable[region])
        return STROBE_UNREADABLE;
    *copied = bytes < readable[region] - offset ? bytes : readable[region] - offset;
    memcpy(out, (const char *)memory[region].word + offset, *copied);
    return STROBE_OK;
}

static enum strobe_status thread_cpu_ns(void *ctx, uint32_t tid, uint64_t *out)
{
    (void)ctx;
    *out = 1;
    return tid == GONE_TID ? STROBE_GONE : STROBE_OK;
}

static const struct strobe_host host = {.read = read_memory, .thread_cpu_ns = thread_cpu_ns};

/* ---- a runtime in it ---- */

static struct strobe_art_level level;
static struct strobe_libart libart;
static struct strobe_art_runtime found;
static struct strobe_error error;

static uint64_t runtime_word(size_t i)
{
    return RUNTIME + 8 * i;
}

/* A ring: head in the ThreadList, a node for the thread, one for the other. */
static void link_threads(void)
{
    uint64_t head = LIST + 8 * HEAD, first = NODES, second = NODES + 64;
    uint64_t *h = at(head), *a = at(first), *b = at(second);
    h[0] = first, h[1] = second;
    a[0] = second, a[1] = head, a[2] = OTHER;
    b[0] = head, b[1] = first, b[2] = SELF;
}

static void put_ids(uint64_t thread, size_t offset, uint32_t id, uint32_t tid)
{
    uint32_t pair[2] = {id, tid};
    memcpy((char *)at(thread) + offset, pair, sizeof pair);
}

static int start(void **state)
{
    (void)state;
    memset(memory, 0, sizeof memory);
    for (size_t i = 0; i < REGIONS; i++)
        readable[i] = REGION_BYTES;
    level = (struct strobe_art_level){
        .api = 30, .thread_list_before = {5}, .class_linker_before = {3}, .heap_before = {13}};
    libart = (struct strobe_libart){.level = &level};
    libart.address[STROBE_ART_RUNTIME_INSTANCE] = INSTANCE;
    *at(VM + 8) = RUNTIME;
    *at(INSTANCE) = RUNTIME;
    *at(runtime_word(JAVA_VM)) = VM;
    *at(runtime_word(THREAD_LIST)) = LIST;
    *at(runtime_word(INTERN_TABLE)) = INTERN;
    *at(runtime_word(CLASS_LINKER)) = LINKER;
    *at(runtime_word(HEAP_AT)) = HEAP;
    link_threads();
    *at(LINKER + 8 * 30) = INTERN;
    *at(HEAP + 8 * 20) = CARDS;
    *at(CARDS + 8 * 8) = CARD_BEGIN;
    *at(CARDS + 8 * 9) = 0x30;
    *at(SELF + 0xa0) = CARD_BEGIN;
    put_ids(SELF, 12, 1, TID);
    put_ids(OTHER, 12, 2, OTHER_TID);
    error.text[0] = '\0';
    return 0;
}

static enum strobe_status discover(void)
{
    return strobe_art_discover(&libart, &host, (void *)(uintptr_t)VM, (void *)(uintptr_t)SELF, TID, &found, &error);
}

static void assert_all_found(void)
{
    assert_int_equal(discover(), STROBE_OK);
    assert_int_equal((uintptr_t)found.vm, VM);
    assert_int_equal((uintptr_t)found.runtime, RUNTIME);
    assert_int_equal((uintptr_t)found.thread_list, LIST);
    assert_int_equal((uintptr_t)found.class_linker, LINKER);
    assert_int_equal((uintptr_t)found.heap, HEAP);
    assert_null(found.callbacks);
}

/* Asserts that the discovery is refused and that the error text contains `because`. */
static void assert_refused(enum strobe_status status, const char *because)
{
    assert_int_equal(discover(), status);
    if (!strstr(error.text, because))
        fail_msg("'%s' says nothing of '%s'", error.text, because);
}

/* ---- the JavaVM in the Runtime ---- */

static void the_objects_are_found_by_what_they_hold(void **state)
{
    (void)state;
    assert_all_found();
    assert_int_equal(found.proof, STROBE_ART_PROOF_INSTANCE);
    assert_int_equal(found.java_vm_offset, 8 * JAVA_VM);
    assert_int_equal(found.thread_ids_offset, 12);
}

static void without_its_symbol_the_runtime_is_proven_by_its_content(void **state)
{
    (void)state;
    libart.address[STROBE_ART_RUNTIME_INSTANCE] = 0;
    assert_all_found();
    assert_int_equal(found.proof, STROBE_ART_PROOF_CROSS);
}

static void a_runtime_that_is_not_the_symbols_is_refused(void **state)
{
    (void)state;
    *at(INSTANCE) = SPARE;
    assert_refused(STROBE_BAD_INPUT, "instance_");
    libart.address[STROBE_ART_RUNTIME_INSTANCE] = 64; /* a symbol at an unreadable address is refused, too */
    assert_refused(STROBE_BAD_INPUT, "instance_");
}

static void a_java_vm_that_leads_nowhere_is_refused(void **state)
{
    (void)state;
    static const uint64_t wild[] = {0, 8, RUNTIME + 1, SPARE + REGION_BYTES};
    for (size_t i = 0; i < sizeof wild / sizeof wild[0]; i++) {
        *at(VM + 8) = wild[i];
        assert_refused(STROBE_NO_ENTRY, "does not lead to a Runtime");
    }
}

static void words_that_equal_the_java_vm_by_chance_are_passed_over(void **state)
{
    (void)state;
    static const size_t decoys[] = {0, 2, 20, 40, JAVA_VM + 1, JAVA_VM + 40, 511};
    for (size_t i = 0; i < sizeof decoys / sizeof decoys[0]; i++)
        *at(runtime_word(decoys[i])) = VM;
    assert_all_found();
    assert_int_equal(found.java_vm_offset, 8 * JAVA_VM);
}

static void two_places_that_are_both_proven_are_refused(void **state)
{
    (void)state;
    memcpy(at(runtime_word(200)), at(runtime_word(HEAP_AT)), 8 * (JAVA_VM - HEAP_AT + 1));
    assert_refused(STROBE_BAD_INPUT, "2 places");
}

static void a_java_vm_that_is_missing_or_unaligned_is_refused(void **state)
{
    (void)state;
    *at(runtime_word(JAVA_VM)) = 0;
    assert_refused(STROBE_NO_ENTRY, "all that is looked at");
    uint64_t vm = VM;
    for (size_t shift = 1; shift < 8; shift++) {
        memcpy((char *)at(runtime_word(JAVA_VM)) + shift, &vm, 8);
        assert_refused(STROBE_NO_ENTRY, "not found");
        memset(at(runtime_word(JAVA_VM)), 0, 16);
    }
}

static void the_scan_ends_where_the_mapping_does(void **state)
{
    (void)state;
    readable[(RUNTIME - VM) >> 16] = 8 * (JAVA_VM + 1);
    assert_all_found();
    readable[(RUNTIME - VM) >> 16] = 8 * JAVA_VM + 7;
    assert_refused(STROBE_NO_ENTRY, "can be read");
}

static void a_java_vm_too_near_the_begin_is_refused(void **state)
{
    (void)state;
    *at(runtime_word(JAVA_VM)) = 0;
    *at(runtime_word(12)) = VM;
    assert_refused(STROBE_NO_ENTRY, "before its begin");
}

static void of_several_places_that_a_level_knows_the_one_that_is_proven_is_taken(void **state)
{
    (void)state;
    const uint8_t lists[4] = {9, 6, 5}, linkers[4] = {4, 3}, heaps[4] = {15, 14, 13, 12};
    memcpy(level.thread_list_before, lists, 4);
    memcpy(level.class_linker_before, linkers, 4);
    memcpy(level.heap_before, heaps, 4);
    assert_all_found();
}

/* ---- each object ---- */

/* Pointers that cannot be the object's: null, unaligned, to unreadable memory, or to another object. */
static void a_pointer_to_no_object_is_refused(void **state)
{
    (void)state;
    static const size_t places[] = {THREAD_LIST, CLASS_LINKER, HEAP_AT};
    static const uint64_t wrong[] = {0,          1,       4,        SPARE,      SPARE + REGION_BYTES,
                                     VM,         RUNTIME, LIST + 1, LINKER + 4, HEAP + 2,
                                     UINT64_MAX, LIST,    LINKER,   HEAP,       INTERN};
    for (size_t p = 0; p < 3; p++)
        for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
            start(NULL);
            if (*at(runtime_word(places[p])) == wrong[i])
                continue;
            *at(runtime_word(places[p])) = wrong[i];
            assert_refused(STROBE_NO_ENTRY, "");
            assert_true(error.text[0]);
        }
}

static void a_thread_list_without_the_calling_thread_is_refused(void **state)
{
    (void)state;
    at(NODES + 64)[2] = SPARE;
    assert_refused(STROBE_NO_ENTRY, "thread list");
}

static void a_list_that_does_not_come_back_is_refused(void **state)
{
    (void)state;
    at(NODES + 64)[0] = NODES; /* a cycle */
    assert_refused(STROBE_NO_ENTRY, "thread list");
    at(NODES + 64)[0] = 8; /* to unreadable memory */
    assert_refused(STROBE_NO_ENTRY, "thread list");
    link_threads();
    at(NODES)[1] = SPARE; /* the first node belongs to another list */
    assert_refused(STROBE_NO_ENTRY, "thread list");
}

static void a_list_with_reversed_links_is_accepted(void **state)
{
    (void)state;
    const uint64_t node[] = {LIST + 8 * HEAD, NODES, NODES + 64};
    for (size_t i = 0; i < 3; i++) {
        uint64_t *links = at(node[i]), next = links[0];
        links[0] = links[1];
        links[1] = next;
    }
    assert_all_found();
}

/* Each read is a system call, and each pointer in the object is followed. */
static void an_object_that_is_no_thread_list_is_searched_once_for_all_positions_of_the_others(void **state)
{
    (void)state;
    *at(runtime_word(JAVA_VM - 6)) = SPARE;
    level.thread_list_before[0] = 6;
    level.thread_list_before[1] = 5;
    reads_of_spare = 0;
    assert_all_found();
    size_t alone = reads_of_spare;
    assert_true(alone > 0);
    level.class_linker_before[1] = 2;
    level.heap_before[1] = 14;
    reads_of_spare = 0;
    assert_all_found();
    assert_true(reads_of_spare < 2 * alone);
}

static void a_class_linker_without_the_runtimes_intern_table_is_refused(void **state)
{
    (void)state;
    *at(LINKER + 8 * 30) = SPARE;
    assert_refused(STROBE_NO_ENTRY, "class linker");
    *at(LINKER + 8 * 30) = *at(runtime_word(INTERN_TABLE)) = 0; /* both null: no proof */
    assert_refused(STROBE_NO_ENTRY, "class linker");
}

static void a_heap_whose_cards_are_not_the_threads_is_refused(void **state)
{
    (void)state;
    *at(SELF + 0xa0) = CARD_BEGIN + 0x100;
    assert_refused(STROBE_NO_ENTRY, "heap");
    *at(SELF + 0xa0) = *at(CARDS + 8 * 8) = CARD_BEGIN + 8; /* a biased begin never has these low bits */
    assert_refused(STROBE_NO_ENTRY, "heap");
    *at(SELF + 0xa0) = *at(CARDS + 8 * 8) = CARD_BEGIN;
    *at(CARDS + 8 * 9) = 0x100; /* the bias is never so large */
    assert_refused(STROBE_NO_ENTRY, "heap");
    *at(CARDS + 8 * 9) = 0xff;
    assert_all_found();
}

/* The thread has its biased begin, too, and objects that point to it. */
static void an_object_that_leads_to_the_thread_is_no_heap(void **state)
{
    (void)state;
    *at(HEAP + 8 * 20) = SELF + 0x80;
    *at(SELF + 0xa8) = 0;
    assert_refused(STROBE_NO_ENTRY, "heap");
}

/* Seen on Android 11: a small object lies before the Heap in memory, so that the Heap's card table seemed to be the
 * object's. */
static void what_stands_in_the_next_object_is_no_proof(void **state)
{
    (void)state;
    *at(HEAP + 8 * 20) = 0;
    *at(HEAP + 256 + 8 * 20) = CARDS;
    *at(runtime_word(HEAP_AT + 2)) = HEAP + 256;
    assert_refused(STROBE_NO_ENTRY, "heap");
    *at(runtime_word(HEAP_AT)) = HEAP + 256;
    *at(runtime_word(HEAP_AT + 2)) = HEAP;
    assert_int_equal(discover(), STROBE_OK);
    assert_int_equal((uintptr_t)found.heap, HEAP + 256);
}

/* ---- ids ---- */

static void ids_are_found_at_each_offset(void **state)
{
    (void)state;
    for (size_t offset = 0; offset <= 56; offset += 4) {
        memset(at(SELF), 0, 64);
        memset(at(OTHER), 0, 64);
        put_ids(SELF, offset, 7, TID);
        put_ids(OTHER, offset, 8, OTHER_TID);
        assert_int_equal(discover(), STROBE_OK);
        assert_int_equal(found.thread_ids_offset, offset);
        uint32_t id, tid;
        assert_true(strobe_art_thread_ids(&found, &host, (void *)(uintptr_t)OTHER, &id, &tid));
        assert_int_equal(id, 8);
        assert_int_equal(tid, OTHER_TID);
    }
    put_ids(SELF, 56, 0, 0);
    put_ids(SELF, 60, 7, TID); /* ends beyond the searched range */
    assert_refused(STROBE_NO_ENTRY, "not found");
}

static void an_id_that_no_thin_lock_can_hold_is_refused(void **state)
{
    (void)state;
    put_ids(SELF, 12, 0, TID);
    assert_refused(STROBE_NO_ENTRY, "thin-lock id");
    put_ids(SELF, 12, 65536, TID);
    assert_refused(STROBE_NO_ENTRY, "thin-lock id");
    put_ids(SELF, 12, 65535, TID);
    assert_all_found();
}

static void another_thread_without_ids_there_disproves_the_place(void **state)
{
    (void)state;
    put_ids(OTHER, 12, 1, OTHER_TID); /* the same thin-lock id */
    assert_refused(STROBE_NO_ENTRY, "thin-lock id");
    put_ids(OTHER, 12, 2, TID); /* the same tid */
    assert_refused(STROBE_NO_ENTRY, "thin-lock id");
    put_ids(OTHER, 12, 2, GONE_TID); /* the tid of no thread */
    assert_refused(STROBE_NO_ENTRY, "thin-lock id");
}

static void the_ids_of_the_only_thread_are_accepted(void **state)
{
    (void)state;
    at(NODES)[2] = SELF;
    put_ids(OTHER, 12, 0, 0);
    assert_all_found();
    assert_int_equal(found.thread_ids_offset, 12);
}

static void of_two_pairs_the_one_that_another_thread_has_too_is_taken(void **state)
{
    (void)state;
    put_ids(SELF, 40, 9, TID);
    assert_all_found();
    assert_int_equal(found.thread_ids_offset, 12);
    put_ids(OTHER, 40, 10, OTHER_TID);
    assert_refused(STROBE_BAD_INPUT, "several");
}

static void a_pointer_to_no_thread_has_no_ids(void **state)
{
    (void)state;
    uint32_t id, tid;
    assert_all_found();
    assert_false(strobe_art_thread_ids(&found, &host, NULL, &id, &tid));
    assert_false(strobe_art_thread_ids(&found, &host, (void *)(uintptr_t)SPARE, &id, &tid));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup(f, start)
    const struct CMUnitTest tests[] = {
        TEST(the_objects_are_found_by_what_they_hold),
        TEST(without_its_symbol_the_runtime_is_proven_by_its_content),
        TEST(a_runtime_that_is_not_the_symbols_is_refused),
        TEST(a_java_vm_that_leads_nowhere_is_refused),
        TEST(words_that_equal_the_java_vm_by_chance_are_passed_over),
        TEST(two_places_that_are_both_proven_are_refused),
        TEST(a_java_vm_that_is_missing_or_unaligned_is_refused),
        TEST(the_scan_ends_where_the_mapping_does),
        TEST(a_java_vm_too_near_the_begin_is_refused),
        TEST(of_several_places_that_a_level_knows_the_one_that_is_proven_is_taken),
        TEST(a_pointer_to_no_object_is_refused),
        TEST(a_thread_list_without_the_calling_thread_is_refused),
        TEST(a_list_that_does_not_come_back_is_refused),
        TEST(a_list_with_reversed_links_is_accepted),
        TEST(a_class_linker_without_the_runtimes_intern_table_is_refused),
        TEST(an_object_that_is_no_thread_list_is_searched_once_for_all_positions_of_the_others),
        TEST(a_heap_whose_cards_are_not_the_threads_is_refused),
        TEST(an_object_that_leads_to_the_thread_is_no_heap),
        TEST(what_stands_in_the_next_object_is_no_proof),
        TEST(ids_are_found_at_each_offset),
        TEST(an_id_that_no_thin_lock_can_hold_is_refused),
        TEST(another_thread_without_ids_there_disproves_the_place),
        TEST(the_ids_of_the_only_thread_are_accepted),
        TEST(of_two_pairs_the_one_that_another_thread_has_too_is_taken),
        TEST(a_pointer_to_no_thread_has_no_ids),
    };
    return cmocka_run_group_tests_name("art discover", tests, NULL, NULL);
}
