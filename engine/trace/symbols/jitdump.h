/* Reads a jitdump file, jit-PID.dump, in which a process records the machine code that it generates:
 *
 *     header    magic "JiTD" u32 | version 1 u32 | header bytes u32 | machine u32 | pad u32 | pid u32 | time u64 |
 *               flags u64
 *     record    id u32 | record bytes u32 | time u64 | content
 *     id 0      load: pid u32, tid u32, address u64 (twice), code bytes u64, index u64, name with NUL, code
 *     id 1      move: pid u32, tid u32, address u64, old address u64, new address u64, code bytes u64, index u64
 *     others    line numbers, unwinding tables, end: not used
 *
 * Times are ns of CLOCK_MONOTONIC, or ticks of the processor's counter when bit 0 of the flags says so. Format: Linux,
 * tools/perf/Documentation/jitdump-specification.txt. Writers: node --perf-prof, Java with libperf-jvmti.so, .NET,
 * PyPy, LLVM.
 *
 * Reading half: allocates. Safe for any input. */
#ifndef STROBE_TRACE_SYMBOLS_JITDUMP_H
#define STROBE_TRACE_SYMBOLS_JITDUMP_H

#include "engine/trace/symbols/code_list.h"

struct strobe_jitdump {
    uint32_t pid, machine; /* machine: e_machine of ELF */
    int counts_ticks;      /* times are the processor's counter, not ns of CLOCK_MONOTONIC */
};

/* Appends the names of a jitdump file to `out`, which is zeroed or already has names. Their `begin` is the record's
 * time. Names point into `data`. Moved code keeps its name at its new address, from the time of the move on. A record
 * with an impossible size ends the list and is counted in out->bad; the file of a killed process ends like this.
 * Records with malformed content are counted there and left out. STROBE_BAD_INPUT: not a jitdump file of version 1 in
 * this machine's byte order. STROBE_IO: out of memory. */
enum strobe_status strobe_jitdump_read(const void *data, size_t bytes, struct strobe_jitdump *head,
                                       struct strobe_code_list *out);

#endif
