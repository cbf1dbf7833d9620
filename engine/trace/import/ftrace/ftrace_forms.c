#include "engine/trace/import/ftrace/ftrace_forms.h"

/* Forms that several events share. */
#define WAKE_FORMS(event, field)                                                                                       \
    {event, field, "comm=%1s pid=%2d prio=%3d success=%4d target_cpu=%5d"},                                            \
        {event, field, "comm=%1s pid=%2d prio=%3d target_cpu=%5d"},                                                    \
        {event, field, "%1s:%2d [%3d] success=%4d CPU:%5d"}, {event, field, "%1s:%2d [%3d] CPU:%5d"},                  \
    {                                                                                                                  \
        event, field, "%1s:%2d [%3d]<CANT FIND FIELD success> CPU:%5d"                                                 \
    }
#define REQUEST_FORMS(event, field)                                                                                    \
    {event, field, "%1v %5s %4u (%7s) %2u + %3u [%6s]"},                                                               \
    {                                                                                                                  \
        event, field, "%1v %5s %4u (%7s) %2u + %3u %0s [%6s]"                                                          \
    }
#define DONE_FORMS(event, field)                                                                                       \
    {event, field, "%1v %5s (%6s) %2u + %3u [%4d]"},                                                                   \
    {                                                                                                                  \
        event, field, "%1v %5s (%6s) %2u + %3u %0s [%4d]"                                                              \
    }
#define FILE_START(event, field)                                                                                       \
    {                                                                                                                  \
        event, field, "entry_name %6p, offset %5u, bytes %1d, cmdline %2s, pid %7d, i_size %3u, ino %4u"               \
    }
#define FILE_END(event, field)                                                                                         \
    {                                                                                                                  \
        event, field, "ino %2u, offset %3u, bytes %1d"                                                                 \
    }

