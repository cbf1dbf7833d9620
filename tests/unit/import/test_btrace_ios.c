/* Databases of btrace 3.0 of iOS, made table by table. */
#include "engine/base/error.h"
#include "engine/trace/import/btraceios/btrace_ios.h"
#include "engine/trace/import/btraceios/btrace_ios_read.h"

#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/support/imported.h"

#define MS   UINT64_C(1000000)
#define BASE UINT64_C(0x104a00000)

static struct strobe_sampled *sampled;
static struct strobe_btrace_ios_stats stats;
static struct strobe_error error;
static struct imported session;

/* ---- a database */

static sqlite3 *db;

static void run(const char *sql)
{
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
}

static void put_blob(const char *sql, const void *blob, size_t bytes)
{
    sqlite3_stmt *statement;
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_bind_blob(statement, 1, blob, (int)bytes, SQLITE_STATIC), SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_DONE);
    sqlite3_finalize(statement);
}

/* Begins a database: its trace 0, threads 5 (main) and 6, and the stacks 1 = a, 2 = a;b, 3 = a;b;c. */
static void begin_database(unsigned version)
{
    char facts[256];
    struct {
        uint32_t id, parent;
        uint64_t address;
    } nodes[] = {{1, 0, BASE + 0x100}, {2, 1, BASE + 0x200}, {3, 2, BASE + 0x300}};
    assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
    run("CREATE TABLE BTraceModel (trace_id INTEGER, version INTEGER, main_tid INTEGER, bundle_id TEXT);"
        "CREATE TABLE ThreadInfoModel (trace_id INTEGER, tid INTEGER, name TEXT);"
        "CREATE TABLE ImageInfoModel (trace_id INTEGER, address INTEGER, len INTEGER, type INTEGER, name TEXT, uuid "
        "TEXT);"
        "CREATE TABLE CallStackTableModel (trace_id INTEGER, nodes BLOB);"
        "CREATE TABLE CPUSampleModel (trace_id INTEGER, tid INTEGER, start_time INTEGER, start_cpu_time INTEGER,"
        " stack_id INTEGER, alloc_size INTEGER, alloc_count INTEGER);"
        "CREATE TABLE CPUIntervalSampleModel (trace_id INTEGER, tid INTEGER, start_time INTEGER, end_time INTEGER,"
        " start_cpu_time INTEGER, end_cpu_time INTEGER, stack_id INTEGER, alloc_size INTEGER, alloc_count INTEGER);"
        "CREATE TABLE LockSampleModel (trace_id INTEGER, sample BLOB);"
        "INSERT INTO ThreadInfoModel VALUES (0, 5, 'main'), (0, 6, 'work'), (0, 7, NULL);"
        "INSERT INTO ImageInfoModel VALUES (0, 4372561920, 65536, 0, '/var/Shop.app/Shop', "
        "'00112233445566778899AABBCCDDEEFF'),"
        " (0, 4372570112, 4096, 0, '/usr/lib/libx.dylib', 'wrong')");
    snprintf(facts, sizeof facts, "INSERT INTO BTraceModel VALUES (0, %u, 5, 'com.example.shop')", version);
    run(facts);
    put_blob("INSERT INTO CallStackTableModel VALUES (0, ?1)", nodes, sizeof nodes);
}

static void lock_row(uint64_t lock, unsigned action, uint32_t time, uint32_t cpu, uint32_t stack, uint32_t tid)
{
    struct {
        uint64_t lock;
        uint32_t words[6];
    } blob = {lock | (uint64_t)action << STROBE_BTRACE_IOS_LOCK_BITS, {time, cpu, stack, tid, 0, 0}};
    put_blob("INSERT INTO LockSampleModel VALUES (0, ?1)", &blob, sizeof blob);
}

/* Ends the database, and reads it. */
static enum strobe_status read_database(int32_t trace)
{
    struct strobe_btrace_ios_options options = {trace};
    sqlite3_int64 bytes;
    unsigned char *file = sqlite3_serialize(db, "main", &bytes, 0);
    assert_non_null(file);
    sqlite3_close(db);
    assert_int_equal(strobe_sampled_open(&sampled), STROBE_OK);
    strobe_sampled_interval(sampled, MS, 0);
    enum strobe_status status = strobe_btrace_ios_read(file, (size_t)bytes, &options, sampled, &stats, &error);
    sqlite3_free(file);
    return status;
}

