COPY (
    SELECT * FROM read_json('captures.jsonl', format = 'newline_delimited', columns = {
        kind: 'VARCHAR', capture: 'VARCHAR', process: 'VARCHAR', app_version: 'VARCHAR', device: 'VARCHAR',
        thread: 'VARCHAR', is_main: 'BOOLEAN', name: 'VARCHAR', class: 'VARCHAR', path: 'VARCHAR[]',
        begin_ns: 'BIGINT', duration_ns: 'BIGINT', self_ns: 'BIGINT', finding: 'VARCHAR', numbers: 'JSON'})
) TO 'captures.parquet' (FORMAT parquet);

-- The 95th percentile of the cold start, by version.
COPY (
    SELECT app_version, count(*) AS starts, quantile_cont((numbers->>'cold_ms')::DOUBLE, 0.95) AS cold_ms
    FROM 'captures.parquet' WHERE kind = 'finding' AND finding = 'startup'
    GROUP BY app_version ORDER BY app_version
) TO 'cold_start.csv';

-- The methods whose time for each capture grew most.
COPY (
    WITH counted AS (SELECT app_version, count(*) AS n FROM 'captures.parquet' WHERE kind = 'capture' GROUP BY ALL),
    methods AS (
        SELECT name, app_version, sum(self_ns) / any_value(n) / 1e6 AS ms
        FROM 'captures.parquet' JOIN counted USING (app_version)
        WHERE kind = 'slice' AND class = 'function' GROUP BY ALL)
    SELECT name, coalesce(old.ms, 0) AS old_ms, new.ms AS new_ms, new.ms - coalesce(old.ms, 0) AS grown_ms
    FROM (FROM methods WHERE app_version = '1.1') AS new
    LEFT JOIN (FROM methods WHERE app_version = '1.0') AS old USING (name)
    ORDER BY grown_ms DESC LIMIT 3
) TO 'grown.csv';
