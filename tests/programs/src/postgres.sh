# A PostgreSQL server under a fixed load of pgbench's:  postgres.sh TRANSACTIONS PREFIX...   (PREFIX runs the server)
# Prints a sum over the tables; transactions per second go to $RATE.
set -eu
transactions=$1
shift
bin=$(printf '%s\n' /usr/lib/postgresql/*/bin | tail -n 1)
export PGHOST=$PWD PGDATABASE=postgres PGUSER=strobe
"$bin/initdb" -D data -U strobe -A trust --no-sync --no-locale -E UTF8 >initdb.out 2>&1
"$@" "$bin/postgres" -D data -k "$PWD" -c listen_addresses= -c fsync=off -c autovacuum=off -c shared_buffers=16MB \
    -c log_destination=stderr >postgres.log 2>&1 &
server=$!
for ((i = 0; i < 400; i++)); do
    "$bin/pg_isready" -q && break
    sleep 0.05
done
"$bin/pgbench" -q -i -s 1 >pgbench-i.out 2>&1
"$bin/pgbench" -n -c 2 -j 1 -t $((transactions / 2)) --random-seed=7 >pgbench.out 2>&1
"$bin/psql" -Atc 'select count(*) from pgbench_history'
"$bin/psql" -Atc 'select (select sum(delta) from pgbench_history) = (select sum(abalance) from pgbench_accounts)'
kill -INT "$(head -n 1 data/postmaster.pid)"
status=0
wait $server || status=$?
awk '/^tps/ { print $3 }' pgbench.out >"$RATE"
exit $status