const struct strobe_ftrace_form strobe_ftrace_forms[] = {
    {"sched_switch", STROBE_FTRACE_SCHED_SWITCH,
     "prev_comm=%1s prev_pid=%2d prev_prio=%3d prev_state=%4t ==> next_comm=%5s next_pid=%6d next_prio=%7d"},
    {"sched_switch", STROBE_FTRACE_SCHED_SWITCH, "%1s:%2d [%3d] %4t ==> %5s:%6d [%7d]"},
    WAKE_FORMS("sched_waking", STROBE_FTRACE_SCHED_WAKING),
    WAKE_FORMS("sched_wakeup", STROBE_FTRACE_SCHED_WAKEUP),
    WAKE_FORMS("sched_wakeup_new", STROBE_FTRACE_SCHED_WAKEUP_NEW),
    {"sched_blocked_reason", STROBE_FTRACE_SCHED_BLOCKED_REASON, "pid=%1d iowait=%3d caller=%2f"},
    {"sched_process_exec", 237, "filename=%1p pid=%2d old_pid=%3d"},
    {"sched_process_exit", 238, "comm=%1s pid=%2d prio=%4d"},
    {"sched_process_fork", 239, "comm=%1s pid=%2d child_comm=%3s child_pid=%4d"},
    {"sched_process_free", 240, "comm=%1s pid=%2d prio=%3d"},
    {"sched_process_wait", 242, "comm=%1s pid=%2d prio=%3d"},
    {"task_newtask", 235, "pid=%1d comm=%2s clone_flags=%3x oom_score_adj=%4d"},
    {"task_rename", STROBE_FTRACE_TASK_RENAME, "pid=%1d oldcomm=%2s newcomm=%3s oom_score_adj=%4d"},
    {"cpu_frequency", 11, "state=%1u cpu_id=%2u"},
    {"cpu_frequency_limits", 12, "min=%1u max=%2u cpu_id=%3u"},
    {"cpu_idle", 13, "state=%1u cpu_id=%2u"},
    {"gpu_frequency", 332, "gpu_id=%1u state=%2u"},
    {"gpu_frequency", 332, "state=%2u gpu_id=%1u"},
    {"clock_enable", 14, "%1s state=%2u cpu_id=%3u"},
    {"clock_disable", 15, "%1s state=%2u cpu_id=%3u"},
    {"clock_set_rate", 16, "%1s state=%2u cpu_id=%3u"},
    {"suspend_resume", 113, "%1s[%2u] %3b"},
    {"irq_handler_entry", 36, "irq=%1d name=%2s"},
    {"irq_handler_exit", 37, "irq=%1d ret=%2h"},
    {"softirq_entry", 24, "vec=%1u"},
    {"softirq_exit", 25, "vec=%1u"},
    {"softirq_raise", 26, "vec=%1u"},
    {"ipi_entry", 21, "(%1s)"},
    {"ipi_exit", 22, "(%1s)"},
    {"workqueue_activate_work", 56, "work struct %1x"},
    {"workqueue_execute_start", 58, "work struct %1x: function %2f"},
    {"workqueue_execute_end", 57, "work struct %1x: function %2f"},
    {"workqueue_execute_end", 57, "work struct %1x"},
    {"workqueue_queue_work", 59, "work struct=%1x function=%2f workqueue=%3s req_cpu=%4d cpu=%5d"},
    REQUEST_FORMS("block_rq_issue", 45),
    REQUEST_FORMS("block_rq_insert", 126),
    DONE_FORMS("block_rq_complete", 125),
    DONE_FORMS("block_rq_requeue", 129),
    {"block_bio_backmerge", 115, "%1v %4s %2u + %3u [%5s]"},
    {"block_bio_complete", 117, "%1v %5s %2u + %3u [%4d]"},
    {"block_bio_frontmerge", 118, "%1v %4s %2u + %3u [%5s]"},
    {"block_bio_queue", 119, "%1v %4s %2u + %3u [%5s]"},
    {"block_bio_remap", 120, "%1v %6s %2u + %3u <- (%4v) %5u"},
    {"block_getrq", 122, "%1v %4s %2u + %3u [%5s]"},
    {"block_plug", 123, "[%1s]"},
    {"block_unplug", 133, "[%2s] %1d"},
    {"binder_transaction", 50,
     "transaction=%1d dest_node=%2d dest_proc=%3d dest_thread=%4d reply=%5d flags=%7x code=%6x"},
    {"binder_transaction_received", 51, "transaction=%1d"},
    {"binder_transaction_alloc_buf", 323, "transaction=%2d data_size=%1u offsets_size=%3u extra_buffers_size=%4u"},
    {"binder_transaction_alloc_buf", 323, "transaction=%2d data_size=%1u offsets_size=%3u"},
    {"binder_lock", 53, "tag=%1s"},
    {"binder_locked", 54, "tag=%1s"},
    {"binder_unlock", 55, "tag=%1s"},
    {"signal_generate", 325, "sig=%6d errno=%0d code=%1d comm=%2s pid=%4d grp=%3d res=%5d"},
    {"signal_deliver", 324, "sig=%3d errno=%0d code=%1d sa_handler=%0s sa_flags=%2x"},
    {"oom_score_adj_update", 326, "pid=%3d comm=%1s oom_score_adj=%2d"},
    {"mark_victim", 334, "pid=%1d"},
    {"mm_event_record", 328, "%4m count=%2u avg_lat=%1u max_lat=%3u"},
    {"rss_stat", 313, "mm_id=%4u curr=%3u member=%1d size=%2dB"},
    {"rss_stat", 313, "mm_id=%4u curr=%3u type=%1r size=%2dB"},
    {"rss_stat", 313, "member=%1d size=%2dB"},
    {"rss_stat", 313, "size=%2d member=%1d curr=%3u mm_id=%4u"},
    {"rss_stat", 313, "size=%2d member=%1d"},
    {"thermal_temperature", 341, "thermal_zone=%4s id=%1d temp_prev=%3d temp=%2d"},
    {"cdev_update", 342, "type=%2s target=%1u"},
    {"sys_enter", 329, "NR %1d (%0p)"},
    {"sys_exit", 330, "NR %1d = %2d"},
    {"ion_heap_shrink", 314, "heap_name=%1s, len=%2u, total_allocated=%3d"},
    {"ion_heap_grow", 315, "heap_name=%1s, len=%2u, total_allocated=%3d"},
    {"ext4_da_write_begin", 41, "dev %1v ino %2u pos %3u len %4u flags %5u"},
    {"ext4_da_write_end", 42, "dev %1v ino %2u pos %3u len %4u copied %5u"},
    {"ext4_sync_file_enter", 43, "dev %1v ino %2u parent %3u datasync %4d"},
    {"ext4_sync_file_exit", 44, "dev %1v ino %2u ret %3d"},
    {"mm_vmscan_direct_reclaim_begin", 46, "order=%1d may_writepage=%2d"},
    {"mm_vmscan_direct_reclaim_begin", 46, "order=%1d"},
    {"mm_vmscan_direct_reclaim_end", 47, "nr_reclaimed=%1u"},
    {"mm_vmscan_kswapd_wake", 48, "nid=%1d zid=%3d order=%2d"},
    {"mm_vmscan_kswapd_wake", 48, "nid=%1d order=%2d"},
    {"mm_vmscan_kswapd_sleep", 49, "nid=%1d"},
    FILE_START("android_fs_dataread_start", 432),
    FILE_END("android_fs_dataread_end", 431),
    FILE_START("android_fs_datawrite_start", 434),
    FILE_END("android_fs_datawrite_end", 433),
};

const size_t strobe_ftrace_form_count = sizeof strobe_ftrace_forms / sizeof strobe_ftrace_forms[0];