static void import(void)
{
    if (read_database(STROBE_BTRACE_IOS_LAST_TRACE) != STROBE_OK)
        fail_msg("%s", error.text);
    imported_open(&session, sampled);
}

static void close_import(void)
{
    imported_close(&session);
    strobe_sampled_close(sampled);
}

/* Returns the addresses of a stack, less that of the image, as "100 200 300". */
static const char *addresses(uint32_t stack)
{
    static char text[256];
    uint64_t frames[STROBE_STACK_DEPTH_MAX];
    uint32_t count;
    size_t n = 0;
    text[0] = 0;
    assert_int_equal(
        strobe_stack_frames(&session.reader->session.stacks, stack, frames, STROBE_STACK_DEPTH_MAX, &count), STROBE_OK);
    for (uint32_t i = 0; i < count; i++)
        n +=
            (size_t)snprintf(text + n, sizeof text - n, "%s%llx", i ? " " : "", (unsigned long long)(frames[i] - BASE));
    return text;
}

/* ---- tests */

static void samples_of_the_sampler_have_times_and_stacks(void **state)
{
    (void)state;
    begin_database(3);
    run("INSERT INTO CPUSampleModel VALUES (0, 5, 100, 50, 2, 0, 0);"
        "INSERT INTO CPUIntervalSampleModel VALUES (0, 5, 200, 500, 100, 400, 3, 0, 0)");
    import();
    const struct strobe_reader_thread *t = imported_thread(&session, 5);
    assert_true(t->is_main);
    assert_string_equal(t->name, "main");
    assert_string_equal(session.reader->session.header->exe, "com.example.shop");
    assert_int_equal(t->item_count, 2);
    const struct strobe_record *r = &t->items[0].record;
    assert_int_equal(r->ticks, 1 * MS);
    assert_int_equal(r->cpu_ns, MS / 2);
    assert_int_equal(r->kind, STROBE_KIND_ASYNC);
    assert_string_equal(addresses(r->stack), "100 201"); /* the innermost address is that of the next instruction */
    r = &t->items[1].record;
    assert_int_equal(r->ticks, 2 * MS);
    assert_int_equal(r->duration, 3 * MS);
    assert_int_equal(r->count, 4);
    assert_int_equal(r->cpu_ns, 4 * MS);
    assert_string_equal(addresses(r->stack), "100 200 301");
    close_import();
}

static void images_are_those_of_the_capture(void **state)
{
    (void)state;
    static const uint8_t uuid[16] = {0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77,
                                     0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff};
    begin_database(3);
    run("INSERT INTO CPUSampleModel VALUES (0, 5, 100, 50, 2, 0, 0)");
    import();
    const struct strobe_image_entry *shop = strobe_reader_image(session.reader, 0),
                                    *library = strobe_reader_image(session.reader, 1);
    assert_string_equal(shop->path, "/var/Shop.app/Shop");
    assert_int_equal(shop->start, BASE);
    assert_int_equal(shop->end, BASE + 8192); /* where the next one begins */
    assert_int_equal(shop->bias, BASE - UINT64_C(0x100000000));
    assert_int_equal(shop->build_id_bytes, 16);
    assert_memory_equal(shop->build_id, uuid, 16);
    assert_int_equal(library->bias, library->start);
    assert_int_equal(library->end, BASE + 8192 + 4096);
    assert_int_equal(library->build_id_bytes, 0);
    close_import();
}

