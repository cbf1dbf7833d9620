/* Differences between the runtimes of Android's releases, from 7.0 (API level 24) to 16 (36), as a table. level.c gives
 * the source of each row.
 *
 * The engine relies on what the runtimes of all levels have in common. Where possible it searches memory instead of
 * using this table: bounded, cross-checked scans find fields of threads and of the runtime (discover.h). The table has
 * what such scans cannot find. Any context. */
#ifndef STROBE_BACKEND_ART_LEVEL_H
#define STROBE_BACKEND_ART_LEVEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { STROBE_ART_LEVEL_FIRST = 24, STROBE_ART_LEVEL_LAST = 36 };

struct strobe_art_level {
    int api;
    const char *release;            /* "11" */
    uint8_t method_dex_index;       /* ArtMethod: byte offset of dex_method_index_, all ones in ART's pseudo-methods */
    uint8_t method_bytes;           /* ArtMethod, 64-bit */
    uint8_t method_bytes_32;        /* the same where pointers have 32 bits; method_dex_index is the same */
    bool listener_has_pre;          /* AllocationListener: PreObjectAllocated, HasPreAlloc before ObjectAllocated */
    bool jni_trampoline_reserved;   /* artQuickGenericJniTrampoline has a third parameter, reserved_area */
    bool gc_has_sequence;           /* Heap::CollectGarbageInternal has a fourth parameter, requested_gc_num */
    bool method_ids_may_be_indices; /* a jmethodID may be an index (debuggable apps), not an ArtMethod * */
    /* Runtime: the number of words before java_vm_ at which it points to the thread list, the class linker, the heap.
     * There are several where vendors or point releases differ; 0 ends the list. discover.c tries them all and uses the
     * one with proof. */
    uint8_t thread_list_before[4], class_linker_before[4], heap_before[4];
};

/* Returns NULL when the table has no such level. */
const struct strobe_art_level *strobe_art_level(int api);

#endif
