/* What differs between the runtimes of Android's releases: a table, from 7.0 (API level 24) to 16 (36), with the source
 * of each row in level.c.
 *
 * The engine keeps to what runtimes of all levels do, and asks memory rather than this table where it can: fields of
 * threads and of the runtime are found by bounded scans that are cross-checked (discover.h). What is here can't be
 * found so. Any context. */
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
    uint8_t method_bytes_32;        /* the same where pointers have 32 bits; method_dex_index does not differ */
    bool listener_has_pre;          /* AllocationListener: PreObjectAllocated, HasPreAlloc before ObjectAllocated */
    bool jni_trampoline_reserved;   /* artQuickGenericJniTrampoline has a third parameter, reserved_area */
    bool gc_has_sequence;           /* Heap::CollectGarbageInternal has a fourth parameter, requested_gc_num */
    bool method_ids_may_be_indices; /* a jmethodID may be an index (debuggable apps), not an ArtMethod * */
    /* Runtime: words before its java_vm_ at which it points to the thread list, the class linker, the heap. Several
     * where vendors or point releases differ, 0 at the end; discover.c tries them all and believes what proves
     * itself. */
    uint8_t thread_list_before[4], class_linker_before[4], heap_before[4];
};

/* NULL: not a level of the table. */
const struct strobe_art_level *strobe_art_level(int api);

#endif
