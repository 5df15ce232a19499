#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# TLS on both doors: pymongo with passwords and with certificates, curl, sslscan, testssl, and what breaks off in the midst of a handshake.
# usage: ASHLAR=… tls.sh
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib.sh"
python=/usr/bin/python3
[ -x $python ] || python=python3
. "$here/../tls_files.sh"
make_tls_files || exit 1

python_case() { timeout 120 $python "$here/tls.py" "$server_address" "$pki" "$1" "${2-}"; }

echo pencil | "$ASHLAR" -s "$scratch/store" user add root --role root || exit 1
"$ASHLAR" -s "$scratch/store" user add --external "$subject" --role readWrite@files || exit 1

case_passwords_over_tls() {
    serve_tls "$scratch/store"
    python_case passwords
    stop_server
    fails grep -q pencil "$scratch/server.err"
}

case_certificates_sign_in() {
    serve_tls "$scratch/store" --audit "$scratch/audit"
    python_case certificates "$subject"
    stop_server
    grep '"mechanism" *: *"MONGODB-X509"' "$scratch/audit" | grep -q '"result" *: *0'
    grep '"mechanism" *: *"MONGODB-X509"' "$scratch/audit" | grep -q '"result" *: *18'
    # Who was refused, in a spelling that a user can be made by.
    grep -q 'could not sign in as "CN=nobody,O=Example" of $external: there is no such user of $external' "$scratch/server.err"
}

case_certificates_that_are_required() {
    serve_tls "$scratch/store" --tls-clients require
    python_case required "$subject"
    stop_server
}

case_curl() {
    serve_tls "$scratch/open"
    echo hello >"$scratch/hello"
    curl -sS -f --cacert "$pki/ca.pem" -T "$scratch/hello" "https://$http/hello"
    curl -sS -f --cacert "$pki/ca.pem" "https://$http/hello" | cmp - "$scratch/hello"
    # The file is large enough that it would be sent past us.
    head -c 8000000 /dev/urandom >"$scratch/large"
    curl -sS -f --cacert "$pki/ca.pem" -T "$scratch/large" "https://$http/large"
    for version in 1.2 1.3; do
        curl -sS -f --cacert "$pki/ca.pem" --tlsv$version --tls-max $version "https://$http/large" | cmp - "$scratch/large"
    done
    curl -sS -f --cacert "$pki/ca.pem" -r 1000000-1000009 "https://$http/large" | wc -c | grep -qx 10
    fails curl -sS --cacert "$pki/stranger.pem" "https://$http/hello" 2>/dev/null
    fails curl -sS --cacert "$pki/ca.pem" --ciphers DEFAULT@SECLEVEL=0 --tls-max 1.1 "https://$http/hello" 2>/dev/null
    stop_server
}

case_another_certificate_by_sighup() {
    cp "$pki/server.pem" "$scratch/changing.pem"
    start_server "$scratch/open" --tls-certificate "$scratch/changing.pem"
    shown() { openssl s_client -connect "$server_address" </dev/null 2>/dev/null | openssl x509 -noout -fingerprint; }
    first=$(shown)
    make_certificate second /O=Example/CN=second ca 'subjectAltName=DNS:localhost'
    echo rubbish >"$scratch/changing.pem"
    kill -HUP $server_pid
    sleep 0.5
    [ "$(shown)" = "$first" ]
    cp "$pki/second.pem" "$scratch/changing.pem"
    kill -HUP $server_pid
    tries=0
    while [ "$(shown)" = "$first" ]; do
        tries=$((tries + 1))
        [ $tries -lt 100 ]
        sleep 0.1
    done
    stop_server
}

# What sslscan says of one door.
judge() {
    sslscan --no-colour --show-certificate "$1" >"$scratch/scan" || return 1
    grep -q 'TLSv1.3 *enabled' "$scratch/scan"
    grep -q 'TLSv1.2 *enabled' "$scratch/scan"
    for old in SSLv2 SSLv3 TLSv1.0 TLSv1.1; do
        grep -q "$old *disabled" "$scratch/scan"
    done
    fails grep -q 'Compression enabled' "$scratch/scan"
    grep -q 'Session renegotiation not supported' "$scratch/scan"
    fails grep -q '[^t] vulnerable to heartbleed' "$scratch/scan"
    # Each has forward secrecy and is authenticated.
    grep -E '^ *(Preferred|Accepted) ' "$scratch/scan" >"$scratch/ciphers"
    [ -s "$scratch/ciphers" ]
    fails grep -vE 'TLS_(AES|CHACHA20)_.*|ECDHE-[A-Z0-9]*-?(AES|CHACHA20)[A-Z0-9-]*(GCM|POLY1305)' "$scratch/ciphers"
    fails grep -E 'RC4|3DES|CBC3|NULL|EXP|anon|MD5' "$scratch/ciphers"
}

case_sslscan() {
    command -v sslscan >/dev/null || skip 'no sslscan'
    serve_tls "$scratch/open"
    judge "$server_address"
    judge "$http"
    stop_server
}

# tests_by_testssl DOOR: an empty judgement is a good one.
tests_by_testssl() {
    rm -f "$scratch/findings"
    timeout 300 testssl --quiet --color 0 --warnings off --openssl-timeout 10 -p -s -f -P -S -U --add-ca "$pki/ca.pem" \
        --jsonfile "$scratch/findings" "$1" >"$scratch/scan" 2>&1 || true # its status counts what it found
    "$here/testssl.py" "$scratch/findings"
}

case_testssl() {
    command -v testssl >/dev/null || skip 'no testssl'
    serve_tls "$scratch/open"
    tests_by_testssl "$server_address"
    tests_by_testssl "$http"
    stop_server
    # A door that is none of ours, and no A: the judge is one.
    openssl s_server -accept 127.0.0.1:0 -cert "$pki/server.pem" -tls1_2 -cipher ECDHE-ECDSA-AES128-SHA -www >"$scratch/weak" 2>&1 &
    weak=$!
    echo $weak >>"$scratch/pids"
    tries=0
    until door=$(sed -n 's/^ACCEPT \(127.*\)/\1/p' "$scratch/weak" | grep .); do
        tries=$((tries + 1))
        [ $tries -lt 100 ]
        sleep 0.1
    done
    fails tests_by_testssl "$door" >"$scratch/judged"
    kill $weak
    for weakness in TLS1_3 cipherlist_AVERAGE cipherlist_STRONG LUCKY13; do
        grep -q "^$weakness: " "$scratch/judged"
    done
}

case_renegotiation_is_refused() {
    serve_tls "$scratch/open"
    for door in $server_address $http; do
        (sleep 1; echo R; sleep 2) | timeout 10 openssl s_client -connect "$door" -tls1_2 >"$scratch/again" 2>&1 || true
        grep -q RENEGOTIATING "$scratch/again"
        grep -Eiq 'no renegotiation|alert|error' "$scratch/again"
    done
    stop_server
}

# Beside a good client: half a greeting and silence, garbage, huge records, two hundred that never finish.
case_handshakes_that_break_off() {
    serve_tls "$scratch/open"
    python_case broken "$http"
    kill -0 $server_pid
    stop_server
}

run_cases
