/* Finds objects that the runtime does not export: its thread list, class linker and heap, and the ids in each thread.
 *
 * The search begins at the JavaVM pointer, which every JNI library gets. NetEase Cloud Music's stack capture published
 * it:
 *
 *   JavaVM  -> JavaVMExt { functions, Runtime *, ... }
 *   Runtime -> ... thread_list_ ... class_linker_ ... heap_ ... java_vm_ (== the JavaVM) ...
 *
 * A bounded scan finds java_vm_: a word that equals the JavaVM. The other members are a number of words before it; the
 * number depends on the level. Their place alone is no proof. Each candidate must be an aligned pointer into readable
 * memory, no two may be equal, and the content must prove the object:
 *
 *   Runtime       is Runtime::instance_, if that symbol exists; else the other three objects prove it
 *   ThreadList    has a std::list (a ring of nodes { link, link, Thread * }) that contains the calling thread
 *   ClassLinker   has the InternTable that is between ThreadList and ClassLinker in the Runtime
 *   Heap          has a CardTable with a biased begin, which the calling Thread holds, too. Its last byte is the dirty
 *                 card's value. The offset of the bias, less than 256, follows it
 *
 * The proof must be in the object itself and not in another object after it. The check: nothing else to which the
 * Runtime points before its java_vm_ begins between an object and its proof.
 *
 * When no java_vm_ candidate, or more than one, has proof, the search fails with the reason. All reads are safe copies
 * (strobe_host.read), so a wild pointer cannot crash the app.
 *
 * Ids of a thread: thin-lock id and kernel tid are two neighbouring 32-bit words in the first 64 bytes of a Thread. The
 * search finds them by the calling thread's tid, and confirms them on another thread of the list if there is one. Start
 * only.
 *
 * Source of the layouts: runtime.h, thread_list.h, class_linker.h, heap.h, card_table.cc of the Android Open Source
 * Project's art. They are the same in this respect from 7.0 to 16. */
#ifndef STROBE_BACKEND_ART_DISCOVER_H
#define STROBE_BACKEND_ART_DISCOVER_H

#include "engine/backend/art/libart.h"
#include "engine/base/error.h"
#include "engine/host/host.h"

enum { STROBE_ART_SCAN_BYTES = 4096 }; /* bytes of a Runtime to scan, at most */

/* How the Runtime was proven. */
enum strobe_art_proof {
    STROBE_ART_PROOF_NONE,
    STROBE_ART_PROOF_INSTANCE, /* equals Runtime::instance_ */
    STROBE_ART_PROOF_CROSS,    /* by the content of its thread list, class linker and heap */
};

struct strobe_art_runtime {
    void *vm; /* JavaVM, a JavaVMExt */
    void *runtime, *thread_list, *class_linker, *heap;
    void *callbacks; /* RuntimeCallbacks; NULL = this level has none */
    enum strobe_art_proof proof;
    uint16_t java_vm_offset;    /* in Runtime, bytes */
    uint16_t thread_ids_offset; /* in Thread: thin-lock id, then tid */
};

/* Finds all members of strobe_art_runtime. `self` is the calling thread, which is attached; `tid` is its kernel id.
 * STROBE_NO_ENTRY: an object was not found or not proven; `error` names it. STROBE_BAD_INPUT: the objects contradict
 * each other. */
enum strobe_status strobe_art_discover(const struct strobe_libart *a, const struct strobe_host *host, void *vm,
                                       void *self, uint32_t tid, struct strobe_art_runtime *out,
                                       struct strobe_error *error);

/* Reads a thread's ids. Returns false when the words there are no pair of ids. Any; reads another thread by safe copy.
 */
bool strobe_art_thread_ids(const struct strobe_art_runtime *r, const struct strobe_host *host, void *thread,
                           uint32_t *thin_lock_id, uint32_t *tid);

#endif
