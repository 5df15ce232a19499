#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# nats:// addresses with each kind of credentials, and with TLS: what lets in, what is refused and with which words, and no secret in
# messages or traces.  usage: ASHLAR=… [ASH_NATS_SERVER=…] credentials_nats.sh
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib.sh"
unset ASHLAR_STORE
export XDG_CONFIG_HOME="$scratch/config"
server=${ASH_NATS_SERVER:-nats-server}
command -v "$server" >/dev/null || skip_all 'no nats-server'
"$ASHLAR" -s nats://127.0.0.1:1 object ls 2>&1 | grep -q 'lacks JetStream' && skip_all 'built without libnats'
. "$here/authority.sh"
authority "$scratch/tls"
mkdir "$scratch/keys"
python3 "$here/nats_keys.py" "$scratch/keys" || exit 1
echo hello >"$scratch/hello"

# guarded NAME, its configuration on standard input: sets $at, HOST:PORT.
guarded() {
    mkdir -p "$scratch/$1"
    {
        cat
        echo "jetstream: { store_dir: \"$scratch/$1/data\" }"
        echo 'listen: 127.0.0.1:-1'
    } >"$scratch/$1/conf"
    "$server" -c "$scratch/$1/conf" >"$scratch/$1/log" 2>&1 &
    nats_pid=$!
    echo $nats_pid >>"$scratch/pids"
    tries=0
    until grep -q 'Server is ready' "$scratch/$1/log"; do
        tries=$((tries + 1))
        [ $tries -lt 100 ] || {
            cat "$scratch/$1/log" >&2
            return 1
        }
        sleep 0.1
    done
    at=$(sed -n 's/.*Listening for client connections on //p' "$scratch/$1/log")
}

lets_in() { # ADDRESS
    "$ASHLAR" -s "$1" object add pictures >/dev/null
    "$ASHLAR" -s "$1" object put pictures "$scratch/hello" --name hello >/dev/null
    [ "$("$ASHLAR" -s "$1" object get pictures hello -O -)" = hello ]
    "$ASHLAR" -s "$1" object rm pictures -f >/dev/null
}

# refuses STATUS TEXT ADDRESS: and says nothing secret, also with -vv and as JSON.
refuses() {
    for how in -vv --json; do
        expect_status "$1" "$ASHLAR" $how -s "$3" object ls
        grep -q "$2" "$scratch/err" || {
            cat "$scratch/err" >&2
            return 1
        }
        fails grep -q 's3cr3t\|crayon' "$scratch/out" "$scratch/err"
        fails grep -qF "$(cut -c 3-30 "$scratch/keys/nkey.seed")" "$scratch/err"
    done
}

case_a_password() {
    guarded password <<'TEXT'
authorization: { user: "an@n", password: "s3cr3t:/%" }
TEXT
    lets_in "nats://an%40n:s3cr3t%3A%2F%25@$at"
    mkdir -p "$XDG_CONFIG_HOME/ashlar"
    echo "events nats://an%40n:s3cr3t%3A%2F%25@$at" >"$XDG_CONFIG_HOME/ashlar/stores"
    chmod 600 "$XDG_CONFIG_HOME/ashlar/stores"
    lets_in @events
    refuses 9 'not let in' "nats://an%40n:s3cr3t@$at"
    refuses 9 'not let in' "nats://$at"
    refuses 2 "bad '%'" "nats://an%40n:s3cr3t%@$at"
    refuses 9 'not let in' "nats://s3cr3t@$at"
    # Into a folder and back, by name.
    "$ASHLAR" -s @events object add pictures >/dev/null
    "$ASHLAR" -s @events object put pictures "$scratch/hello" --name hello >/dev/null
    expect_status 0 "$ASHLAR" -vv --progress on copy --objects "nats://an%40n:s3cr3t%3A%2F%25@$at" "$scratch/copied"
    fails grep -q 's3cr3t' "$scratch/out" "$scratch/err"
    [ "$("$ASHLAR" -s "$scratch/copied" object get pictures hello -O -)" = hello ]
    expect_status 9 "$ASHLAR" -vv copy --objects "$scratch/copied" "nats://an%40n:s3cr3t@$at"
    fails grep -q 's3cr3t' "$scratch/out" "$scratch/err"
    stop_nats
}

case_a_token() {
    guarded token <<'TEXT'
authorization: { token: "s3cr3t" }
TEXT
    lets_in "nats://s3cr3t@$at"
    refuses 9 'not let in' "nats://s3cr3tx@$at"
    stop_nats
}

case_an_nkey() {
    guarded nkey <<TEXT
authorization: { users: [ { nkey: $(cat "$scratch/keys/nkey.public") } ] }
TEXT
    lets_in "nats://$at?nkey=$scratch/keys/nkey.seed"
    refuses 9 'not let in' "nats://$at"
    head -c 57 "$scratch/keys/nkey.seed" >"$scratch/keys/cut.seed"
    refuses 2 'cut.seed' "nats://$at?nkey=$scratch/keys/cut.seed"
    refuses 4 'none.seed: No such file' "nats://$at?nkey=$scratch/keys/none.seed"
    stop_nats
}

