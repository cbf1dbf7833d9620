/* ftrace text becomes events of a Perfetto trace: each kind of event and each form in which kernels, atrace and
 * trace-cmd print it, header variants, missing fields, truncated lines, irregular spacing. The packets are read back by
 * the wire format alone. Numbers of fields are those of Perfetto's protos; tests/genuine reads the same texts with its
 * own program. */
#include "engine/trace/import/ftrace/ftrace_convert.h"
#include "engine/trace/import/ftrace/ftrace_forms.h"
#include "engine/trace/import/perfetto/proto_read.h"
#include "tests/unit/support/temp_dir.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static char shown[1 << 16]; /* what the packets contain, as text */
static size_t used;
static struct strobe_ftrace_reader reader;
static struct strobe_ftrace_convert convert;
static char unread[256]; /* `kind count` of events kept as text */

__attribute__((format(printf, 1, 2))) static void show(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    used += (size_t)vsnprintf(shown + used, sizeof shown - used, format, args);
    va_end(args);
    assert_true(used < sizeof shown);
}

static int text_bytes(struct strobe_proto p)
{
    return (int)(p.end - p.at);
}

/* Shows the fields of a message: ` number=value`; messages in it if `depth` is not 0. */
static void show_message(struct strobe_proto m, int depth)
{
    struct strobe_proto_field f;
    enum strobe_proto_step step;
    while ((step = strobe_proto_next(&m, &f)) == STROBE_PROTO_FIELD) {
        if (f.wire == STROBE_WIRE_VARINT) {
            show(" %u=%" PRId64, f.number, (int64_t)f.value);
        } else if (depth) {
            show(" %u{", f.number);
            show_message(f.bytes, depth - 1);
            show(" }");
        } else {
            show(" %u='%.*s'", f.number, text_bytes(f.bytes), (const char *)f.bytes.at);
        }
    }
    assert_int_equal(step, STROBE_PROTO_END);
}

/* Shows an event: processor, time in us, thread, and its message. A generic event has messages in it. */
static void show_event(uint64_t cpu, struct strobe_proto event)
{
    struct strobe_proto_field f;
    enum strobe_proto_step step;
    while ((step = strobe_proto_next(&event, &f)) == STROBE_PROTO_FIELD) {
        if (f.number == 1)
            show("[%" PRIu64 "] %" PRIu64, cpu, f.value / 1000);
        else if (f.number == 2)
            show(" %" PRIu64, f.value);
        else {
            show(" %u:", f.number);
            show_message(f.bytes, 0);
        }
    }
    assert_int_equal(step, STROBE_PROTO_END);
    show("\n");
}

static void show_bundle(struct strobe_proto bundle)
{
    struct strobe_proto_field f;
    uint64_t cpu = UINT64_MAX;
    while (strobe_proto_next(&bundle, &f) == STROBE_PROTO_FIELD) {
        if (f.number == 1)
            cpu = f.value;
        else if (f.number == 2)
            show_event(cpu, f.bytes);
    }
}

/* Shows a packet's events, threads and processes, and names of functions. */
static void show_packet(struct strobe_proto packet)
{
    struct strobe_proto_field f;
    while (strobe_proto_next(&packet, &f) == STROBE_PROTO_FIELD) {
        if (f.number == 1) {
            show_bundle(f.bytes);
        } else if (f.number == 2 || f.number == 12) {
            show("%s", f.number == 2 ? "tree" : "name");
            struct strobe_proto m = f.bytes;
            while (strobe_proto_next(&m, &f) == STROBE_PROTO_FIELD) {
                show(" %u:", f.number);
                show_message(f.bytes, 0);
            }
            show("\n");
        }
    }
}

static void take_event(void *ctx, const struct strobe_ftrace_line *line)
{
    strobe_ftrace_convert_event(ctx, line);
}

static void take_process(void *ctx, const struct strobe_ftrace_process *process)
{
    strobe_ftrace_convert_process(ctx, process);
}

