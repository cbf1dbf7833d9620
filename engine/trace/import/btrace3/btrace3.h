/* Files of btrace 3.0 on Android (bytedance/btrace, rhea-inhouse and rhea-trace-processor): what a capture leaves.
 * Little-endian.
 *
 *   sampling   u32 magic, u32 0, u32 version, u64 BOOTTIME ms, u32 records, i32 bytes of the text that follows, which
 *              is JSON: {"processId": pid}, also "startTime": ms. Then records up to the end of the file:
 *                u16 type, tid, u32 message, u64 begin ns, u64 end ns, u64 begin CPU ns, u64 end CPU ns
 *                u64 argument           type TRACE_ARG only
 *                u64 objects, u64 bytes allocated by the thread so far            version >= 4
 *                u32 major faults, u32 voluntary, u32 involuntary switches so far version >= 5
 *                u32 frames stored, u32 frames walked, u64 method each, innermost first
 *              tid is u32 from version 6 on, else u16.
 *   mapping    u64 0, u32 version, u32 methods; for each: u64 method, u16 bytes, text. Then threads up to the end:
 *              tid (u32 from version 2 on, else u16), u8 bytes, text with a line end
 *
 * A point has end 0. A record of a release (NOTIFY, UNLOCK, UNPARK) has the begin of the main thread's wait as its
 * begin, and its own time as its end, from version 5 on.
 *
 * Source: SamplingTraceDecoder, StackList and SamplingMappingDecoder of rhea-trace-processor, as studied. Any
 * context. */
#ifndef STROBE_TRACE_IMPORT_BTRACE3_BTRACE3_H
#define STROBE_TRACE_IMPORT_BTRACE3_BTRACE3_H

enum {
    STROBE_BTRACE3_MAGIC = 0x01020304,
    STROBE_BTRACE3_VERSION_MAX = 6,
    STROBE_BTRACE3_MAPPING_VERSION_MAX = 2,
    STROBE_BTRACE3_HEADER_BYTES = 28,
    STROBE_BTRACE3_MAPPING_BYTES = 16,
    STROBE_BTRACE3_DEPTH_MAX = 32767, /* of frames; upstream refuses more */
};

/* Types of records. */
enum strobe_btrace3_type {
    STROBE_BTRACE3_BINDER = 2,
    STROBE_BTRACE3_WAIT = 6,
    STROBE_BTRACE3_PARK = 7,
    STROBE_BTRACE3_MONITOR = 8,
    STROBE_BTRACE3_ALLOCATION = 9,
    STROBE_BTRACE3_JNI = 10,
    STROBE_BTRACE3_GC = 11,
    STROBE_BTRACE3_MUTEX = 12,
    STROBE_BTRACE3_TRACE_ARG = 15,
    STROBE_BTRACE3_FLUSH = 16, /* the last stack of the main thread, taken from outside; no CPU time */
    STROBE_BTRACE3_UNPARK = 17,
    STROBE_BTRACE3_LOAD = 20,
    STROBE_BTRACE3_POLL = 21,
    STROBE_BTRACE3_NOTIFY = 22,
    STROBE_BTRACE3_UNLOCK = 23,
    STROBE_BTRACE3_TYPE_MAX = 23,
};

#endif
