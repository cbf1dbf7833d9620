# An nginx server, one process, under a fixed load of ab's:  nginx.sh REQUESTS PREFIX...   (PREFIX runs the server)
# Prints what ab says of the requests that it completed; requests per second go to $RATE.
set -eu
requests=$1
shift
mkdir -p logs html
for ((i = 0; i < 400; i++)); do
    echo "line $i of a page that is worth compressing"
done >html/index.html
port=$((20000 + $$ % 20000))
cat >nginx.conf <<CONF
daemon off;
master_process off;
pid $PWD/nginx.pid;
error_log $PWD/error.log;
events { worker_connections 256; }
http {
    access_log $PWD/access.log;
    client_body_temp_path $PWD/t1; proxy_temp_path $PWD/t2; fastcgi_temp_path $PWD/t3;
    uwsgi_temp_path $PWD/t4; scgi_temp_path $PWD/t5;
    gzip on; gzip_types text/plain text/html; gzip_min_length 100; gzip_http_version 1.0;
    server { listen 127.0.0.1:$port; root $PWD/html; }
}
CONF
"$@" nginx -e "$PWD/error.log" -p "$PWD" -c "$PWD/nginx.conf" >nginx.out 2>&1 &
server=$!
for ((i = 0; i < 200; i++)); do
    [[ -s nginx.pid ]] && (: <>"/dev/tcp/127.0.0.1/$port") 2>/dev/null && break
    sleep 0.05
done
ab -q -k -c 8 -n "$requests" -H 'Accept-Encoding: gzip' "http://127.0.0.1:$port/index.html" >ab.out
grep -E '^(Complete requests|Failed requests|Total transferred|HTML transferred)' ab.out
kill -QUIT "$(cat nginx.pid)"
status=0
wait $server || status=$?
awk '/^Requests per second/ { print $4 }' ab.out >"$RATE"
exit $status