static void read_back(void)
{
    size_t bytes;
    char *file = temp_dir_read("out", &bytes);
    struct strobe_proto trace = {(uint8_t *)file, (uint8_t *)file + bytes};
    struct strobe_proto_field f;
    while (strobe_proto_next(&trace, &f) == STROBE_PROTO_FIELD)
        show_packet(f.bytes);
    assert_ptr_equal(trace.at, trace.end);
    free(file);
}

static void list_unread(void)
{
    size_t n = 0;
    unread[0] = 0;
    for (size_t i = 0; i < convert.names.count; i++)
        if (convert.kinds[i].unread)
            n += (size_t)snprintf(unread + n, sizeof unread - n, "%s%s %" PRIu64, n ? ", " : "", convert.names.texts[i],
                                  convert.kinds[i].unread);
}

/* Converts the text, in pieces of `piece` bytes. */
static void convert_text(const char *text, size_t piece, struct strobe_sched_states *states, int states_of_4_14)
{
    struct strobe_outfile out;
    struct strobe_packets packets;
    struct strobe_ftrace_packets ftrace;
    const struct strobe_ftrace_visitor visitor = {&convert, take_event, take_process};
    used = 0;
    shown[0] = 0;
    assert_int_equal(strobe_outfile_open(&out, temp_dir_path("out"), 1), STROBE_OK);
    assert_true(strobe_packets_open(&packets, &out, 0));
    strobe_ftrace_packets_open(&ftrace, &packets, 7);
    strobe_ftrace_convert_open(&convert, &ftrace, states);
    convert.states_of_4_14 = states_of_4_14;
    strobe_ftrace_text_open(&reader, &visitor);
    for (size_t left = strlen(text), n; left; text += n, left -= n) {
        n = left < piece ? left : piece;
        strobe_ftrace_text_feed(&reader, text, n);
    }
    strobe_ftrace_text_close(&reader);
    strobe_ftrace_convert_finish(&convert);
    strobe_ftrace_packets_close(&ftrace);
    strobe_packets_close(&packets);
    assert_int_equal(strobe_outfile_finish(&out, 0), STROBE_OK);
    assert_false(convert.failed || ftrace.failed || reader.failed);
    list_unread();
    read_back();
    strobe_ftrace_convert_close(&convert);
}

/* ---- kinds of events */

#define AT(event) "app-7 [003] d..2 1.000001: " event "\n"

