/* Offsets of the runtime's fields, by release, for 64-bit processors.
 *
 * They follow from the order of fields in the headers of the Android Open Source Project's platform/art, and of forks
 * that keep the state of a release: stack.h, managed_stack.h, interpreter/shadow_frame.h, thread.h, art_method.h,
 * runtime.h, jni/java_vm_ext.h in runtime/. The offsets of 30 and 34 were measured on Debian's builds of those
 * releases. The same way of counting gives the measured numbers of both. The list below says where no header of a
 * release was found.
 *
 *   StackVisitor   24, 25: thread, kind, shadow, quick, pc, header, frames, depth, inlining depth, context. From 26 on:
 *                  "check suspended" after the context. From 29 on a table of inline infos and caches replaces the
 *                  inlining depth. Its size was measured for 30 (context at 504) and 34 (480). 29 was not found and has
 *                  30's. 31 to 33 have 34's, as have 35 and 36, whose stack.h has 34's fields.
 *   Thread         32-bit fields, then 64 bytes of 64-bit fields (trace clock, statistics), then pointers: card table,
 *                  exception, stack end, managed stack (3 words), suspend trigger, environment, temporary
 *                  environment, self, peer. 32-bit fields: 16 at 24, 25; 18 at 26 to 28; 21 at 29; 23 at 30;
 *                  21 at 33, 34; 20 at 35, 36 (no "transitioning to runnable"). 31, 32 were not found and are counted
 *                  as 33, less the three newer counters, plus the flag of the assembly interpreter: 19. Up to 30 the
 *                  debugger's share of the suspend count precedes the ids.
 *   ShadowFrame    the same order in all; registers at 60 up to 27, from 28 on after a flag at 60.
 *   ArtMethod      24, 25: two caches, native entry, code; 26, 27: one cache; 28 to 30: none; from 31 on: no code
 *                  offset.
 *   Runtime        thread list, intern table, class linker, signal catcher; then up to 26 the trace file's name (a
 *                  std::string, 3 words), at 27 and 28 a flag before it, at 29 nothing, from 30 on the JNI id manager,
 *                  from 33 on an allocator of references before that; then the JavaVM. The heap is 8 words before the
 *                  thread list, from 34 on 9. The offset of the JavaVM itself was measured for 30 and 34 only, and
 *                  depends on the C++ library. The offsets of the others lie in between, as tracers search for it. */
#include "sim/fake/art/fake.h"

enum { NONE = 0xffff, LEVEL_FIRST = 24, LEVEL_LAST = 36 };

#define VISITOR(inlining, context, check, bytes)                                                                       \
    .visitor_bytes = bytes, .visitor_thread = 8, .visitor_kind = 0x10, .visitor_shadow = 0x18, .visitor_quick = 0x20,  \
    .visitor_quick_pc = 0x28, .visitor_header = 0x30, .visitor_frames = 0x38, .visitor_depth = 0x40,                   \
    .visitor_inline_depth = inlining, .visitor_context = context, .visitor_check = check
#define VISITOR_24 VISITOR(0x48, 0x50, NONE, 0x58)
#define VISITOR_26 VISITOR(0x48, 0x50, 0x58, 0x59)
#define VISITOR_29 VISITOR(NONE, 504, 512, 513)
#define VISITOR_31 VISITOR(NONE, 480, 488, 489)

/* By the number of 32-bit fields, and by whether the debugger's suspend count is one of them. */
#define POINTERS(words) ((((words)*4 + 7) & ~7) + 64)
#define THREAD(words, debugger, bytes)                                                                                 \
    .thread_bytes = bytes, .thread_state_flags = 0, .thread_suspend_count = 4,                                         \
    .thread_thin_lock_id = 8 + 4 * debugger, .thread_tid = 12 + 4 * debugger, .thread_card_table = POINTERS(words),    \
    .thread_exception = POINTERS(words) + 8, .thread_stack_end = POINTERS(words) + 16,                                 \
    .thread_managed_stack = POINTERS(words) + 24, .thread_jni_env = POINTERS(words) + 56,                              \
    .thread_self = POINTERS(words) + 72, .thread_peer = POINTERS(words) + 80