static void contention_of_a_lock_is_a_wait(void **state)
{
    (void)state;
    begin_database(3);
    lock_row(0x99, STROBE_BTRACE_IOS_MUTEX_RELEASE, 250, 9, 1, 6); /* of another lock */
    lock_row(0x77, STROBE_BTRACE_IOS_MUTEX_RELEASE, 200, 9, 1, 6);
    lock_row(0x77, STROBE_BTRACE_IOS_MUTEX_RELEASE, 305, 9, 1, 7); /* written after the wait has ended */
    lock_row(0x77, STROBE_BTRACE_IOS_MUTEX_CONTENTION, 300, 40, 2, 5);
    lock_row(0x77, STROBE_BTRACE_IOS_MUTEX_CONTENTION, 100, 40, 2, 5);
    lock_row(0x88, STROBE_BTRACE_IOS_WRITE_CONTENTION, 500, 50, 2, 5);
    lock_row(0x88, STROBE_BTRACE_IOS_WRITE_CONTENTION, 400, 50, 2, 5);
    lock_row(0x77, STROBE_BTRACE_IOS_MUTEX_CONTENTION, 900, 60, 3, 5); /* its second row is lost */
    import();
    const struct strobe_reader_thread *t = imported_thread(&session, 5);
    assert_int_equal(t->item_count, 3);
    const struct strobe_record *r = &t->items[0].record;
    assert_int_equal(r->ticks, 1 * MS);
    assert_int_equal(r->duration, 2 * MS);
    assert_int_equal(r->kind, STROBE_KIND_MUTEX);
    assert_int_equal(r->arg, 0x77);
    assert_true(r->flags & STROBE_FLAG_SCOPE);
    assert_string_equal(addresses(r->stack), "100 200");
    assert_int_equal(t->items[1].record.kind, STROBE_KIND_RWLOCK);
    assert_int_equal(t->items[2].record.flags & STROBE_FLAG_SCOPE, 0);
    assert_int_equal(t->woken_count, 1);
    assert_int_equal(session.reader->threads[t->woken[0].waker].tid, 7);
    assert_int_equal(t->woken[0].release_ticks, 3 * MS);
    assert_int_equal(stats.waits, 2);
    assert_int_equal(stats.wakers, 1);
    assert_int_equal(stats.unpaired, 1);
    assert_int_equal(stats.releases_lost, 2);
    close_import();
}

/* In the batch tables a row has all samples of a thread. */
static void samples_kept_in_memory_are_read_from_batches(void **state)
{
    (void)state;
    static const struct {
        const char *table;
        unsigned words;
        uint32_t word[6];
        enum strobe_kind kind;
    } batches[] = {
        {"CPUBatchSampleModel", 3, {100, 50, 2}, STROBE_KIND_ASYNC},
        {"CPUBatchIntervalSampleModel", 5, {200, 60, 2, 250, 70}, STROBE_KIND_ASYNC},
        {"MemBatchSampleModel", 5, {1, 64, 300, 80, 1}, STROBE_KIND_ALLOC},
        {"DateBatchSampleModel", 3, {400, 90, 2}, STROBE_KIND_CLOCK},
        {"DispatchBatchSampleModel", 5, {500, 95, 6, 650, 2}, STROBE_KIND_UNLOCK},
        {"LockBatchSampleModel", 5, {0x77, STROBE_BTRACE_IOS_COND_WAIT << 16, 600, 99, 2}, STROBE_KIND_COND}};
    enum { BATCHES = sizeof batches / sizeof *batches };
    for (unsigned version = 1; version <= 3; version++) {
        begin_database(version);
        for (size_t i = 0; i < BATCHES; i++) {
            char sql[160];
            uint32_t nodes[16] = {0};
            size_t words = batches[i].words + (version >= 2 ? 2 : 0);
            memcpy(nodes, batches[i].word, sizeof batches[i].word);
            memcpy(nodes + words, batches[i].word, sizeof batches[i].word);
            snprintf(sql, sizeof sql, "CREATE TABLE %s (trace_id INTEGER, tid INTEGER, nodes BLOB)", batches[i].table);
            run(sql);
            snprintf(sql, sizeof sql, "INSERT INTO %s VALUES (0, 5, ?1)", batches[i].table);
            put_blob(sql, nodes, 8 * words);
        }
        import();
        const struct strobe_reader_thread *t = imported_thread(&session, 5);
        assert_int_equal(t->item_count, 2 * BATCHES);
        for (size_t i = 0; i < BATCHES; i++) {
            assert_int_equal(t->items[2 * i].record.kind, batches[i].kind);
            assert_int_equal(t->items[2 * i].record.ticks, (i + 1) * (version >= 3 ? MS : MS / 10));
        }
        assert_int_equal(stats.damaged, 0);
        close_import();
    }
}