static const struct {
    const char *text;
    const char *event; /* behind "[3] 1000001 7 "; NULL: kept as text */
} kinds[] = {
    {"sched_switch: prev_comm=app prev_pid=7 prev_prio=120 prev_state=S ==> next_comm=b c next_pid=8 next_prio=-2",
     "4: 1='app' 2=7 3=120 4=1 5='b c' 6=8 7=-2"},
    {"sched_switch: prev_comm=a=b prev_pid=7 prev_prio=1 prev_state=R+ ==> next_comm= next_pid=0 next_prio=0",
     "4: 1='a=b' 2=7 3=1 4=2048 5='' 6=0 7=0"},
    {"sched_switch: app:7 [120] D|K ==> kworker/0:1:12 [100]", "4: 1='app' 2=7 3=120 4=130 5='kworker/0:1' 6=12 7=100"},
    {"sched_switch: prev_comm=app prev_pid=7 prev_prio=120 prev_state=D  ==>  next_comm=b  next_pid=8  next_prio=9",
     "4: 1='app' 2=7 3=120 4=2 5='b' 6=8 7=9"},
    {"sched_switch: prev_comm=app prev_pid=7 prev_prio=120 prev_state=? ==> next_comm=b next_pid=8 next_prio=9",
     "4: 1='app' 2=7 3=120 4=65535 5='b' 6=8 7=9"},
    {"sched_switch: prev_comm=app prev_pid=7 prev_state=S ==> next_comm=b next_pid=8", NULL},
    {"sched_switch: prev_comm=app prev_pid=x prev_prio=1 prev_state=S ==> next_comm=b next_pid=8 next_prio=9", NULL},
    {"sched_waking: comm=b pid=8 prio=120 target_cpu=002", "20: 1='b' 2=8 3=120 5=2"},
    {"sched_waking: comm=b pid=8 prio=120 success=1 target_cpu=002", "20: 1='b' 2=8 3=120 4=1 5=2"},
    {"sched_waking: comm=b pid=8 prio=120 target_cpu=002 wake_flags=4", "20: 1='b' 2=8 3=120 5=2"},
    {"sched_wakeup: b d:8 [120] success=1 CPU:002", "17: 1='b d' 2=8 3=120 4=1 5=2"},
    {"sched_wakeup_new: b:8 [120] CPU:002", "114: 1='b' 2=8 3=120 5=2"},
    {"sched_blocked_reason: pid=8 iowait=1 caller=f+0x1/0x2", "18: 1=8 3=1 2=1"},
    {"sched_process_exit: comm=b pid=8 prio=120 group_dead=true", "238: 1='b' 2=8 4=120"},
    {"sched_process_free: comm=b pid=8 prio=120", "240: 1='b' 2=8 3=120"},
    {"sched_process_wait: comm=b pid=8 prio=120", "242: 1='b' 2=8 3=120"},
    {"sched_process_fork: comm=a pid=7 child_comm=b child_pid=8", "239: 1='a' 2=7 3='b' 4=8"},
    {"sched_process_exec: filename=/bin/a b pid=8 old_pid=8", "237: 1='/bin/a b' 2=8 3=8"},
    {"task_newtask: pid=8 comm=b clone_flags=3d0f00 oom_score_adj=-1000", "235: 1=8 2='b' 3=4001536 4=-1000"},
    {"task_rename: pid=8 oldcomm=a newcomm=b oom_score_adj=0", "236: 1=8 2='a' 3='b' 4=0"},
    {"cpu_frequency: state=1800000 cpu_id=5", "11: 1=1800000 2=5"},
    {"cpu_frequency_limits: min=300000 max=1800000 cpu_id=4", "12: 1=300000 2=1800000 3=4"},
    {"cpu_idle: state=4294967295 cpu_id=1", "13: 1=4294967295 2=1"},
    {"cpu_idle: cpu_id=1", NULL},
    {"cpu_idle: state=1 cpu_id=1x", NULL},
    {"gpu_frequency: gpu_id=0 state=500", "332: 1=0 2=500"},
    {"clock_set_rate: bus clk state=600 cpu_id=0", "16: 1='bus clk' 2=600 3=0"},
    {"clock_enable: bus state=1 cpu_id=0", "14: 1='bus' 2=1 3=0"},
    {"clock_disable: bus state=0 cpu_id=0", "15: 1='bus' 2=0 3=0"},
    {"suspend_resume: machine_suspend[3] begin", "113: 1='machine_suspend' 2=3 3=1"},
    {"suspend_resume: machine_suspend[3] end", "113: 1='machine_suspend' 2=3 3=0"},
    {"irq_handler_entry: irq=29 name=arch_timer two", "36: 1=29 2='arch_timer two'"},
    {"irq_handler_exit: irq=29 ret=handled", "37: 1=29 2=1"},
    {"irq_handler_exit: irq=29 ret=unhandled", "37: 1=29 2=0"},
    {"softirq_entry: vec=1 [action=TIMER]", "24: 1=1"},
    {"softirq_exit: vec=1 [action=TIMER]", "25: 1=1"},
    {"softirq_raise: vec=9 [action=RCU]", "26: 1=9"},
    {"ipi_entry: (Rescheduling interrupts)", "21: 1='Rescheduling interrupts'"},
    {"ipi_exit: (Rescheduling interrupts)", "22: 1='Rescheduling interrupts'"},
    {"workqueue_execute_start: work struct 0xffffffc0deadbeef: function vmstat_update", "58: 1=-271141978385 2=1"},
    {"workqueue_execute_end: work struct ffffffc0deadbeef", "57: 1=-271141978385"},
    {"workqueue_execute_end: work struct 00000010: function f", "57: 1=16 2=1"},
    {"workqueue_activate_work: work struct 00000010", "56: 1=16"},
    {"workqueue_queue_work: work struct=10 function=f workqueue=events req_cpu=8 cpu=0",
     "59: 1=16 2=1 3='events' 4=8 5=0"},
    {"block_rq_issue: 259,1 WS 4096 () 100 + 8 [b c]", "45: 1=271581185 5='WS' 4=4096 7='' 2=100 3=8 6='b c'"},
    {"block_rq_issue: 8,0 R 4096 () 100 + 8 none,0,0 [b]", "45: 1=8388608 5='R' 4=4096 7='' 2=100 3=8 6='b'"},
    {"block_rq_insert: 8,0 R 4096 () 100 + 8 [b]", "126: 1=8388608 5='R' 4=4096 7='' 2=100 3=8 6='b'"},
    {"block_rq_complete: 8,0 WS () 100 + 8 [-5]", "125: 1=8388608 5='WS' 6='' 2=100 3=8 4=-5"},
    {"block_rq_requeue: 8,0 WS () 100 + 8 [0]", "129: 1=8388608 5='WS' 6='' 2=100 3=8 4=0"},
    {"block_bio_queue: 8,0 WS 100 + 8 [b]", "119: 1=8388608 4='WS' 2=100 3=8 5='b'"},
    {"block_bio_remap: 8,0 WS 100 + 8 <- (8,1) 50", "120: 1=8388608 6='WS' 2=100 3=8 4=8388609 5=50"},
    {"block_plug: [b c]", "123: 1='b c'"},
    {"block_unplug: [b] 3", "133: 2='b' 1=3"},
    {"binder_transaction: transaction=5 dest_node=6 dest_proc=7 dest_thread=0 reply=0 flags=0x10 code=0x5f",
     "50: 1=5 2=6 3=7 4=0 5=0 7=16 6=95"},
    {"binder_transaction_received: transaction=5", "51: 1=5"},
    {"binder_transaction_alloc_buf: transaction=5 data_size=100 offsets_size=8", "323: 2=5 1=100 3=8"},
    {"binder_lock: tag=binder_ioctl", "53: 1='binder_ioctl'"},
    {"binder_unlock: tag=binder_ioctl", "55: 1='binder_ioctl'"},
    {"signal_generate: sig=9 errno=0 code=0 comm=b pid=8 grp=1 res=0", "325: 6=9 0 1=0 2='b' 4=8 3=1 5=0"},
    {"signal_deliver: sig=9 errno=0 code=0 sa_handler=0 sa_flags=14000000", "324: 3=9 0 1=0 0 2=335544320"},
    {"oom_score_adj_update: pid=8 comm=b oom_score_adj=-900", "326: 3=8 1='b' 2=-900"},
    {"mark_victim: pid=8", "334: 1=8"},
    {"mm_event_record: reclaim count=4 avg_lat=5 max_lat=6", "328: 4=4 2=4 1=5 3=6"},
    {"mm_event_record: other count=4 avg_lat=5 max_lat=6", NULL},
    {"rss_stat: mm_id=5 curr=1 type=MM_ANONPAGES size=4096B", "313: 4=5 3=1 1=1 2=4096"},
    {"rss_stat: member=1 size=4096B", "313: 1=1 2=4096"},
    {"rss_stat: size=4096 member=1 curr=1 mm_id=5", "313: 2=4096 1=1 3=1 4=5"},
    {"thermal_temperature: thermal_zone=cpu id=0 temp_prev=40 temp=-41", "341: 4='cpu' 1=0 3=40 2=-41"},
    {"cdev_update: type=fan target=2", "342: 2='fan' 1=2"},
    {"sys_enter: NR 63 (3, 7ff, 10, 0, 0, 0)", "329: 1=63 0"},
    {"sys_exit: NR 63 = -11", "330: 1=63 2=-11"},
    {"ion_heap_grow: heap_name=system, len=4096, total_allocated=8192", "315: 1='system' 2=4096 3=8192"},
    {"ext4_da_write_begin: dev 8,1 ino 5 pos 0 len 10 flags 0", "41: 1=8388609 2=5 3=0 4=10 5=0"},
    {"ext4_sync_file_enter: dev 8,1 ino 5 parent 2 datasync 1 ", "43: 1=8388609 2=5 3=2 4=1"},
    {"mm_vmscan_direct_reclaim_begin: order=0 may_writepage=1 gfp_flags=GFP_KERNEL", "46: 1=0 2=1"},
    {"mm_vmscan_direct_reclaim_begin: order=0 gfp_flags=GFP_KERNEL", "46: 1=0"},
    {"mm_vmscan_direct_reclaim_end: nr_reclaimed=32", "47: 1=32"},
    {"android_fs_dataread_start: entry_name /data/a, b.db, offset 4096, bytes 512, cmdline app x, pid 8, i_size 9, ino "
     "5",
     "432: 6='/data/a, b.db' 5=4096 1=512 2='app x' 7=8 3=9 4=5"},
    {"android_fs_dataread_end: ino 5, offset 4096, bytes 512", "431: 2=5 3=4096 1=512"},
    {"tracing_mark_write: B|9|a|b: c", "3: 2='B|9|a|b: c'"},
    {"0: E|9", "3: 2='E|9'"},
    {"print: C|9|x|-5", "3: 2='C|9|x|-5'"},
    {"my_event: a=1 b", NULL},
};