#define SHADOW(first)                                                                                                  \
    .managed_quick = 0, .managed_link = 8, .managed_shadow = 16, .shadow_link = 0, .shadow_method = 8,                 \
    .shadow_dex_pc_ptr = 24, .shadow_count = 48, .shadow_dex_pc = 52, .shadow_registers = first

#define METHOD(index, native)                                                                                          \
    .method_bytes = native + 16, .method_class = 0, .method_flags = 4, .method_dex_index = index,                      \
    .method_data = native, .method_quick_code = native + 8

#define RUNTIME(vm, threads, heap)                                                                                     \
    .runtime_bytes = vm + 0x180, .runtime_java_vm = vm, .runtime_thread_list = vm - 8 * threads,                       \
    .runtime_class_linker = vm - 8 * (threads - 2), .runtime_heap = vm - 8 * heap, .vm_runtime = 8

static const struct fake_layout levels[] = {
    [24 - LEVEL_FIRST] = {VISITOR_24, THREAD(16, 1, 2560), SHADOW(60), METHOD(12, 40), RUNTIME(0x1d8, 7, 15)},
    [25 - LEVEL_FIRST] = {VISITOR_24, THREAD(16, 1, 2560), SHADOW(60), METHOD(12, 40), RUNTIME(0x1d8, 7, 15)},
    [26 - LEVEL_FIRST] = {VISITOR_26, THREAD(18, 1, 2560), SHADOW(60), METHOD(12, 32), RUNTIME(0x200, 7, 15)},
    [27 - LEVEL_FIRST] = {VISITOR_26, THREAD(18, 1, 2560), SHADOW(60), METHOD(12, 32), RUNTIME(0x208, 8, 16)},
    [28 - LEVEL_FIRST] = {VISITOR_26, THREAD(18, 1, 2560), SHADOW(64), METHOD(12, 24), RUNTIME(0x210, 8, 16)},
    [29 - LEVEL_FIRST] = {VISITOR_29, THREAD(21, 1, 6656), SHADOW(64), METHOD(12, 24), RUNTIME(0x1f0, 4, 12)},
    [30 - LEVEL_FIRST] = {VISITOR_29, THREAD(23, 1, 6656), SHADOW(64), METHOD(12, 24), RUNTIME(0x208, 5, 13)},
    [31 - LEVEL_FIRST] = {VISITOR_31, THREAD(19, 0, 6656), SHADOW(64), METHOD(8, 16), RUNTIME(0x248, 5, 13)},
    [32 - LEVEL_FIRST] = {VISITOR_31, THREAD(19, 0, 6656), SHADOW(64), METHOD(8, 16), RUNTIME(0x248, 5, 13)},
    [33 - LEVEL_FIRST] = {VISITOR_31, THREAD(21, 0, 6656), SHADOW(64), METHOD(8, 16), RUNTIME(0x268, 6, 14)},
    [34 - LEVEL_FIRST] = {VISITOR_31, THREAD(21, 0, 6656), SHADOW(64), METHOD(8, 16), RUNTIME(0x290, 6, 15)},
    [35 - LEVEL_FIRST] = {VISITOR_31, THREAD(20, 0, 6656), SHADOW(64), METHOD(8, 16), RUNTIME(0x298, 6, 15)},
    [36 - LEVEL_FIRST] = {VISITOR_31, THREAD(20, 0, 6656), SHADOW(64), METHOD(8, 16), RUNTIME(0x298, 6, 15)},
};

const struct fake_layout *fake_layout;

__attribute__((constructor(101))) static void choose(void)
{
    FAKE_CHECK(fake_level >= LEVEL_FIRST && fake_level <= LEVEL_LAST);
    fake_layout = &levels[fake_level - LEVEL_FIRST];
}
