/* The database of btrace 3.0 on iOS (bytedance/btrace, BTrace/Classes/BTrace/Models): SQLite, tables named after its
 * model classes. Numbers in blobs are little-endian.
 *
 *   BTraceModel             trace_id, start_time, end_time, os_version, bundle_id, tag, version, main_tid
 *   ThreadInfoModel         trace_id, tid, name
 *   ImageInfoModel          trace_id, address, len, name (path), uuid (32 hex digits)
 *   CallStackTableModel     trace_id, nodes: u32 id, u32 id of the caller's node (0: none), u64 address
 *   CPUSampleModel          trace_id, tid, start_time, start_cpu_time, stack_id
 *   CPUIntervalSampleModel  the same, end_time, end_cpu_time: successive samples of one stack
 *   MemSampleModel          trace_id, tid, addr, size (0: it was freed), time, cpu_time, stack_id
 *   DateSampleModel         trace_id, tid, time, cpu_time, stack_id
 *   DispatchSampleModel     trace_id, source_tid, source_time, source_cpu_time, target_tid, target_time, stack_id
 *   LockSampleModel         trace_id, sample: u64 (id of the lock in 48 bits, action in 16), u32 time, cpu_time,
 *                           stack_id, tid
 *   *BatchSampleModel       trace_id, tid, nodes: one row a thread, when samples were kept in memory
 *
 *   nodes   CPU        u32 start_time, start_cpu_time, stack_id
 *           interval   u32 start_time, start_cpu_time, stack_id, end_time, end_cpu_time
 *           memory     u32 addr, size, time, cpu_time, stack_id
 *           date       u32 time, cpu_time, stack_id
 *           dispatch   u32 source_time, source_cpu_time, target_tid, target_time, stack_id
 *           lock       u64 id and action, u32 time, cpu_time, stack_id
 *
 * From version 2 on, each sample ends with u32 alloc_size and alloc_count. Times are relative to the trace's begin: in
 * us up to version 2, in 10 us from version 3 on. Any context. */
#ifndef STROBE_TRACE_IMPORT_BTRACEIOS_BTRACE_IOS_H
#define STROBE_TRACE_IMPORT_BTRACEIOS_BTRACE_IOS_H

enum {
    STROBE_BTRACE_IOS_VERSION_MAX = 3,
    STROBE_BTRACE_IOS_NODE_BYTES = 16, /* of the stack table */
    STROBE_BTRACE_IOS_LOCK_BITS = 48,
};

/* Actions of lock samples that matter to waits. The main thread's contention is written twice: with the time of its
 * end, then with that of its begin. */
enum strobe_btrace_ios_action {
    STROBE_BTRACE_IOS_MUTEX_LOCK = 1,
    STROBE_BTRACE_IOS_MUTEX_UNLOCK = 3,
    STROBE_BTRACE_IOS_COND_WAIT = 4,
    STROBE_BTRACE_IOS_COND_SIGNAL = 6,
    STROBE_BTRACE_IOS_COND_BROADCAST = 7,
    STROBE_BTRACE_IOS_RW_UNLOCK = 12,
    STROBE_BTRACE_IOS_UNFAIR_UNLOCK = 14,
    STROBE_BTRACE_IOS_MUTEX_CONTENTION = 15,
    STROBE_BTRACE_IOS_MUTEX_RELEASE = 16,
    STROBE_BTRACE_IOS_READ_CONTENTION = 17,
    STROBE_BTRACE_IOS_WRITE_CONTENTION = 18,
    STROBE_BTRACE_IOS_RW_RELEASE = 19,
    STROBE_BTRACE_IOS_UNFAIR_CONTENTION = 21,
    STROBE_BTRACE_IOS_UNFAIR_RELEASE = 22,
};

#endif
