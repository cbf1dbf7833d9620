/* Whole stacks: managed and native frames of a thread in their true order.
 *
 * The runtime's StackVisitor yields the managed frames, each with its address on the stack (visitor.h). Frame records,
 * or call frame information, yield the native frames, each with a place on the stack: an address inside its frame, at
 * or above the end of its callee's frame. Stacks grow down, so the order of addresses is the order of calls:
 *
 *     low    place of f        f: native, called last
 *            address of M.b    M.b: the native method that f implements
 *            address of M.a
 *            place of g        g: native code that called M.a through JNI
 *     high   ...
 *
 * Of the native frames, those of the runtime's own libraries are left out: between managed frames they are its
 * interpreter, its bridges and its functions of JNI. The C library's frames outside the outermost other frame are left
 * out, too: they start the thread. Frames of other libraries stay, wherever they are.
 *
 * The runtime's trampoline of native methods has a rule on arm64 that needs a register which no walk knows: it holds
 * the address of the native method's frame. The place of that managed frame is the same address. The walk takes it when
 * it lies above the trampoline's stack pointer, as near as the trampoline puts it, and has the method in its first
 * word.
 *
 * Compiled managed code keeps no frame pointers and has no call frame information, or wrong one (the assembly
 * interpreter of Android 11), so a chain of native frames can end at it. The walk then continues outside of the managed
 * frames: it searches the stack above the outermost managed frame of the fragment for the frame record of the function
 * that entered managed code. The nearest candidate is taken: a frame record whose return address, in the runtime,
 * follows a call, and whose caller's record is one, too. Between the two lie only the managed frame itself and the
 * runtime's entry stub, so an old record can be nearer only in a spill slot of that frame that was never written. A
 * walk without registers takes a candidate only when all candidates are of one chain. The search ends at the next
 * managed frame, or after STROBE_ART_ENTRY_BYTES. When it finds none, the native frames outside are missing.
 * strobe_session_header.native_gaps counts such walks; a stack is also doubtful when it has no managed frame outside.
 *
 * 32-bit ARM has exception tables instead of call frame information, and the runtime keeps no frame records. There the
 * walk searches for the registers that the function saved that entered managed code, and goes on by the tables: they
 * must lead to a further caller. A walk without registers does not search. A hook's walk begins at the hook's own
 * registers.
 *
 * x86-64, arm64 and 32-bit ARM. On other processors stacks have managed frames only. */
#ifndef STROBE_BACKEND_ART_FRAMES_H
#define STROBE_BACKEND_ART_FRAMES_H

#include "engine/backend/art/code.h"
#include "engine/backend/art/visitor.h"
#include "engine/host/host.h"

#if defined(__x86_64__) || defined(__aarch64__) || defined(__arm__)
#define STROBE_ART_NATIVE_FRAMES 1
#else
#define STROBE_ART_NATIVE_FRAMES 0
#endif

enum { STROBE_ART_ENTRY_BYTES = 2048 };

struct strobe_unwind_index;

/* What walks of native frames need. The walks are off while `on` is false. */
struct strobe_art_frames {
    bool on;
    struct strobe_art_code *code;
    struct strobe_unwind_index *index; /* NULL: by frame pointers only */
    const struct strobe_host *host;    /* reads code */
    strobe_a64 *gaps;                  /* walks that lost the native frames outside of managed code: a counter */
};

/* Takes the calling thread's stack from a hook on. `frame` is the address of the hook's frame record, `stack` the
 * thread's stack from there up. `w`: the thread's own. Any. */
enum strobe_walk_end strobe_art_walk_whole(struct strobe_art_frames *f, struct strobe_art_walk *w,
                                           const struct strobe_libart *a, void *thread, uint64_t frame,
                                           const struct strobe_window *stack, uint64_t *frames_end, uint32_t max,
                                           uint32_t *count);

/* The two halves of the same for another thread. First the managed frames of a thread that the runtime has suspended.
 * Then the native frames of that thread, which stands at `regs`: `stack` is its stack from regs->sp up, readable in
 * place. When `regs` is NULL, the thread may be running native code. The walk then begins outside of the innermost
 * managed frames, where nothing changes; `stack` is the whole stack. The second function uses nothing of the runtime.
 * Sampler, window. */
enum strobe_walk_end strobe_art_walk_managed(struct strobe_art_walk *w, const struct strobe_libart *a, void *thread);
enum strobe_walk_end strobe_art_walk_native(struct strobe_art_frames *f, const struct strobe_host *host,
                                            struct strobe_art_walk *w, const struct strobe_regs *regs,
                                            const struct strobe_window *stack);

/* Merges what the two found. `managed` and `native` are their results. */
enum strobe_walk_end strobe_art_merge_frames(struct strobe_art_walk *w, enum strobe_walk_end managed,
                                             enum strobe_walk_end native, uint64_t *frames_end, uint32_t max,
                                             uint32_t *count);

/* Prepares walks of native frames, and follows images that are loaded and unloaded. `library`: an address in the
 * runtime's library. Takes the dynamic linker's lock briefly, and no heap. False: no memory, or not on this processor.
 * Start, and sampler between passes; never while a thread is suspended. */
bool strobe_art_frames_update(struct strobe_art_frames *f, const struct strobe_host *host, uint64_t library);

#endif
