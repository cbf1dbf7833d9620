# A redis server under a fixed load:  redis.sh REQUESTS PREFIX...   (PREFIX runs the server)
# Prints the keys' state at the end; requests per second go to $RATE.
set -eu
requests=$1
shift
socket=$PWD/redis.sock
"$@" redis-server --port 0 --unixsocket "$socket" --save '' --appendonly no --daemonize no --loglevel warning \
    --dir "$PWD" >redis.log 2>&1 &
server=$!
for ((i = 0; i < 200; i++)); do
    redis-cli -s "$socket" ping >/dev/null 2>&1 && break
    sleep 0.05
done
redis-benchmark -s "$socket" -n "$requests" -r 1000 -c 20 -P 8 --csv -t set,get,lpush,lrange_100 >redis.csv
redis-cli -s "$socket" eval "return redis.call('llen', KEYS[1])" 1 mylist
redis-cli -s "$socket" shutdown nosave || true
status=0
wait $server || status=$?
tr -d '"' <redis.csv | awk -F, 'NR > 1 && $2 > 0 { s += 1 / $2; n++ } END { if (n) print n / s }' >"$RATE"
exit $status
