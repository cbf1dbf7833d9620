#include "sim/policy/btraceios/btrace_ios_files.h"
#include "engine/base/error_format.h"

#include "engine/trace/import/btraceios/btrace_ios.h"
#include "engine/trace/model/function_tree.h"
#include "engine/util/outfile.h"
#include "sim/runtime/vthread.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { METHOD_BYTES = 64, INSIDE = 16, VERSION = 3, STATEMENT_BYTES = 512 };
#define IMAGE_START UINT64_C(0x104a00000)
#define HOOKS_START UINT64_C(0x90000000)
#define UUID        "4C414200000040008000000000000001"

/* Methods come after the functions that wait, of which there is one for each kind. */
static uint64_t database_address(const struct sim_btrace_ios_dump *d, uint64_t address)
{
    uint32_t method = d->method_at(d->ctx, address);
    enum strobe_kind kind = sim_wait_kind(method);
    if (kind == STROBE_KIND_NONE && method == SIM_HOOK_METHOD)
        return HOOKS_START;
    uint64_t number = kind != STROBE_KIND_NONE ? (uint64_t)kind : (uint64_t)STROBE_KIND_COUNT + method;
    return IMAGE_START + METHOD_BYTES * number + INSIDE;
}

const char *sim_btrace_ios_name(const struct sim_scenario *scenario, uint64_t return_address)
{
    if (return_address <= IMAGE_START)
        return NULL;
    uint64_t number = (return_address - 1 - IMAGE_START) / METHOD_BYTES;
    if (number < STROBE_KIND_COUNT)
        return strobe_wait_name((unsigned)number);
    number -= STROBE_KIND_COUNT;
    return number < scenario->method_count ? scenario->methods[number].name : NULL;
}

/* ---- rows */

static const char create_tables[] =
    "PRAGMA page_size = 4096;"
    "CREATE TABLE BTraceModel (trace_id INTEGER, start_time INTEGER, end_time INTEGER, sdk_init_time REAL,"
    " os_version TEXT, bundle_id TEXT, dump_time INTEGER, tag TEXT, info TEXT, version INTEGER, main_tid INTEGER);"
    "CREATE TABLE ThreadInfoModel (trace_id INTEGER, tid INTEGER, name TEXT);"
    "CREATE TABLE ImageInfoModel (trace_id INTEGER, address INTEGER, len INTEGER, type INTEGER, name TEXT, uuid TEXT);"
    "CREATE TABLE CallStackTableModel (trace_id INTEGER, nodes BLOB);"
    "CREATE TABLE CPUSampleModel (trace_id INTEGER, tid INTEGER, start_time INTEGER, start_cpu_time INTEGER,"
    " stack_id INTEGER, alloc_size INTEGER, alloc_count INTEGER);"
    "CREATE TABLE CPUIntervalSampleModel (trace_id INTEGER, tid INTEGER, start_time INTEGER, end_time INTEGER,"
    " start_cpu_time INTEGER, end_cpu_time INTEGER, stack_id INTEGER, alloc_size INTEGER, alloc_count INTEGER);"
    "CREATE TABLE MemSampleModel (trace_id INTEGER, tid INTEGER, addr INTEGER, size INTEGER, time INTEGER,"
    " cpu_time INTEGER, stack_id INTEGER, alloc_size INTEGER, alloc_count INTEGER);"
    "CREATE TABLE DateSampleModel (trace_id INTEGER, tid INTEGER, time INTEGER, cpu_time INTEGER, stack_id INTEGER,"
    " alloc_size INTEGER, alloc_count INTEGER);"
    "CREATE TABLE DispatchSampleModel (trace_id INTEGER, source_tid INTEGER, source_time INTEGER,"
    " source_cpu_time INTEGER, target_tid INTEGER, target_time INTEGER, stack_id INTEGER, alloc_size INTEGER,"
    " alloc_count INTEGER);"
    "CREATE TABLE LockSampleModel (trace_id INTEGER, sample BLOB);";

/* ?1 thread, ?2 time, ?3 CPU time, ?4 stack, ?5 end, ?6 CPU time at the end, ?7 blob of a lock. The lab's blocks have
 * no addresses, and a dispatched block runs at once. */
static const char *const insert_row[SIM_BTRACE_TABLES] = {
    [SIM_BTRACE_CPU] = "INSERT INTO CPUSampleModel VALUES (0, ?1, ?2, ?3, ?4, 0, 0)",
    [SIM_BTRACE_INTERVAL] = "INSERT INTO CPUIntervalSampleModel VALUES (0, ?1, ?2, ?5, ?3, ?6, ?4, 0, 0)",
    [SIM_BTRACE_MEM] = "INSERT INTO MemSampleModel VALUES (0, ?1, 1, 16, ?2, ?3, ?4, 0, 0)",
    [SIM_BTRACE_DATE] = "INSERT INTO DateSampleModel VALUES (0, ?1, ?2, ?3, ?4, 0, 0)",
    [SIM_BTRACE_DISPATCH] = "INSERT INTO DispatchSampleModel VALUES (0, ?1, ?2, ?3, ?1, ?2, ?4, 0, 0)",
    [SIM_BTRACE_LOCK] = "INSERT INTO LockSampleModel VALUES (0, ?7)",
};