# libnats before 3.8 leaves a signature out whose first byte is zero; the server here has such a nonce first.
case_a_signature_that_begins_with_zero() {
    rm -f "$scratch/nonces.port"
    python3 "$here/nats_nonces.py" "$scratch/keys/nkey.pem" "$scratch/nonces.port" >"$scratch/nonces" &
    echo $! >>"$scratch/pids"
    tries=0
    until [ -s "$scratch/nonces.port" ]; do
        tries=$((tries + 1))
        [ $tries -lt 600 ]
        sleep 0.1
    done
    "$ASHLAR" -s "nats://127.0.0.1:$(cat "$scratch/nonces.port")?nkey=$scratch/keys/nkey.seed" object ls >"$scratch/out" 2>&1 || :
    cat "$scratch/nonces" "$scratch/out"
    [ "$(tail -n 1 "$scratch/nonces")" = signed ]
}

case_credentials() {
    guarded creds <"$scratch/keys/operator.conf"
    lets_in "nats://$at?creds=$scratch/keys/ann.creds"
    refuses 9 'not let in' "nats://$at"
    refuses 4 'cannot read' "nats://$at?creds=$scratch/keys/none.creds"
    sed 's/^SU.*/SUAAAA/' "$scratch/keys/ann.creds" >"$scratch/keys/bad.creds"
    fails "$ASHLAR" -s "nats://$at?creds=$scratch/keys/bad.creds" object ls 2>"$scratch/err"
    fails grep -q SUA "$scratch/err"
    stop_nats
}

case_what_a_user_may_not() {
    guarded rights <<'TEXT'
authorization: { users: [ { user: ann, password: s3cr3t, permissions: { publish: ["$JS.API.STREAM.NAMES", "$JS.API.STREAM.LIST", "$JS.API.INFO"], subscribe: "_INBOX.>" } } ] }
TEXT
    expect_status 9 "$ASHLAR" -vv -s "nats://ann:s3cr3t@$at" object add pictures
    fails grep -q 's3cr3t' "$scratch/err"
    stop_nats
}

case_tls() {
    guarded tls <<TEXT
tls: { cert_file: "$scratch/tls/server.pem", key_file: "$scratch/tls/server.key" }
authorization: { user: ann, password: s3cr3t }
TEXT
    lets_in "tls://ann:s3cr3t@$at?tls_ca=$scratch/tls/ca.pem"
    lets_in "nats://ann:s3cr3t@$at?tls_ca=$scratch/tls/ca.pem"
    refuses 1 'TLS.*tls_ca=FILE' "tls://ann:s3cr3t@$at"
    authority "$scratch/other"
    refuses 1 'TLS' "tls://ann:s3cr3t@$at?tls_ca=$scratch/other/ca.pem"
    # A server that wants TLS gets it, and has to be trusted as well.
    refuses 1 'TLS failed' "nats://ann:s3cr3t@$at"
    refuses 4 'cannot read' "tls://ann:s3cr3t@$at?tls_ca=/nowhere"
    refuses 2 'TLS to NATS' "tls://ann:s3cr3t@$at?tls_ca=$scratch/hello"
    refuses 9 'not let in' "tls://ann:crayon@$at?tls_ca=$scratch/tls/ca.pem"
    stop_nats
}

case_a_certificate_of_another_host() {
    authority "$scratch/elsewhere" DNS:elsewhere.example
    guarded elsewhere <<TEXT
tls: { cert_file: "$scratch/elsewhere/server.pem", key_file: "$scratch/elsewhere/server.key" }
TEXT
    refuses 1 'TLS failed' "tls://$at?tls_ca=$scratch/elsewhere/ca.pem"
    stop_nats
}

case_client_certificates() {
    guarded both <<TEXT
tls: { cert_file: "$scratch/tls/server.pem", key_file: "$scratch/tls/server.key", ca_file: "$scratch/tls/ca.pem", verify: true }
TEXT
    mine="tls_cert=$scratch/tls/server.pem&tls_key=$scratch/tls/server.key"
    lets_in "tls://$at?tls_ca=$scratch/tls/ca.pem&$mine"
    fails "$ASHLAR" -s "tls://$at?tls_ca=$scratch/tls/ca.pem" object ls 2>"$scratch/err"
    refuses 2 'TLS to NATS' "tls://$at?tls_ca=$scratch/tls/ca.pem&tls_cert=$scratch/tls/server.pem&tls_key=$scratch/tls/ca.key"
    refuses 4 'cannot read' "tls://$at?tls_ca=$scratch/tls/ca.pem&tls_cert=/nowhere&tls_key=$scratch/tls/server.key"
    refuses 2 'tls_cert and tls_key' "tls://$at?tls_ca=$scratch/tls/ca.pem&tls_cert=$scratch/tls/server.pem"
    stop_nats
}

case_no_tls_where_it_is_asked_for() {
    start_nats
    refuses 1 'TLS' "tls://ann:s3cr3t@${nats#nats://}"
    stop_nats
}

run_cases
