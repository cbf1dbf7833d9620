# SQL for sqlite3, in memory:  query.sh ROWS PREFIX...   (PREFIX runs sqlite3)
rows=$1
shift
"$@" sqlite3 :memory: <<SQL
create table t(a integer primary key, b text, c integer);
with recursive n(i) as (select 1 union all select i + 1 from n where i < $rows)
insert into t select i, 'word ' || (i * 7919 % 10007), i * 31 % 977 from n;
create index by_b on t(b);
select count(*), sum(c), max(b) from t;
select c % 10, count(*), min(b) from t group by 1 order by 2 desc, 1 limit 5;
select count(*) from t x join t y on x.b = y.b where x.c < 100;
select hex(substr(group_concat(b), 1, 40)) from (select b from t order by c, b limit 2000);
SQL