/* Fields that a form only skips do not get into the message. */
static const char *without_skipped(const char *event, char *out)
{
    char *o = out;
    for (; *event; event++) {
        if (event[0] == ' ' && event[1] == '0' && (event[2] == ' ' || !event[2]))
            event++;
        else
            *o++ = *event;
    }
    *o = 0;
    return out;
}

static void each_kind_of_event_becomes_its_message(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        char text[512], expected[1024], fields[512], kind[64];
        const char *payload = strchr(kinds[i].text, ':') + 1;
        snprintf(kind, sizeof kind, "%.*s", (int)(payload - 1 - kinds[i].text), kinds[i].text);
        snprintf(text, sizeof text, AT("%s"), kinds[i].text);
        convert_text(text, SIZE_MAX, NULL, 0);
        if (kinds[i].event) {
            snprintf(expected, sizeof expected, "[3] 1000001 7 %s\n", without_skipped(kinds[i].event, fields));
            assert_string_equal(unread, "");
        } else {
            payload += *payload == ' ';
            snprintf(expected, sizeof expected, "[3] 1000001 7 327: 1='%s' 2='\n\x04text\x1a%c%s'\n", kind,
                     (int)strlen(payload), payload);
            snprintf(fields, sizeof fields, "%s 1", kind);
            assert_string_equal(unread, fields);
        }
        const char *event = strstr(shown, "[3]"); /* behind threads and names of functions */
        assert_non_null(event);
        assert_string_equal(event, expected);
    }
}