static bool put_row(sqlite3_stmt *insert, const struct sim_btrace_row *r)
{
    struct {
        uint64_t lock;
        uint32_t time, cpu, stack, tid, alloc_size, alloc_count;
    } blob = {r->lock, r->start, r->cpu_start, r->stack, r->tid, 0, 0};
    const uint32_t values[] = {r->tid, r->start, r->cpu_start, r->stack, r->end, r->cpu_end};
    int code = SQLITE_OK;
    for (int i = 0; i < sqlite3_bind_parameter_count(insert) && i < 6 && code == SQLITE_OK; i++)
        code = sqlite3_bind_int64(insert, i + 1, values[i]);
    if (r->table == SIM_BTRACE_LOCK)
        code = sqlite3_bind_blob(insert, 7, &blob, sizeof blob, SQLITE_TRANSIENT);
    bool put = code == SQLITE_OK && sqlite3_step(insert) == SQLITE_DONE;
    return sqlite3_reset(insert) == SQLITE_OK && put;
}

static bool put_rows(sqlite3 *db, const struct sim_btrace_ios_dump *d)
{
    sqlite3_stmt *inserts[SIM_BTRACE_TABLES] = {0};
    bool fits = true;
    for (unsigned t = 0; t < SIM_BTRACE_TABLES && fits; t++)
        fits = sqlite3_prepare_v2(db, insert_row[t], -1, &inserts[t], NULL) == SQLITE_OK;
    for (size_t i = 0; i < d->count && fits; i++)
        fits = put_row(inserts[d->rows[i].table], &d->rows[i]);
    for (unsigned t = 0; t < SIM_BTRACE_TABLES; t++)
        sqlite3_finalize(inserts[t]);
    return fits;
}

static bool put_stacks(sqlite3 *db, const struct sim_btrace_ios_dump *d)
{
    struct node {
        uint32_t id, parent;
        uint64_t address;
    } *nodes = calloc(d->stacks->count + 1, sizeof *nodes);
    sqlite3_stmt *insert = NULL;
    size_t count = 0;
    for (size_t i = 1; nodes && i < d->stacks->count; i++)
        nodes[count++] =
            (struct node){(uint32_t)i, d->stacks->nodes[i].parent, database_address(d, d->stacks->nodes[i].frame)};
    bool fits =
        nodes &&
        sqlite3_prepare_v2(db, "INSERT INTO CallStackTableModel VALUES (0, ?1)", -1, &insert, NULL) == SQLITE_OK &&
        sqlite3_bind_blob(insert, 1, nodes, (int)(count * sizeof *nodes), SQLITE_STATIC) == SQLITE_OK &&
        sqlite3_step(insert) == SQLITE_DONE;
    sqlite3_finalize(insert);
    free(nodes);
    return fits;
}

static bool put_database_threads(sqlite3 *db, const struct sim_btrace_ios_dump *d)
{
    sqlite3_stmt *insert = NULL;
    struct strobe_idmap seen = {0};
    int fresh;
    bool fits =
        sqlite3_prepare_v2(db, "INSERT INTO ThreadInfoModel VALUES (0, ?1, ?2)", -1, &insert, NULL) == SQLITE_OK;
    for (size_t i = 0; i < d->count && fits; i++) {
        uint32_t tid = d->rows[i].tid;
        fits = strobe_idmap_put(&seen, tid, 0, &fresh) != NULL;
        if (!fits || !fresh)
            continue;
        fits = sqlite3_bind_int64(insert, 1, tid) == SQLITE_OK &&
               sqlite3_bind_text(insert, 2, d->thread_name(d->ctx, tid), -1, SQLITE_TRANSIENT) == SQLITE_OK &&
               sqlite3_step(insert) == SQLITE_DONE && sqlite3_reset(insert) == SQLITE_OK;
    }
    sqlite3_finalize(insert);
    strobe_idmap_free(&seen);
    return fits;
}

static bool fill_database(sqlite3 *db, const struct sim_btrace_ios_dump *d, uint32_t main_tid)
{
    char facts[STATEMENT_BYTES];
    snprintf(facts, sizeof facts,
             "INSERT INTO BTraceModel VALUES (0, 0, 0, 0, '17.0', 'strobe.lab', 0, '', '', %d, %u);"
             "INSERT INTO ImageInfoModel VALUES (0, %llu, %llu, 0, '/private/var/containers/Lab.app/Lab', '" UUID "')",
             VERSION, (unsigned)main_tid, (unsigned long long)IMAGE_START,
             (unsigned long long)METHOD_BYTES * (STROBE_KIND_COUNT + d->scenario->method_count));
    return sqlite3_exec(db, create_tables, NULL, NULL, NULL) == SQLITE_OK &&
           sqlite3_exec(db, "BEGIN", NULL, NULL, NULL) == SQLITE_OK &&
           sqlite3_exec(db, facts, NULL, NULL, NULL) == SQLITE_OK && put_database_threads(db, d) && put_stacks(db, d) &&
           put_rows(db, d) && sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) == SQLITE_OK;
}

enum strobe_status sim_btrace_ios_write(const struct sim_btrace_ios_dump *d, uint32_t main_tid, const char *folder,
                                        bool replace, struct strobe_error *error)
{
    struct strobe_outfile out;
    char path[4096];
    sqlite3 *db = NULL;
    sqlite3_int64 bytes = 0;
    bool fits = sqlite3_open(":memory:", &db) == SQLITE_OK && fill_database(db, d, main_tid);
    unsigned char *file = fits ? sqlite3_serialize(db, "main", &bytes, 0) : NULL;
    sqlite3_close(db);
    snprintf(path, sizeof path, "%s/btrace.sqlite", folder);
    errno = ENOMEM;
    enum strobe_status status = file ? strobe_outfile_open(&out, path, replace) : STROBE_IO;
    if (status == STROBE_OK) {
        strobe_outfile_write(&out, file, (size_t)bytes);
        status = strobe_outfile_finish(&out, 0);
    }
    if (status != STROBE_OK)
        strobe_error_set(error, "%.1000s: %s", path, status == STROBE_EXISTS ? "exists already" : strerror(errno));
    sqlite3_free(file);
    return status;
}
