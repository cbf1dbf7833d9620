# Pages of HTML, and `strobe open`. Sourced by run.sh. Needs good.strobe and good.perfetto-trace.

if wanted page; then
    run "$strobe" report --html report.html good.strobe
    [[ $status == 0 && ! -s out && ! -s err && $(head -c 15 report.html) == '<!DOCTYPE html>' ]] && verdict page ||
        verdict page "status $status: $(<err)"
    run "$strobe" report --html - --top 300 good.strobe
    cmp -s out report.html && verdict page_on_standard_output || verdict page_on_standard_output 'another page'
    run "$strobe" report --html report.html -f --from 1ms --to 2ms good.strobe
    grep -q '"begin_ns":1000000,"end_ns":2000000' report.html && verdict page_of_a_part ||
        verdict page_of_a_part "$(<err)"
    run "$strobe" diff --html both.html good.strobe good.strobe
    [[ $status == 0 && -s out && -s both.html ]] && verdict page_of_a_comparison ||
        verdict page_of_a_comparison "status $status: $(<err)"
fi

# opens NAME: starts `strobe open` of the trace, and sets opened, its address, and url, that of the trace.
opens() {
    "$strobe" open --no-browser --port 0 good.perfetto-trace >"$1.address" 2>"$1.err" &
    opened=$!
    for ((t = 0; t < 2000 && $(wc -l <"$1.address") == 0; t++)); do sleep 0.01; done
    url=$(sed -n 's/.*?url=\(.*\)&referrer.*/\1/p' "$1.address")
}

# asks STATUS CURL-ARGUMENT...: a request is answered with this status.
asks() {
    local got
    got=$(curl -s --max-time 20 -o answer -D head -w '%{http_code}' "${@:2}")
    [[ $got == "$1" ]] && verdict "open_answers_$1" || verdict "open_answers_$1" "$got to ${*:2}"
}

if wanted open && command -v curl >/dev/null; then
    opens served
    exec 9<>"/dev/tcp/127.0.0.1/$(sed 's|.*:\([0-9]*\)/.*|\1|' <<<"$url")" # a client that sends nothing
    asks 404 "${url%/*}/other"
    asks 404 "${url%/*}/"
    asks 405 -X POST -d x "$url"
    asks 403 -H 'Host: strobe.example:9001' "$url"
    asks 204 -X OPTIONS "$url"
    grep -qi '^access-control-allow-private-network: true' head && verdict open_answers_preflights ||
        verdict open_answers_preflights "$(<head)"
    asks 200 "$url"
    cmp -s answer good.perfetto-trace && verdict open_serves_the_trace || verdict open_serves_the_trace 'another file'
    grep -qi '^access-control-allow-origin: https://ui.perfetto.dev.$' head && verdict open_allows_the_ui_only ||
        verdict open_allows_the_ui_only "$(<head)"
    wait $opened
    status=$?
    exec 9>&-
    [[ $status == 0 && ! -s served.err ]] && verdict open_ends_when_it_was_fetched ||
        verdict open_ends_when_it_was_fetched "status $status: $(<served.err)"
    port=$(sed 's|.*:\([0-9]*\)/.*|\1|' <<<"$url")
    [[ $(<served.address) == "https://ui.perfetto.dev/#!/?url=http://127.0.0.1:$port/good.perfetto-trace&"* ]] &&
        verdict open_prints_the_address || verdict open_prints_the_address "$(<served.address)"

    opens ended
    kill -INT $opened
    # A shell starts a background command with INT ignored, so this is TERM's test there.
    kill -TERM $opened
    wait $opened
    status=$?
    ((status == 128 + 15 || status == 128 + 2)) && verdict open_ends_by_a_signal ||
        verdict open_ends_by_a_signal "$status"

    # A browser is started with the address.
    mkdir -p browser && printf '#!/bin/sh\necho "$1" >"%s/browser/got"\n' "$work" >browser/xdg-open
    chmod +x browser/xdg-open
    PATH=$work/browser:$PATH "$strobe" open --port 0 good.perfetto-trace >started 2>err &
    opened=$!
    for ((t = 0; t < 2000; t++)); do [[ -s browser/got ]] && break || sleep 0.01; done
    kill $opened
    wait $opened
    [[ -s browser/got ]] && cmp -s browser/got started && verdict open_starts_the_browser ||
        verdict open_starts_the_browser "$(<err)"
fi