/* ---- lines */

#define WAKES  "sched_waking: comm=b pid=8 prio=1 target_cpu=000"
#define WAKING "20: 1='b' 2=8 3=1 5=0\n"

static const struct {
    const char *text;
    const char *expected;
    unsigned others, headers, cut, lost;
} layouts[] = {
    {"app-7 [003] 1.000001: " WAKES "\n", "[3] 1000001 7 " WAKING, 0, 0, 0, 0},
    {"           app-7     [003] .... 1.000001: " WAKES "\n", "[3] 1000001 7 " WAKING, 0, 0, 0, 0},
    {"app-7 (    9) [003] d.h3 1.000001: " WAKES "\n",
     "tree 2: 1=7 3=9\ntree 2: 1=7 2='app' 3=9\n[3] 1000001 7 " WAKING, 0, 0, 0, 0},
    {"app-7 (-----) [003] d.h3. 1.000001: " WAKES "\n", "[3] 1000001 7 " WAKING, 0, 0, 0, 0},
    {"<...>-7 (9) [003] 1.000001: " WAKES "\n", "tree 2: 1=7 3=9\n[3] 1000001 7 " WAKING, 0, 0, 0, 0},
    {"a-b-1-7 [003] 1.000001: " WAKES "\n", "[3] 1000001 7 " WAKING, 0, 0, 0, 0},
    {"a [1] 2: b-7 [003] 1.000001: " WAKES "\n", "[3] 1000001 7 " WAKING, 0, 0, 0, 0},
    {"app-7\t[003]\td..2\t1.000001:\tsched_waking:\tcomm=b\tpid=8\tprio=1\ttarget_cpu=000\n", "[3] 1000001 7 " WAKING,
     0, 0, 0, 0},
    {"app-7 [003] 1.000001000:    " WAKES "   \r\n", "[3] 1000001 7 " WAKING, 0, 0, 0, 0},
    {"app-7 [127] 1.5: " WAKES "\n", "[127] 1500000 7 " WAKING, 0, 0, 0, 0},
    {"# tracer: nop\n#\n\napp-7 [003] 1.000001: " WAKES "\n", "[3] 1000001 7 " WAKING, 0, 3, 0, 0},
    {"cpus=4\nCPU 2 is empty\napp-7 [003] 1.000001: " WAKES "\n", "[3] 1000001 7 " WAKING, 0, 2, 0, 0},
    {"CPU:3 [LOST 45 EVENTS]\napp-7 [003] 1.000001: " WAKES "\n", "[3] 1000001 7 " WAKING, 0, 1, 0, 45},
    {"app-7 [003] 1.000001: " WAKES "\napp-7 [003] 1.000002: sched_wak", "[3] 1000001 7 " WAKING, 0, 0, 1, 0},
    {"app-7 [003] 1.000001: " WAKES "\napp-7 [003] 1.0\n", "[3] 1000001 7 " WAKING, 1, 0, 0, 0},
    {"what is this\napp [003] 1.000001: x: y\napp-7 [003] 1.000001: " WAKES "\n", "[3] 1000001 7 " WAKING, 2, 0, 0, 0},
    {"app-7 [9999999] 1.000001: " WAKES "\n", "", 1, 0, 0, 0},
    {"app-4294967296 [0] 1.000001: " WAKES "\n", "", 1, 0, 0, 0},
    {"app-7 [003] 99999999999.0: " WAKES "\n", "", 1, 0, 0, 0},
    {"app-7 [003] 1.000001: tracing_mark_write: B|9|x\n",
     "tree 2: 1=7 3=9\ntree 2: 1=7 2='app' 3=9\n[3] 1000001 7 3: 2='B|9|x'\n", 0, 0, 0, 0},
    {"app-7 (5) [003] 1.000001: tracing_mark_write: B|9|x\n",
     "tree 2: 1=7 3=5\ntree 2: 1=7 2='app' 3=5\n[3] 1000001 7 3: 2='B|9|x'\n", 0, 0, 0, 0},
    {"USER PID TID CMD\nroot 9 7 Render Thread\napp-7 [003] 1.000001: " WAKES "\n",
     "tree 2: 1=7 2='Render Thread' 3=9\n[3] 1000001 7 " WAKING, 0, 2, 0, 0},
    {"USER PID PPID VSZ RSS WCHAN PC S NAME CMD\nroot 9 1 5 5 0 0 S com.app --x\napp-7 [003] 1.000001: " WAKES "\n",
     "tree 1: 1=9 2=1 3='com.app'\n[3] 1000001 7 " WAKING, 0, 2, 0, 0},
};

