#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What contrib/ has for its neighbours is what they take: systemd's units, and proxies with a server behind them.
. "$(dirname "$0")/../lib.sh"
contrib=$(cd "$(dirname "$0")/../../contrib" && pwd)
python=python3

case_settings() {
    "$ASHLAR" serve --config "$contrib/ashlar.conf" --check-config
}

case_units() {
    command -v systemd-analyze >/dev/null || skip 'no systemd-analyze'
    cp "$contrib/systemd/"*.service "$contrib/systemd/"*.socket "$scratch/"
    sed -i "s|/usr/local/bin/ashlar|$ASHLAR|" "$scratch/ashlar.service"
    systemd-analyze verify --man=no "$scratch/ashlar.service" "$scratch/ashlar-http.socket" >"$scratch/words" 2>&1 || {
        cat "$scratch/words" >&2
        return 1
    }
    # A key that systemd does not know is a warning only.
    fails grep -E 'ashlar(-http)?\.(service|socket):[0-9]+:' "$scratch/words"
}

case_an_account() {
    command -v systemd-sysusers >/dev/null || skip 'no systemd-sysusers'
    mkdir -p "$scratch/root/etc"
    systemd-sysusers --root="$scratch/root" "$contrib/systemd/ashlar.sysusers" >"$scratch/words" 2>&1 || {
        cat "$scratch/words" >&2
        return 1
    }
    grep -q '^ashlar:.*:/var/lib/ashlar:' "$scratch/root/etc/passwd"
}

