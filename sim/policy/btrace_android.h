/* The policy btrace-android: threads sample themselves, at hooks only (bytedance/btrace 3.0, b0dc0a3, rhea-inhouse).
 * Its hooks in the simulated app:
 *
 *   here              there                              sampled
 *   ALLOC             allocation listener of the heap    a point, when the innermost method is managed
 *   JNI               artQuickGenericJniTrampoline       a point, with the native method on the stack
 *   IPC               IPCThreadState::transact           begin and end
 *   GC                WaitForGcToCompleteLocked          begin and end, always
 *   MONITOR           Monitor::MonitorEnter              begin and end, contended or not
 *   COND of monitors  Object.wait                        begin and end
 *   PARK              Unsafe.park                        begin and end, main only
 *   LOAD              JVM_NativeLoad                     begin and end
 *   release of a monitor, notify, unpark                 a point, always, when main waits for just that
 *   message           MessageQueue.nativePollOnce        nothing; counts
 *
 * Native mutexes, rwlocks and conditions, semaphores, files, sockets, sleeps, clocks and native allocations have no
 * hook there, and no cost here. All types share one condition for a sample: now - last > 1 ms, or forced; `last` is set
 * before the walk. A stack of more than 128 frames is dropped completely. The begin of a duration is always stored; the
 * condition is checked at the end.
 *
 * Stacks are those of ART's StackVisitor: managed methods, and native methods that managed ones call (they have an
 * ArtMethod). It does not see calls of native code, so time in them never agrees with the truth. Threads without
 * managed frames have no samples.
 *
 * The ring has 200,000 records and overwrites the oldest. Sizes are those on disk: 28 bytes and 76 + 8 n for each
 * record of n frames; and the mapping, 16 bytes and 10 + text for each method, 3 + text for each thread.
 *
 * Charges, by sim_costs (with section numbers of the study of its sources, "reference"):
 *
 *   every hook                    hook                                    1A.2
 *   the decision                  clock                                   1A.3
 *   begin of a duration           clock + thread_clock                    1A.2: both are read, sampled or not
 *   a sample                      sample + thread_clock + usage           2A.1: CPU and getrusage with each
 *   ... of a release              sample + usage                          2A.1: CPU time 0
 *   its frames                    frame each, those beyond 128 too        3.2: each walk starts anew and counts on
 *   message, park of non-main     hook                                    1A.2 */
#ifndef STROBE_SIM_POLICY_BTRACE_ANDROID_H
#define STROBE_SIM_POLICY_BTRACE_ANDROID_H

#include "sim/policy/policy.h"

enum { SIM_BTRACE_ANDROID_RING = 200000 };

/* sim_policy_btrace_android with a ring of `ring_records` records. */
struct sim_tracer *sim_btrace_android_open(uint32_t ring_records);

#endif
