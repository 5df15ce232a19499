#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The HTTP door beside nginx (with dav-ext), lighttpd and Apache, as Debian has them: PUT and GET of a large file, GET of a small one
# by eight connections, PROPFIND of 2,000 files; what 1,000 connections cost, half of them slow, and memory after all that.
#
# usage: bench/http.sh [BUILD]     environment: RUNS (5), MIB (256), PLACE (BUILD/bench-space), CONNECTIONS (1000)
#
# Needs Debian's curl, wrk, nginx, libnginx-mod-http-dav-ext, lighttpd, lighttpd-mod-webdav and apache2; a peer that is not there is left
# out.  Prints medians, and ours over the best peer's of the same run: above 1 is better for rates, below 1 for times.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "${1:-build}" && pwd)
runs=${RUNS:-5}
mib=${MIB:-256}
connections=${CONNECTIONS:-1000}
place=${PLACE:-$build/bench-space}
for tool in curl wrk; do
    command -v $tool >/dev/null || {
        echo "$tool is missing" >&2
        exit 1
    }
done
ulimit -n 8192
mkdir -p "$place"
space=$(cd "$place" && mktemp -d "$PWD/http.XXXXXX")
trap 'kill $(jobs -p) 2>/dev/null; wait 2>/dev/null; rm -rf "$space"' EXIT
mkdir -p "$space"/{tmp,nginx,lighttpd,apache}
chmod 777 "$space" "$space"/*

declare -A port=([ashlar]=18117 [nginx]=18118 [lighttpd]=18119 [apache]=18120)
names=ashlar
"$build/ashlar" -s "$space/store" serve --mongo 127.0.0.1:18116 --http 127.0.0.1:18117 --max-connections 4000 >"$space/out" 2>"$space/log" &
server=$!

# Each with as many processes as there are processors, files by sendfile, connections kept, nothing in a log.
if command -v nginx >/dev/null; then
    cat >"$space/nginx.conf" <<EOF
load_module modules/ngx_http_dav_ext_module.so;
daemon off; worker_processes auto; pid $space/nginx.pid; error_log $space/nginx.error;
events { worker_connections 4096; }
http { access_log off; sendfile on; client_max_body_size 0; client_body_temp_path $space/tmp; keepalive_requests 100000000;
server { listen 127.0.0.1:${port[nginx]}; root $space/nginx; location / { dav_methods PUT DELETE MKCOL COPY MOVE; dav_ext_methods PROPFIND OPTIONS; } } }
EOF
    nginx -p /usr/share/nginx -c "$space/nginx.conf" 2>/dev/null &
    names="$names nginx"
fi
if command -v lighttpd >/dev/null; then
    cat >"$space/lighttpd.conf" <<EOF
server.modules = ( "mod_webdav" )
server.document-root = "$space/lighttpd"
server.bind = "127.0.0.1"
server.port = ${port[lighttpd]}
server.upload-dirs = ( "$space/tmp" )
server.max-connections = 4096
server.max-fds = 8192
server.max-keep-alive-requests = 0
server.max-worker = $(nproc)
webdav.activate = "enable"
EOF
    lighttpd -D -f "$space/lighttpd.conf" >"$space/lighttpd.log" 2>&1 &
    names="$names lighttpd"
fi
if command -v apache2 >/dev/null; then
    modules=/usr/lib/apache2/modules
    cat >"$space/apache.conf" <<EOF
ServerRoot $space
ServerName localhost
PidFile $space/apache.pid
ErrorLog $space/apache.error
Listen 127.0.0.1:${port[apache]}
LoadModule mpm_event_module $modules/mod_mpm_event.so
LoadModule authz_core_module $modules/mod_authz_core.so
LoadModule dav_module $modules/mod_dav.so
LoadModule dav_fs_module $modules/mod_dav_fs.so
DAVLockDB $space/apache.locks
ThreadsPerChild 64
MaxRequestWorkers 4096
ServerLimit 64
MaxKeepAliveRequests 0
EnableSendfile On
User www-data
Group www-data
DocumentRoot $space/apache
<Directory $space/apache>
    Dav On
    Require all granted
</Directory>
EOF
    apache2 -D FOREGROUND -f "$space/apache.conf" >"$space/apache.log" 2>&1 &
    names="$names apache"
fi
for name in $names; do
    tries=0
    until curl -s -o /dev/null "http://127.0.0.1:${port[$name]}/"; do
        tries=$((tries + 1))
        [ $tries -lt 100 ] || {
            echo "$name does not start" >&2
            exit 1
        }
        sleep 0.1
    done
done

median() { sort -g | awk '{ a[NR] = $1 } END { print a[int((NR + 1) / 2)] }'; }
compare() { # WHAT UNIT high|low FUNCTION: each in turns; which is better
    local what=$1 unit=$2 better=$3 function=$4 name
    rm -f "$space"/figure.*
    for run in $(seq "$runs"); do
        for name in $names; do "$function" "http://127.0.0.1:${port[$name]}" "$run" >>"$space/figure.$name"; done
    done
    printf '%-30s %-6s' "$what" "$unit"
    for name in $names; do printf ' %10.1f' "$(median <"$space/figure.$name")"; done
    for name in $names; do median <"$space/figure.$name"; done |
        awk -v better="$better" 'NR == 1 { own = $1; next }
            { if (best == "" || (better == "high" ? $1 > best : $1 < best)) best = $1 } END { printf "  %.2f\n", own / best }'
}

# Other bytes each time, since equal contents are kept once here.
# A peer that refuses ends the run: what it did not do has no figure.
put() {
    dd if=/dev/urandom of="$space/large" bs=1M count="$mib" status=none
    curl -sf -o /dev/null -w "%{time_total}\n" -T "$space/large" "$1/large" | awk -v m="$mib" '{ print m / $1 }'
}
get() { curl -sf -o /dev/null -w '%{time_total}\n' "$1/large" | awk -v m="$mib" '{ print m / $1 }'; }
small() { wrk -t2 -c8 -d3 "$1/small" | awk '/Requests.sec/ { print $2 }'; }
six='<propfind xmlns="DAV:"><prop><resourcetype/><getcontentlength/><getlastmodified/><getetag/><displayname/><getcontenttype/></prop></propfind>'
list() { curl -sf -o /dev/null -w '%{time_total}\n' -X PROPFIND -H 'Depth: 1' -H 'Content-Type: application/xml' --data "$six" "$1/many/" | awk '{ print 1000 * $1 }'; }
list_all() { curl -sf -o /dev/null -w '%{time_total}\n' -X PROPFIND -H 'Depth: 1' "$1/many/" | awk '{ print 1000 * $1 }'; }

head -c 4096 /dev/urandom >"$space/small"
for name in $names; do
    curl -s -o /dev/null -T "$space/small" "http://127.0.0.1:${port[$name]}/small"
    curl -s -o /dev/null -X MKCOL "http://127.0.0.1:${port[$name]}/many/"
    python3 - "${port[$name]}" <<'PY'
import http.client, sys
c = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]))
for i in range(2000):
    c.request("PUT", f"/many/f{i:04}.txt", b"x")
    c.getresponse().read()
PY
done
printf '%-30s %-6s' "" ""
for name in $names; do printf ' %10s' $name; done
echo '  ashlar/best'
compare "PUT $mib MiB" MiB/s high put
compare "GET $mib MiB" MiB/s high get
compare "GET 4 KiB, 8 connections" /s high small
compare "PROPFIND of 2,000, 6 properties" ms low list
compare "PROPFIND of 2,000, all" ms low list_all

# A load that leaves processors idle, so that what is measured is waiting and not queueing.
p99() { # PORT
    python3 - "$1" <<'PY'
import http.client, sys, time
c, times = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1])), []
for i in range(2000):
    t = time.perf_counter()
    c.request("GET", "/small")
    c.getresponse().read()
    times.append(time.perf_counter() - t)
    time.sleep(0.001)
print(1e6 * sorted(times)[len(times) * 99 // 100])
PY
}
for name in $names; do
    alone=$(for _ in 1 2 3; do p99 "${port[$name]}"; done | median)
    python3 "$here/http_slow.py" "${port[$name]}" "$connections" 25 >"$space/slow" &
    slow=$!
    until grep -q there "$space/slow"; do
        kill -0 $slow 2>/dev/null || break
        sleep 0.1
    done
    beside=$(for _ in 1 2 3; do p99 "${port[$name]}"; done | median)
    kill $slow 2>/dev/null || true
    awk -v n=$name -v a="$alone" -v b="$beside" -v c="$connections" \
        'BEGIN { printf "%s: p99 of GET 4 KiB %.0f us alone, %.0f us beside %d connections, half of them slow: %.1f times\n", n, a, b, c, b / a }'
done
sleep 15
awk '/^RssAnon/ { printf "memory of its own afterwards: %.1f MiB\n", $2 / 1024 }' "/proc/$server/status"