static void each_layout_of_lines_is_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++) {
        for (size_t piece = 1; piece < 200; piece += 66) {
            convert_text(layouts[i].text, piece, NULL, 0);
            assert_string_equal(shown, layouts[i].expected);
            assert_int_equal(reader.others, layouts[i].others);
            assert_int_equal(reader.headers, layouts[i].headers);
            assert_int_equal(reader.cut, layouts[i].cut);
            assert_int_equal(reader.lost_events, layouts[i].lost);
        }
    }
}

static void a_header_states_the_clock(void **state)
{
    static const char *const headers[] = {"# clock: boot\n", "trace_clock: [boot]\n", "#   clock:boot\n"};
    (void)state;
    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++) {
        convert_text(headers[i], SIZE_MAX, NULL, 0);
        assert_string_equal(reader.clock, "boot");
        assert_int_equal(reader.headers, 1);
    }
    convert_text("# clock: longer than any clock's name is, by far-away\n# x\n", SIZE_MAX, NULL, 0);
    assert_string_equal(reader.clock, "longer");
}

static void a_line_of_any_length_does_no_harm(void **state)
{
    enum { LONG = 3 * STROBE_FTRACE_LINE_BYTES };
    (void)state;
    char *text = malloc(LONG + 200);
    memset(text, 'x', LONG);
    strcpy(text + LONG, "\napp-7 [003] 1.000001: " WAKES "\n");
    for (size_t piece = 1000; piece < 2 * LONG; piece *= 10) {
        convert_text(text, piece, NULL, 0);
        assert_string_equal(shown, "[3] 1000001 7 " WAKING);
        assert_int_equal(reader.long_lines, 1);
        assert_int_equal(reader.lines, 2);
    }
    free(text);
}

