/* Where the runtime keeps what it does not export: its thread list, class linker and heap, and in each thread its ids.
 *
 * From the JavaVM pointer, which every JNI library is handed, as published for NetEase Cloud Music's stack capture:
 *
 *   JavaVM  -> JavaVMExt { functions, Runtime *, ... }
 *   Runtime -> ... thread_list_ ... class_linker_ ... heap_ ... java_vm_ (== the JavaVM) ...
 *
 * The place of java_vm_ is found by a bounded scan for a word that equals the JavaVM; the others stand a number of
 * words before it that depends on the level. No candidate is believed for its place alone. Each must be an aligned
 * pointer into readable memory, no two the same, and prove itself by what it holds:
 *
 *   Runtime       is Runtime::instance_, where that symbol is there; else it is believed when the other three are
 *   ThreadList    has a std::list (a ring of nodes { link, link, Thread * }) that the calling thread is in
 *   ClassLinker   has the InternTable that stands between ThreadList and ClassLinker in the Runtime
 *   Heap          has a CardTable, where a biased begin, that ends in the dirty card's value and is also in the calling
 *                 Thread, is followed by how far it was moved for that, less than 256
 *
 * What proves an object must not stand in another one that follows it in memory: nothing else that the Runtime points
 * to before its java_vm_ begins between an object and its proof.
 *
 * Several java_vm_ candidates with proof, or none: refused with the reason, never guessed. All reads are safe copies
 * (strobe_host.read): a wild pointer costs an answer, not the app.
 *
 * Of a thread: thin-lock id and kernel tid are two neighbouring 32-bit words in its first 64 bytes, found by the tid
 * that is known, and confirmed on another thread of the list when there is one. Start only.
 *
 * Source of what holds what: runtime.h, thread_list.h, class_linker.h, heap.h, card_table.cc of the Android Open Source
 * Project's art, the same in that from 7.0 to 16. */
#ifndef STROBE_BACKEND_ART_DISCOVER_H
#define STROBE_BACKEND_ART_DISCOVER_H

#include "engine/backend/art/libart.h"
#include "engine/base/error.h"
#include "engine/host/host.h"

enum { STROBE_ART_SCAN_BYTES = 4096 }; /* of a Runtime, at most */

/* How the Runtime was proven. */
enum strobe_art_proof {
    STROBE_ART_PROOF_NONE,
    STROBE_ART_PROOF_INSTANCE, /* equals Runtime::instance_ */
    STROBE_ART_PROOF_CROSS,    /* by what its thread list, class linker and heap hold */
};

struct strobe_art_runtime {
    void *vm; /* JavaVM, a JavaVMExt */
    void *runtime, *thread_list, *class_linker, *heap;
    void *callbacks; /* RuntimeCallbacks; NULL = not at this level */
    enum strobe_art_proof proof;
    uint16_t java_vm_offset;    /* in Runtime, bytes */
    uint16_t thread_ids_offset; /* in Thread: thin-lock id, then tid */
};

/* Finds all of it. `self`: the calling thread, attached; `tid`: its kernel id. STROBE_NO_ENTRY with one line in
 * `error`: what could not be found or proven. STROBE_BAD_INPUT: what there is contradicts itself. */
enum strobe_status strobe_art_discover(const struct strobe_libart *a, const struct strobe_host *host, void *vm,
                                       void *self, uint32_t tid, struct strobe_art_runtime *out,
                                       struct strobe_error *error);

/* A thread's ids; false when what stands there is no pair of ids. Any; of another thread by safe copy. */
bool strobe_art_thread_ids(const struct strobe_art_runtime *r, const struct strobe_host *host, void *thread,
                           uint32_t *thin_lock_id, uint32_t *tid);

#endif
