/* Runtime, JavaVMExt and the objects that Runtime points to, as memory with the level's layout, for tracers that search
 * it.
 *
 * FAKE_ART_DECOYS changes the content, as on devices that a manufacturer has changed. "before": a scan first meets
 * another word equal to the JavaVM. "misaligned": it first meets one that is not aligned. "absent": there is none at
 * the expected place. */
#include "sim/fake/art/heap.h"
#include "sim/fake/art/thread.h"

#include <stdlib.h>
#include <string.h>

enum { POINTED_TO_BYTES = 4096, DECOY_BEFORE = 160, DECOY_MISALIGNED = 164, INTERN_TABLE_IN_LINKER = 0x160 };

struct card_table {
    void *map;
    uintptr_t biased_begin;
    size_t offset;
};

void *fake_runtime_instance __asm__("_ZN3art7Runtime9instance_E") __attribute__((visibility("default")));

uintptr_t fake_card_table_biased_begin;
static struct strobe_jvm *the_vm;

struct strobe_jvm *fake_vm(void)
{
    return the_vm;
}

static void *runtime_block(size_t bytes)
{
    void *memory = calloc(1, bytes);
    FAKE_CHECK(memory);
    return memory;
}

/* Fields without use here are pointers, numbers or null, as on devices. */
static void runtime_fill(char *runtime)
{
    void *something = runtime_block(POINTED_TO_BYTES);
    for (size_t at = 0, i = 0; at + sizeof(void *) <= fake_layout->runtime_bytes; at += sizeof(void *), i++)
        FAKE_AT(runtime, at, uintptr_t) = i % 3 == 0 ? (uintptr_t)something + i * 16 : i % 3 == 1 ? i : 0;
}

/* The class linker has a pointer to the intern table, which precedes it in Runtime. */
static void put_class_linker(char *runtime)
{
    void *intern_table = runtime_block(POINTED_TO_BYTES), *linker = runtime_block(POINTED_TO_BYTES);
    FAKE_AT(linker, INTERN_TABLE_IN_LINKER, void *) = intern_table;
    FAKE_AT(runtime, fake_layout->runtime_thread_list + sizeof(void *), void *) = intern_table;
    FAKE_AT(runtime, fake_layout->runtime_class_linker, void *) = linker;
}

static void put_heap(char *runtime)
{
    struct card_table *cards = runtime_block(sizeof *cards);
    struct fake_heap *heap = fake_heap();
    cards->map = runtime_block(POINTED_TO_BYTES);
    cards->biased_begin = ((uintptr_t)cards->map & ~(uintptr_t)0xff) | FAKE_CARD_DIRTY;
    fake_card_table_biased_begin = cards->biased_begin;
    heap->card_table = cards;
    FAKE_AT(runtime, fake_layout->runtime_heap, void *) = heap;
}

static void put_decoys(char *runtime, void *vm)
{
    const char *decoys = getenv("FAKE_ART_DECOYS");
    if (!decoys)
        return;
    size_t at = fake_layout->runtime_java_vm;
    if (!strcmp(decoys, "before"))
        FAKE_AT(runtime, at - DECOY_BEFORE, void *) = vm;
    else if (!strcmp(decoys, "misaligned"))
        memcpy(runtime + at - DECOY_MISALIGNED, &vm, sizeof vm);
    else if (!strcmp(decoys, "absent"))
        FAKE_AT(runtime, at, void *) = NULL;
    else
        fake_check_failed("FAKE_ART_DECOYS is before, misaligned or absent", __FILE__, __LINE__);
}

struct strobe_jvm *fake_runtime_new(const void *const *vm_table)
{
    FAKE_CHECK(!the_vm);
    char *runtime = runtime_block(fake_layout->runtime_bytes), *vm = runtime_block(POINTED_TO_BYTES);
    *(const void *const **)(void *)vm = vm_table;
    FAKE_AT(vm, fake_layout->vm_runtime, void *) = runtime;
    runtime_fill(runtime);
    FAKE_AT(runtime, fake_layout->runtime_java_vm, void *) = vm;
    FAKE_AT(runtime, fake_layout->runtime_thread_list, void *) = &fake_list;
    put_class_linker(runtime);
    put_heap(runtime);
    put_decoys(runtime, vm);
    fake_runtime_instance = runtime;
    return the_vm = (struct strobe_jvm *)(void *)vm;
}