# nginx and the server behind it: $proxy is where clients come in.
start_nginx() {
    command -v nginx >/dev/null || skip 'no nginx'
    command -v curl >/dev/null || skip 'no curl'
    start_server "$scratch/behind" --http 127.0.0.1:0 --http-host files.example
    behind=$(sed -n 's|^http://\(.*\)/$|\1|p' "$scratch/server.out")
    port=$($python -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    proxy=http://files.example:$port
    mkdir -p "$scratch/nginx"
    printf 'ann:{PLAIN}secret\n' >"$scratch/nginx/htpasswd"
    chmod 755 "$scratch" "$scratch/nginx"
    sed "s|/etc/nginx/ashlar.htpasswd|$scratch/nginx/htpasswd|; s|127\.0\.0\.1:8080|$behind|; s|^    # location|    location|" \
        "$contrib/nginx.conf" >"$scratch/nginx/location"
    grep -q '^    location ~' "$scratch/nginx/location"
    grep -q "$behind" "$scratch/nginx/location"
    for kind in client_body proxy fastcgi uwsgi scgi; do
        echo "${kind}_temp_path $scratch/nginx/$kind;"
    done >"$scratch/nginx/folders"
    printf 'daemon off; master_process off; pid %s/pid; error_log %s/error; events {} http { access_log off; include %s/folders; %s }' \
        "$scratch/nginx" "$scratch/nginx" "$scratch/nginx" \
        "server { listen 127.0.0.1:$port; include $scratch/nginx/location; }" >"$scratch/nginx/conf"
    nginx -t -c "$scratch/nginx/conf" >"$scratch/words" 2>&1 || {
        cat "$scratch/words" >&2
        return 1
    }
    nginx -c "$scratch/nginx/conf" >"$scratch/words" 2>&1 &
    nginx_pid=$!
    echo $nginx_pid >>"$scratch/pids"
    tries=0
    until ask "$proxy/" -o /dev/null; do
        tries=$((tries + 1))
        [ $tries -lt 200 ] || {
            cat "$scratch/nginx/error" "$scratch/words" >&2
            return 1
        }
        sleep 0.05
    done
}

# ask URL [ARGS…]: as a client of the proxy's, to whom it is files.example.
ask() {
    curl -sf -u ann:secret --resolve "files.example:$port:127.0.0.1" "$@"
}

case_behind_nginx() {
    start_nginx
    [ "$(curl -s -o /dev/null -w '%{http_code}' --resolve "files.example:$port:127.0.0.1" "$proxy/")" = 401 ]
    # Larger than what a proxy takes by default, and nothing of it is kept there.
    head -c 20000000 /dev/urandom >"$scratch/large"
    ask -T "$scratch/large" "$proxy/large"
    ask "$proxy/large" | cmp - "$scratch/large"
    [ "$(ask -r 5-9 "$proxy/large" | wc -c)" = 5 ]
    # A browser's own page, and somebody else's.
    ask -X DELETE -H "Origin: http://files.example:$port" -H 'Sec-Fetch-Site: same-origin' -o /dev/null "$proxy/nothing" || [ $? = 22 ]
    ask -T "$0" -H "Origin: http://files.example:$port" "$proxy/own"
    fails ask -T "$0" -H 'Origin: http://other.example' "$proxy/foreign"
    # The address outside, as a client behind TLS has it.
    ask -X MOVE -H "Destination: https://files.example:$port/moved" "$proxy/own"
    ask "$proxy/moved" | cmp - "$0"
    fails ask -X MOVE -H "Destination: https://other.example/moved" "$proxy/moved"
    # What happens is told while the answer goes on.
    (ask -N "$proxy/.ashlar/events/" >"$scratch/events" || true) &
    events_pid=$!
    echo $events_pid >>"$scratch/pids"
    tries=0
    until grep -q '^data:.*told' "$scratch/events"; do
        ask -T "$0" -o /dev/null "$proxy/told-$tries" # the same again would be no change
        tries=$((tries + 1))
        [ $tries -lt 200 ]
        sleep 0.05
    done
    kill $events_pid $nginx_pid
    stop_server
}

# Who has a link needs no password, and gets no further.
case_links_behind_nginx() {
    start_nginx
    printf secret >"$scratch/secret"
    ask -X MKCOL "$proxy/in"
    ask -T "$scratch/secret" "$proxy/secret"
    ask -T "$0" "$proxy/in/file"
    guest() {
        curl -s --path-as-is -o "$scratch/got" -w '%{http_code}' --resolve "files.example:$port:127.0.0.1" "$@"
    }
    link=$("$ASHLAR" -q -s "$scratch/behind" share --url "$proxy" /in)
    [ "$(guest "$link/file")" = 200 ]
    cmp "$scratch/got" "$0"
    [ "$(guest "$link/")" = 200 ]
    [ "$(guest "$proxy$(sed -n 's|.*href="\(/\.ashlar/assets/page\.css[^"]*\)".*|\1|p' "$scratch/got")")" = 200 ]
    for way in "$proxy/secret" "$link/../../../secret" "$link/..%2f..%2f..%2fsecret" "$link/%2e%2e/%2e%2e/%2e%2e/secret" \
        "$proxy/.ashlar/share/../tree/list?path=/" "$proxy/.ashlar/assets/..%2ftree/list?path=/" "$proxy/.ashlar/tree/list?path=/"; do
        got=$(guest "$way")
        case $got in 400 | 401 | 404) ;; *) echo "# $got: $way" >&2 && return 1 ;; esac
        fails grep -q secret "$scratch/got"
    done
    # A browser sends the form as from here.
    link=$("$ASHLAR" -q -s "$scratch/behind" share --upload --url "$proxy" /in)
    [ "$(guest -F "file=@$scratch/secret" -H "Origin: http://files.example:$port" "$link")" = 201 ]
    [ "$(guest -F "file=@$scratch/secret" -H 'Origin: http://other.example' "$link")" = 403 ]
    [ "$(ask "$proxy/in/secret")" = secret ]
    kill $nginx_pid
    stop_server
}

case_caddy() {
    command -v caddy >/dev/null || skip 'no caddy'
    XDG_DATA_HOME=$scratch XDG_CONFIG_HOME=$scratch caddy validate --adapter caddyfile --config "$contrib/Caddyfile" >"$scratch/words" 2>&1 || {
        cat "$scratch/words" >&2
        return 1
    }
}

run_cases