static void a_freed_block_is_a_free(void **state)
{
    (void)state;
    begin_database(3);
    run("CREATE TABLE MemSampleModel (trace_id INTEGER, tid INTEGER, addr INTEGER, size INTEGER, time INTEGER,"
        " cpu_time INTEGER, stack_id INTEGER);"
        "INSERT INTO MemSampleModel VALUES (0, 5, 1, 16, 100, 9, 1), (0, 5, 1, 0, 200, 9, 1)");
    import();
    const struct strobe_reader_thread *t = imported_thread(&session, 5);
    assert_int_equal(t->items[0].record.kind, STROBE_KIND_ALLOC);
    assert_int_equal(t->items[1].record.kind, STROBE_KIND_FREE);
    assert_string_equal(addresses(t->items[0].record.stack), "100"); /* a return address, at a hook */
    close_import();
}

static void the_last_trace_or_the_selected_one_is_read(void **state)
{
    (void)state;
    for (int32_t trace = STROBE_BTRACE_IOS_LAST_TRACE; trace <= 2; trace++) {
        begin_database(3);
        run("INSERT INTO BTraceModel VALUES (1, 3, 0, 'second');"
            "INSERT INTO CallStackTableModel SELECT 1, nodes FROM CallStackTableModel;"
            "INSERT INTO CPUSampleModel VALUES (0, 5, 100, 50, 2, 0, 0), (1, 8, 100, 50, 2, 0, 0), (1, 9, 9, 9, 2, 0, "
            "0)");
        if (trace == 2) {
            assert_int_equal(read_database(trace), STROBE_BAD_INPUT);
            assert_string_equal(error.text, "trace 2 is not in the database, which has 2");
            strobe_sampled_close(sampled);
            continue;
        }
        assert_int_equal(read_database(trace), STROBE_OK);
        imported_open(&session, sampled);
        assert_int_equal(stats.trace, trace == 0 ? 0 : 1);
        assert_int_equal(stats.traces, 2);
        assert_int_equal(stats.rows, trace == 0 ? 1 : 2);
        if (trace)
            assert_true(imported_thread(&session, 8)->is_main); /* the lowest, since it is not recorded */
        close_import();
    }
}

static void damaged_rows_are_left_out(void **state)
{
    (void)state;
    begin_database(3);
    run("INSERT INTO CPUSampleModel VALUES (0, 5, 100, 50, 2, 0, 0), (0, 5, -1, 50, 2, 0, 0), (0, 'x', 1, 5, 2, 0, 0),"
        " (0, 5, 5000000000, 50, 2, 0, 0), (0, 5, 200, 50, 99, 0, 0), (0, NULL, 1, 1, 1, 0, 0);"
        "INSERT INTO CPUIntervalSampleModel VALUES (0, 5, 500, 400, 100, 90, 3, 0, 0);"
        "INSERT INTO LockSampleModel VALUES (0, 'text'), (0, x'00112233')");
    import();
    assert_int_equal(stats.rows, 3);
    assert_int_equal(stats.damaged, 4 + 2);
    assert_int_equal(stats.stackless, 1);
    assert_int_equal(stats.backwards, 1);
    assert_int_equal(imported_thread(&session, 5)->item_count, 3);
    close_import();
}

/* Nodes that are each other's callers, and a node without its caller. */
static void a_stack_without_an_end_is_none(void **state)
{
    (void)state;
    struct {
        uint32_t id, parent;
        uint64_t address;
    } nodes[] = {{10, 11, 1}, {11, 10, 2}, {12, 99, 3}, {13, 0, 0}};
    begin_database(3);
    put_blob("INSERT INTO CallStackTableModel VALUES (0, ?1)", nodes, sizeof nodes);
    run("INSERT INTO CPUSampleModel VALUES (0, 5, 100, 50, 10, 0, 0), (0, 5, 200, 50, 12, 0, 0), (0, 5, 300, 50, 13, "
        "0, 0)");
    import();
    assert_int_equal(stats.stackless, 3);
    assert_int_equal(imported_thread(&session, 5)->items[0].record.stack, 0);
    close_import();
}