/* ---- states, functions, bundles */

static void states_have_the_numbers_of_their_kernel(void **state)
{
    static const struct {
        const char *text;
        uint64_t old, new;
    } states[] = {{"R", 0, 0},     {"R+", 0x800, 0x100}, {"S", 1, 1},           {"D", 2, 2},
                  {"T", 4, 4},     {"t", 8, 8},          {"X", 16, 16},         {"Z", 32, 32},
                  {"x", 0x40, 16}, {"P", 0x200, 64},     {"I", 0x402, 128},     {"D|W", 0x102, 2},
                  {"DK", 0x82, 2}, {"", 0xffff, 0xffff}, {"S+", 0xffff, 0xffff}};
    (void)state;
    for (size_t i = 0; i < sizeof states / sizeof states[0]; i++) {
        struct strobe_ftrace_text text = {states[i].text, strlen(states[i].text)};
        assert_int_equal(strobe_ftrace_state_number(text, 0), states[i].old);
        assert_int_equal(strobe_ftrace_state_number(text, 1), states[i].new);
    }
}

static void a_function_is_named_once_before_the_events_that_name_it(void **state)
{
    (void)state;
    convert_text(AT("sched_blocked_reason: pid=8 iowait=0 caller=f+0x1/0x2")
                     AT("sched_blocked_reason: pid=9 iowait=1 caller=g")
                         AT("workqueue_execute_end: work struct 1: function g"),
                 SIZE_MAX, NULL, 0);
    assert_string_equal(shown, "name 26: 1=1 2='f+0x1/0x2'\nname 26: 1=2 2='g'\n[3] 1000001 7 18: 1=8 3=0 2=1\n"
                               "[3] 1000001 7 18: 1=9 3=1 2=2\n[3] 1000001 7 57: 1=1 2=2\n");
}

static void events_of_each_processor_are_complete_and_in_order(void **state)
{
    enum { EVENTS = 4000, CPUS = 3 };
    (void)state;
    char *text = malloc(EVENTS * 100);
    size_t n = 0, seen[CPUS] = {0};
    for (int i = 0; i < EVENTS; i++)
        n += (size_t)sprintf(text + n, "app-7 [%03d] %d.000000: tracing_mark_write: E|7 and some text here\n", i % CPUS,
                             i + 1);
    struct strobe_outfile out;
    struct strobe_packets packets;
    struct strobe_ftrace_packets ftrace;
    const struct strobe_ftrace_visitor visitor = {&convert, take_event, NULL};
    assert_int_equal(strobe_outfile_open(&out, temp_dir_path("many"), 1), STROBE_OK);
    assert_true(strobe_packets_open(&packets, &out, 0));
    strobe_ftrace_packets_open(&ftrace, &packets, 7);
    strobe_ftrace_convert_open(&convert, &ftrace, NULL);
    convert.offset_ns = -1000000000;
    strobe_ftrace_text_open(&reader, &visitor);
    strobe_ftrace_text_feed(&reader, text, n);
    strobe_ftrace_text_close(&reader);
    strobe_ftrace_packets_close(&ftrace);
    strobe_packets_close(&packets);
    strobe_ftrace_convert_close(&convert);
    assert_int_equal(strobe_outfile_finish(&out, 0), STROBE_OK);
    size_t bytes;
    char *file = temp_dir_read("many", &bytes);
    struct strobe_proto trace = {(uint8_t *)file, (uint8_t *)file + bytes};
    struct strobe_proto_field packet, f, g, h;
    while (strobe_proto_next(&trace, &packet) == STROBE_PROTO_FIELD)
        while (strobe_proto_next(&packet.bytes, &f) == STROBE_PROTO_FIELD) {
            uint64_t cpu = CPUS;
            while (f.number == 1 && strobe_proto_next(&f.bytes, &g) == STROBE_PROTO_FIELD) {
                cpu = g.number == 1 ? g.value : cpu;
                if (g.number != 2)
                    continue;
                assert_int_equal(strobe_proto_next(&g.bytes, &h), STROBE_PROTO_FIELD);
                assert_int_equal(h.value, (seen[cpu] * CPUS + cpu) * 1000000000);
                seen[cpu]++;
            }
        }
    assert_int_equal(seen[0] + seen[1] + seen[2], EVENTS);
    free(file);
    free(text);
}

