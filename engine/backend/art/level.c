/* Sources: the Android Open Source Project, platform/art, release branches nougat (24, 25), oreo (26, 27), pie (28),
 * android10 ... android16 (29 ... 36), files runtime/art_method.h, runtime/runtime.h, runtime/gc/allocation_listener.h,
 * runtime/gc/heap.h, runtime/jni/jni_id_manager.h, runtime/entrypoints/quick/quick_trampoline_entrypoints.cc. Words
 * before java_vm_ also as published with Frida's Java bridge (lib/android.js), which counts them for the same use. 30
 * and 34 were measured on Debian's builds of those releases.
 *
 * method_dex_index, method_bytes: until 11 an ArtMethod begins { class, access flags, code item, dex method index },
 * since 12 the code item is gone. Words of pointers after that: 4 in 7, 3 in 8 (the dex cache's types are gone), 2
 * since 9 (its methods, too).
 *
 * words before java_vm_: { ... heap_, seven to nine of arenas and monitors, thread_list_, intern_table_, class_linker_,
 * signal_catcher_ ... java_vm_ }. Before java_vm_ stand: until 9 stack_trace_file_, a string (3 words of libc++'s), in
 * 8.1 and 9 also use_tombstoned_traces_; since 11 jni_id_manager_; since 13 small_irt_allocator_, too. */
#include "engine/backend/art/level.h"

/* Since 12 the runtime is updated apart from the system. Rows from 12 on therefore try the positions of later rows,
 * too. */
static const struct strobe_art_level levels[] = {
    /* api, release; index, bytes, bytes_32; pre, reserved, sequence, indices; thread list, class linker, heap */
    {24, "7.0", 12, 56, 36, false, false, false, false, {7}, {5}, {15}},
    {25, "7.1", 12, 56, 36, false, false, false, false, {7}, {5}, {15}},
    {26, "8.0", 12, 48, 32, false, false, false, false, {7}, {5}, {15}},
    {27, "8.1", 12, 48, 32, false, false, false, false, {8, 7}, {6, 5}, {16, 15}},
    {28, "9", 12, 40, 28, false, false, false, false, {8, 7}, {6, 5}, {16, 15}},
    {29, "10", 12, 40, 28, false, false, false, false, {4}, {2}, {12}},
    {30, "11", 12, 40, 28, true, true, false, true, {5, 6}, {3, 4}, {13, 14}},
    {31, "12", 8, 32, 24, true, true, true, true, {5, 6}, {3, 4}, {13, 14, 15}},
    {32, "12L", 8, 32, 24, true, true, true, true, {5, 6}, {3, 4}, {13, 14, 15}},
    {33, "13", 8, 32, 24, true, true, true, true, {6}, {4}, {14, 15}},
    {34, "14", 8, 32, 24, true, true, true, true, {6}, {4}, {15, 14}},
    {35, "15", 8, 32, 24, true, true, true, true, {6}, {4}, {15, 14}},
    {36, "16", 8, 32, 24, true, true, true, true, {6}, {4}, {15, 14}},
};

const struct strobe_art_level *strobe_art_level(int api)
{
    if (api < STROBE_ART_LEVEL_FIRST || api > STROBE_ART_LEVEL_LAST)
        return NULL;
    return &levels[api - STROBE_ART_LEVEL_FIRST];
}
