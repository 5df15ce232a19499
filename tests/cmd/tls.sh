#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# TLS by the command: certificates, their renewal, and who may listen beyond this machine.
. "$(dirname "$0")/../lib.sh"
command -v openssl >/dev/null || skip_all 'no openssl'
command -v curl >/dev/null || skip_all 'no curl'

# certificate NAME: signed by itself, in NAME.pem, its key in NAME.key.
certificate() {
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -subj "/CN=$1" \
        -addext subjectAltName=DNS:localhost,IP:127.0.0.1 -keyout "$scratch/$1.key" -out "$scratch/$1.pem" 2>"$scratch/req"
    chmod 600 "$scratch/$1.key"
}

# start_https ARGS…: sets $https.
start_https() {
    start_server "$scratch/store" --http 127.0.0.1:0 "$@"
    tries=0
    until grep -qs '^https://' "$scratch/server.out"; do
        tries=$((tries + 1))
        [ $tries -lt 200 ]
        sleep 0.05
    done
    https=$(sed -n 's|^\(https://[^/]*\)/.*|\1|p' "$scratch/server.out")
}

case_files() {
    certificate a
    start_https --tls-certificate "$scratch/a.pem" --tls-key "$scratch/a.key"
    grep -q '^mongodb://127.0.0.1:[0-9]*/?tls=true$' "$scratch/server.out"
    head -c 3000000 /dev/urandom >"$scratch/large"
    curl -sSf --cacert "$scratch/a.pem" -T "$scratch/large" "$https/large"
    curl -sSf --cacert "$scratch/a.pem" "$https/large" | cmp - "$scratch/large"
    fails curl -sSf "$https/large" 2>"$scratch/untrusted"
    # Without TLS nobody is let in, and a browser is told why.
    [ "$(curl -sS "http${https#https}/")" = 'this port speaks TLS: the URL begins with https://' ]
    # The folder's own socket is the owner's, as ever.
    "$ASHLAR" -s "$scratch/store" tree ls / | grep -q large
    stop_server
    start_server "$scratch/store" --http 127.0.0.1:0
    plain=$(sed -n 's|^http://\([^/]*\)/.*|\1|p' "$scratch/server.out")
    [ "$(curl -s -o "$scratch/page" -w '%{time_total}' "https://$plain/" | cut -d. -f1)" -lt 5 ]
    stop_server
}

case_a_key_for_all_to_read() {
    certificate a
    chmod 644 "$scratch/a.key"
    start_https --tls-certificate "$scratch/a.pem" --tls-key "$scratch/a.key"
    stop_server
    grep -q 'everybody on this machine can read the key' "$scratch/server.err"
}

case_renewed() {
    certificate a
    start_https --tls-certificate "$scratch/a.pem" --tls-key "$scratch/a.key"
    certificate b
    # While the two files do not fit, the one of before goes on.
    cp "$scratch/b.pem" "$scratch/a.pem.new"
    cp "$scratch/a.pem" "$scratch/a.kept"
    mv "$scratch/a.pem.new" "$scratch/a.pem"
    kill -HUP "$server_pid"
    tries=0
    until grep -q 'the certificate of before goes on' "$scratch/server.err"; do
        tries=$((tries + 1))
        [ $tries -lt 200 ]
        sleep 0.05
    done
    curl -sSf --cacert "$scratch/a.kept" -o "$scratch/page" "$https/"
    cp "$scratch/b.key" "$scratch/a.key"
    kill -HUP "$server_pid"
    tries=0
    until grep -q 'the certificate is read again' "$scratch/server.err"; do
        tries=$((tries + 1))
        [ $tries -lt 200 ]
        sleep 0.05
    done
    curl -sSf --cacert "$scratch/b.pem" -o "$scratch/page" "$https/"
    fails curl -sSf --cacert "$scratch/a.kept" -o "$scratch/page" "$https/" 2>"$scratch/err"
    stop_server
}

case_self_signed() {
    start_https --tls-self-signed --http-host files.example
    own=$scratch/store/self-signed.pem
    [ "$(stat -c %a "$own")" = 600 ]
    print=$(openssl x509 -in "$own" -noout -fingerprint -sha256 | sed 's/.*=//')
    grep -q "$print" "$scratch/server.err"
    curl -sSf --cacert "$own" -o "$scratch/page" "https://localhost:${https##*:}/"
    curl -sSf --cacert "$own" -o "$scratch/page" --connect-to "files.example:443:127.0.0.1:${https##*:}" https://files.example/
    stop_server
    # It is the same one the next time, since clients were given it.
    start_https --tls-self-signed
    grep -q "$print" "$scratch/server.err"
    stop_server
    "$ASHLAR" -s "$scratch/store" check
}

case_clients_certificates() {
    certificate a
    certificate desk
    certificate stranger
    start_https --tls-certificate "$scratch/a.pem" --tls-key "$scratch/a.key" --tls-ca "$scratch/desk.pem" --tls-clients require
    curl -sSf --cacert "$scratch/a.pem" --cert "$scratch/desk.pem" --key "$scratch/desk.key" -o "$scratch/page" "$https/"
    fails curl -sSf --cacert "$scratch/a.pem" -o "$scratch/page" "$https/" 2>"$scratch/err"
    fails curl -sSf --cacert "$scratch/a.pem" --cert "$scratch/stranger.pem" --key "$scratch/stranger.key" -o "$scratch/page" "$https/" 2>"$scratch/err"
    stop_server
}

# refused WORDS ARGS…: the server does not start, and says so.
refused() {
    words=$1
    shift
    status=0
    timeout 20 "$ASHLAR" -s "$scratch/none" serve "$@" >"$scratch/out" 2>"$scratch/err" || status=$?
    [ $status != 0 ]
    [ $status != 124 ]
    grep -q -- "$words" "$scratch/err"
    [ ! -e "$scratch/none" ]
}

case_what_is_refused() {
    certificate a
    certificate b
    refused 'needs a --tls-certificate' --tls-key "$scratch/a.key"
    refused 'needs a --tls-ca' --tls-certificate "$scratch/a.pem" --tls-key "$scratch/a.key" --tls-clients ask
    refused 'take one of them' --tls-certificate "$scratch/a.pem" --tls-self-signed
    refused 'has a key of its own' --tls-self-signed --tls-key "$scratch/a.key"
    refused "$scratch/missing" --tls-certificate "$scratch/missing"
    refused "$scratch/b.key" --tls-certificate "$scratch/a.pem" --tls-key "$scratch/b.key"
    echo 'tls-certificate = /nowhere/a.pem' >"$scratch/settings"
    expect_status 2 "$ASHLAR" serve --config "$scratch/settings" --check-config
    grep -q "^$scratch/settings: .*/nowhere/a.pem" "$scratch/out"
    "$ASHLAR" --json serve --config "$scratch/settings" --check-config | grep -q '"errorCount" : 1'
}

case_beyond_this_machine() {
    certificate a
    set -- --tls-certificate "$scratch/a.pem" --tls-key "$scratch/a.key"
    refused 'with --auth and --tls-certificate,' --mongo 0.0.0.0:0
    refused 'overheard without --tls-certificate' --mongo 0.0.0.0:0 --auth
    refused 'sign in without --auth' --mongo 0.0.0.0:0 "$@"
    refused 'sign in without --auth' --mongo 127.0.0.1:0 --http 0.0.0.0:0 "$@"
    refused "NATS' clients do not have to sign in" --mongo 127.0.0.1:0 --nats 0.0.0.0:0 --auth "$@"
    printf 'mongo = 0.0.0.0:27017\nauth = yes\n' >"$scratch/settings"
    fails "$ASHLAR" serve --config "$scratch/settings" --check-config >"$scratch/out" 2>"$scratch/err"
    printf 'tls-certificate = %s\ntls-key = %s\n' "$scratch/a.pem" "$scratch/a.key" >>"$scratch/settings"
    "$ASHLAR" serve --config "$scratch/settings" --check-config
    "$ASHLAR" -s "$scratch/open" serve --mongo 0.0.0.0:0 --http 0.0.0.0:0 --auth "$@" >"$scratch/out" 2>"$scratch/err" &
    pid=$!
    echo $pid >>"$scratch/pids"
    tries=0
    until grep -qs '^https://0.0.0.0' "$scratch/out"; do
        tries=$((tries + 1))
        [ $tries -lt 200 ]
        sleep 0.05
    done
    [ "$(curl -s -o "$scratch/page" -w '%{http_code}' --cacert "$scratch/a.pem" "https://localhost:$(sed -n 's|^https://0.0.0.0:\([0-9]*\)/|\1|p' "$scratch/out")/f" -T "$scratch/a.pem")" = 401 ]
    kill $pid
    wait $pid
    # By its name alone.
    "$ASHLAR" -s "$scratch/open" serve --mongo 0.0.0.0:0 --nats 0.0.0.0:0 --insecure-anywhere >"$scratch/out" 2>"$scratch/err" &
    pid=$!
    echo $pid >>"$scratch/pids"
    tries=0
    until grep -qs '^nats://0.0.0.0' "$scratch/out"; do
        tries=$((tries + 1))
        [ $tries -lt 200 ]
        sleep 0.05
    done
    kill $pid
    wait $pid
}

# Half a handshake keeps nobody else waiting, and not for ever.
case_broken_handshakes() {
    certificate a
    start_https --tls-certificate "$scratch/a.pem" --tls-key "$scratch/a.key" --max-connections 300
    /usr/bin/python3 - "$https" "$server_address" "$scratch/a.pem" <<'PY'
import socket, ssl, sys, time, urllib.request
https, mongo, ca = sys.argv[1:]
context = ssl.create_default_context(cafile=ca)
hello = bytes.fromhex("160301020001000001fc0303")
held = []
for address in (https.split("//")[1], mongo):
    host, port = address.rsplit(":", 1)
    for i in range(100):
        s = socket.create_connection((host, int(port)))
        s.sendall(hello if i % 2 else b"\x16\x03\x01\x40\x00" + b"x" * 100)
        held.append(s)
for _ in range(20):
    start = time.monotonic()
    assert urllib.request.urlopen(https + "/", context=context, timeout=20).status == 200
    assert time.monotonic() - start < 10
# HTTP gives a handshake the time of a head.
closed = 0
deadline = time.monotonic() + 30
for s in held[:100]:
    s.settimeout(max(0.1, deadline - time.monotonic()))
    try:
        while s.recv(1000):
            pass
        closed += 1
    except ConnectionError:
        closed += 1
assert closed == 100, closed
PY
    stop_server
}

run_cases
