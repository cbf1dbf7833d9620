/* The policy btrace-android: threads sample themselves at hooks, and nothing else does (bytedance/btrace 3.0, b0dc0a3,
 * rhea-inhouse). What of the simulated app it can hook:
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
 * hook there, and cost nothing here. The decision, for all types alike: now - last > 1 ms or forced, `last` set before
 * the walk; a stack of more than 128 frames is dropped whole. A begin is always noted; whether it counts is decided at
 * the end.
 *
 * Stacks are those of ART's StackVisitor: methods that are managed, and native methods that managed ones call (they
 * have an ArtMethod). What native code calls in turn it can't see, so time in there agrees with the truth nowhere;
 * threads without managed frames have no samples at all.
 *
 * The ring has 200,000 records and overwrites the oldest. Sizes are those on disk: 28 bytes and 76 + 8 n for each
 * record of n frames, and the mapping, 16 bytes and 10 + text for each method, 3 + text for each thread.
 *
 * What is charged, by sim_costs (section numbers of the study of its sources, "reference"):
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

/* sim_policy_btrace_android with a ring of so many records. */
struct sim_tracer *sim_btrace_android_open(uint32_t ring_records);

#endif
