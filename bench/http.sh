#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The HTTP door beside nginx (Debian's, with dav-ext, two workers): PUT and GET of a large file, GET of a small one by eight
# connections, PROPFIND of 2,000 files; and what slow clients cost the others.
#
# usage: bench/http.sh [BUILD]     environment: RUNS (5), MIB (256), PLACE (BUILD/bench-space), CONNECTIONS (1000)
#
# Needs curl, wrk, nginx and libnginx-mod-http-dav-ext.  Prints medians, and ours over nginx's of the same run.
set -euo pipefail
build=$(cd "${1:-build}" && pwd)
runs=${RUNS:-5}
mib=${MIB:-256}
connections=${CONNECTIONS:-1000}
place=${PLACE:-$build/bench-space}
for tool in curl wrk nginx; do
    command -v $tool >/dev/null || {
        echo "$tool is missing (Debian: curl wrk nginx libnginx-mod-http-dav-ext)" >&2
        exit 1
    }
done
ulimit -n 8192
space=$(mkdir -p "$place" && cd "$place" && mktemp -d http.XXXXXX)
space=$(cd "$place/$space" && pwd)
trap 'kill $(jobs -p) 2>/dev/null; wait 2>/dev/null; rm -rf "$space"' EXIT

ours=http://127.0.0.1:18117
peer=http://127.0.0.1:18118
"$build/ashlar" -s "$space/store" serve --mongo 127.0.0.1:18116 --http 127.0.0.1:18117 --max-connections 4000 >"$space/out" 2>"$space/log" &
server=$!
mkdir -p "$space/data" "$space/tmp"
chmod 777 "$space" "$space/data" "$space/tmp"
cat >"$space/nginx.conf" <<EOF
load_module modules/ngx_http_dav_ext_module.so;
daemon off; worker_processes 2; pid $space/pid; error_log $space/error;
events { worker_connections 4096; }
http { access_log off; sendfile on; client_max_body_size 0; client_body_temp_path $space/tmp; keepalive_requests 100000000;
server { listen 127.0.0.1:18118; root $space/data; location / { dav_methods PUT DELETE MKCOL COPY MOVE; dav_ext_methods PROPFIND OPTIONS; } } }
EOF
nginx -p /usr/share/nginx -c "$space/nginx.conf" 2>/dev/null &
until curl -s -o /dev/null $ours/ && curl -s -o /dev/null $peer/; do sleep 0.1; done

median() { sort -g | awk '{ a[NR] = $1 } END { print a[int((NR + 1) / 2)] }'; }
row() { # NAME UNIT OURS PEER
    awk -v n="$1" -v u="$2" -v o="$3" -v p="$4" 'BEGIN { printf "%-34s %12s %-6s %12s   %.2f\n", n, o, u, p, o / p }'
}
both() { # NAME UNIT FUNCTION: a figure of each, in turns
    : >"$space/o"
    : >"$space/p"
    for run in $(seq "$runs"); do
        "$3" $ours "$run" >>"$space/o"
        "$3" $peer "$run" >>"$space/p"
    done
    row "$1" "$2" "$(median <"$space/o")" "$(median <"$space/p")"
}

# Other bytes each time, since equal contents are kept once here.
put() {
    dd if=/dev/urandom of="$space/large" bs=1M count="$mib" status=none
    curl -s -o /dev/null -w "%{time_total}\n" -T "$space/large" "$1/large" | awk -v m="$mib" '{ print m / $1 }'
}
get() { curl -s -o /dev/null -w '%{time_total}\n' "$1/large" | awk -v m="$mib" '{ print m / $1 }'; }
small() { wrk -t2 -c8 -d3 "$1/small" | awk '/Requests.sec/ { print $2 }'; }
six='<propfind xmlns="DAV:"><prop><resourcetype/><getcontentlength/><getlastmodified/><getetag/><displayname/><getcontenttype/></prop></propfind>'
names() { curl -s -o /dev/null -w '%{time_total}\n' -X PROPFIND -H 'Depth: 1' --data "$six" "$1/many/" | awk '{ print 1000 * $1 }'; }

head -c 4096 /dev/urandom >"$space/small"
for u in $ours $peer; do
    curl -s -T "$space/small" $u/small
    curl -s -o /dev/null -X MKCOL $u/many/
    python3 - $u <<'PY'
import http.client, sys, urllib.parse
u = urllib.parse.urlparse(sys.argv[1])
c = http.client.HTTPConnection(u.hostname, u.port)
for i in range(2000):
    c.request("PUT", f"/many/f{i:04}.txt", b"x")
    c.getresponse().read()
PY
done
printf '%-34s %12s %-6s %12s   %s\n' "" Ashlar "" nginx "Ashlar/nginx"
both "PUT $mib MiB (ours durable, digest)" MiB/s put
both "GET $mib MiB" MiB/s get
both "GET 4 KiB, 8 connections" /s small
both "PROPFIND of 2,000, 6 properties" ms names

# Half of so many connections send a byte of a request's head now and then, or take nothing of a long answer.
p99() { wrk -t2 -c8 -d5 --latency "$ours/small" | awk '/99%/ { print $2 }'; }
alone=$(p99)
python3 - "$connections" 18117 <<'PY' &
import socket, sys, time
slow = []
for i in range(int(sys.argv[1]) // 2):
    s = socket.create_connection(("127.0.0.1", int(sys.argv[2])))
    s.sendall(b"GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n" if i % 2 else b"G")
    slow.append(s)
idle = [socket.create_connection(("127.0.0.1", int(sys.argv[2]))) for _ in range(int(sys.argv[1]) // 2)]
time.sleep(60)
PY
sleep 2
echo "p99 of GET 4 KiB, 8 connections: $alone alone, $(p99) beside $connections connections, half of them slow"
awk '/^(VmHWM|RssAnon)/' "/proc/$server/status"