static void an_offset_puts_no_event_before_zero(void **state)
{
    struct strobe_ftrace_packets ftrace;
    struct strobe_packets packets;
    struct strobe_outfile out;
    struct strobe_ftrace_line line = {.time_ns = 5, .tid = 1, .event = {"x", 1}, .payload = {"", 0}};
    (void)state;
    assert_int_equal(strobe_outfile_open(&out, temp_dir_path("zero"), 1), STROBE_OK);
    assert_true(strobe_packets_open(&packets, &out, 0));
    strobe_ftrace_packets_open(&ftrace, &packets, 7);
    strobe_ftrace_convert_open(&convert, &ftrace, NULL);
    convert.offset_ns = -6;
    strobe_ftrace_convert_event(&convert, &line);
    assert_int_equal(convert.before_zero, 1);
    assert_int_equal(convert.last_ns, 0);
    convert.offset_ns = -5;
    strobe_ftrace_convert_event(&convert, &line);
    assert_int_equal(convert.before_zero, 1);
    strobe_ftrace_packets_close(&ftrace);
    strobe_packets_close(&packets);
    strobe_ftrace_convert_close(&convert);
    strobe_outfile_finish(&out, 1);
}

static void scheduling_gets_to_the_states_of_watched_threads(void **state)
{
    struct strobe_sched_states states = {0};
    uint64_t spent[STROBE_SCHED_STATE_COUNT];
    (void)state;
    strobe_sched_states_watch(&states, 8);
    convert_text(
        "a-1 [0] 1.0: sched_waking: comm=b pid=8 prio=1 target_cpu=000\n"
        "a-1 [0] 2.0: sched_switch: prev_comm=a prev_pid=1 prev_prio=1 prev_state=S ==> next_comm=b next_pid=8 "
        "next_prio=1\n"
        "b-8 [0] 4.0: sched_switch: prev_comm=b prev_pid=8 prev_prio=1 prev_state=D ==> next_comm=a next_pid=1 "
        "next_prio=1\n"
        "a-1 [0] 8.0: sched_wakeup: b:8 [1] CPU:000\n"
        "a-1 [0] 16.0: cpu_idle: state=1 cpu_id=0\n"
        "a-1 [0] 32.0: sched_wakeup: c:9 [1] CPU:000\n",
        SIZE_MAX, &states, 0);
    assert_true(strobe_sched_states_finish(&states));
    assert_true(strobe_sched_states_between(&states, 8, 0, UINT64_MAX / 2, spent));
    assert_int_equal(spent[STROBE_SCHED_RUNNING], 2000000000);
    assert_int_equal(spent[STROBE_SCHED_UNINTERRUPTIBLE], 4000000000);
    assert_int_equal(spent[STROBE_SCHED_RUNNABLE], 1000000000 + 24000000000);
    assert_int_equal(spent[STROBE_SCHED_SLEEPING], 0);
    strobe_sched_states_free(&states);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_kind_of_event_becomes_its_message),
        cmocka_unit_test(each_layout_of_lines_is_read),
        cmocka_unit_test(a_header_states_the_clock),
        cmocka_unit_test(a_line_of_any_length_does_no_harm),
        cmocka_unit_test(states_have_the_numbers_of_their_kernel),
        cmocka_unit_test(a_function_is_named_once_before_the_events_that_name_it),
        cmocka_unit_test(events_of_each_processor_are_complete_and_in_order),
        cmocka_unit_test(an_offset_puts_no_event_before_zero),
        cmocka_unit_test(scheduling_gets_to_the_states_of_watched_threads),
    };
    return cmocka_run_group_tests(tests, temp_dir_open, temp_dir_close);
}