static void views_and_other_columns_are_not_read(void **state)
{
    (void)state;
    begin_database(3);
    run("DROP TABLE CPUIntervalSampleModel;"
        "CREATE VIEW CPUIntervalSampleModel AS WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT "
        "0 AS "
        "trace_id, 5 AS tid, n AS start_time, n AS end_time, 1 AS start_cpu_time, 1 AS end_cpu_time, 2 AS stack_id "
        "FROM r;"
        "DROP TABLE LockSampleModel; CREATE TABLE LockSampleModel (trace_id INTEGER, other BLOB);"
        "CREATE VIRTUAL TABLE DateSampleModel USING fts5(trace_id, tid, time, cpu_time, stack_id);"
        "INSERT INTO DateSampleModel VALUES (0, 5, 1, 1, 2);"
        "INSERT INTO CPUSampleModel VALUES (0, 5, 100, 50, 2, 0, 0)");
    import();
    assert_int_equal(stats.rows, 1);
    assert_int_equal(stats.damaged_tables, 1);
    close_import();
}

static void other_files_are_refused(void **state)
{
    (void)state;
    struct strobe_btrace_ios_options options = {STROBE_BTRACE_IOS_LAST_TRACE};
    static const char text[200] = "SQLite format 4";
    assert_int_equal(strobe_sampled_open(&sampled), STROBE_OK);
    assert_int_equal(strobe_btrace_ios_read(text, sizeof text, &options, sampled, &stats, &error), STROBE_BAD_INPUT);
    assert_string_equal(error.text, "byte 0: expected the header of an SQLite database, 100 bytes");
    assert_int_equal(strobe_btrace_ios_read("SQLite format 3", 16, &options, sampled, &stats, &error),
                     STROBE_BAD_INPUT);
    strobe_sampled_close(sampled);
    assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
    run("CREATE TABLE t (x)");
    assert_int_equal(read_database(STROBE_BTRACE_IOS_LAST_TRACE), STROBE_BAD_INPUT);
    assert_non_null(strstr(error.text, "expected a database of btrace 3.0 for iOS"));
    strobe_sampled_close(sampled);
    begin_database(4);
    assert_int_equal(read_database(STROBE_BTRACE_IOS_LAST_TRACE), STROBE_BAD_VERSION);
    assert_string_equal(error.text, "table BTraceModel: version 4, expected 1 to 3");
    strobe_sampled_close(sampled);
}

/* A file in the mode of write-ahead logs, as the collector leaves it, and such a file that is cut or has wrong pages.
 */
static void a_damaged_file_is_read_in_part(void **state)
{
    (void)state;
    struct strobe_btrace_ios_options options = {STROBE_BTRACE_IOS_LAST_TRACE};
    sqlite3_int64 bytes;
    begin_database(3);
    run("WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 2000) INSERT INTO CPUSampleModel "
        "SELECT 0, 5, n, n, 2, 0, 0 FROM r");
    unsigned char *file = sqlite3_serialize(db, "main", &bytes, 0);
    assert_non_null(file);
    sqlite3_close(db);
    file[18] = file[19] = 2;
    uint64_t whole = 0;
    for (size_t cut = 0; cut < 3; cut++) {
        if (cut == 2)
            memset(file + bytes / 2, 0xff, 4096);
        assert_int_equal(strobe_sampled_open(&sampled), STROBE_OK);
        assert_int_equal(
            strobe_btrace_ios_read(file, (size_t)bytes - (cut == 1 ? 8192 : 0), &options, sampled, &stats, &error),
            STROBE_OK);
        if (!cut)
            assert_int_equal(whole = stats.rows, 2000);
        else
            assert_true(stats.rows > 100 && stats.rows < whole && stats.damaged_tables == 1);
        strobe_sampled_close(sampled);
    }
    sqlite3_free(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_of_the_sampler_have_times_and_stacks),
        cmocka_unit_test(images_are_those_of_the_capture),
        cmocka_unit_test(contention_of_a_lock_is_a_wait),
        cmocka_unit_test(samples_kept_in_memory_are_read_from_batches),
        cmocka_unit_test(a_freed_block_is_a_free),
        cmocka_unit_test(the_last_trace_or_the_selected_one_is_read),
        cmocka_unit_test(damaged_rows_are_left_out),
        cmocka_unit_test(a_stack_without_an_end_is_none),
        cmocka_unit_test(views_and_other_columns_are_not_read),
        cmocka_unit_test(other_files_are_refused),
        cmocka_unit_test(a_damaged_file_is_read_in_part),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
