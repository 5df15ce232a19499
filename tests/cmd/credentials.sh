#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# mongodb:// addresses with users and TLS: what is refused and with which words; no password in messages, traces or `ps`; the list of
# stores, which keeps them off the command line.  usage: ASHLAR=… credentials.sh
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib.sh"
unset ASHLAR_STORE ASHLAR_STORES
export XDG_CONFIG_HOME="$scratch/config"
mkdir -p "$XDG_CONFIG_HOME/ashlar"
stores=$XDG_CONFIG_HOME/ashlar/stores

"$ASHLAR" -s nats://127.0.0.1:1 ls >/dev/null 2>&1
"$ASHLAR" -s mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=1 ls 2>&1 | grep -q 'lacks' && skip_all 'built without libmongoc'

. "$here/authority.sh"
. "$here/../tls_files.sh"

# One server for all cases, and TLS before it.
start_server "$scratch/store" --auth || exit 1
address=$server_address
printf 'p@/:%%\n' | "$ASHLAR" -s "$scratch/store" user add ann --role readWrite@files --role read@other >/dev/null || exit 1
printf 'crayon\n' | "$ASHLAR" -s "$scratch/store" user add ben --db files --role readWrite >/dev/null || exit 1
ann=ann:p%40%2F%3A%25
authority "$scratch/tls"
# relayed PEM: sets $tls, where the server is behind TLS.
relayed() {
    rm -f "$scratch/relay"
    python3 "$here/tls_relay.py" "$address" "$1" >"$scratch/relay" 2>"$scratch/relay.err" &
    echo $! >>"$scratch/pids"
    tries=0
    while [ ! -s "$scratch/relay" ] && [ $tries -lt 100 ]; do
        tries=$((tries + 1))
        sleep 0.1
    done
    tls=$(cat "$scratch/relay")
}
relayed "$scratch/tls/both.pem"
echo hello >"$scratch/hello"
"$ASHLAR" -s "mongodb://$ann@$address/files?authSource=admin" put "$scratch/hello" hello >/dev/null || exit 1

# says STATUS TEXT URI: what it fails with; nothing of a password, also with -vv and as JSON.
says() {
    expect_status "$1" "$ASHLAR" -vv -s "$3" -d files ls
    cat "$scratch/err" >&2
    grep -q "$2" "$scratch/err"
    fails grep -q 's3cr\|3t\b\|crayon' "$scratch/out" "$scratch/err"
    expect_status "$1" "$ASHLAR" --json -s "$3" -d files ls
    fails grep -q 's3cr\|3t\b\|crayon' "$scratch/out" "$scratch/err"
}

case_the_right_password() {
    for query in '' '?authSource=admin' '?authMechanism=SCRAM-SHA-1' '?authMechanism=SCRAM-SHA-256'; do
        [ "$("$ASHLAR" -s "mongodb://$ann@$address/$query" -d files cat hello)" = hello ]
    done
    # Without authSource, the database of the address is where the user is.
    [ "$("$ASHLAR" -s "mongodb://ben:crayon@$address/files" cat hello)" = hello ]
    [ "$("$ASHLAR" -s "mongodb://ben:crayon@$address/?authSource=files" -d files cat hello)" = hello ]
}

case_all_kinds_of_verbs() {
    uri=mongodb://ben:crayon@$address/files
    "$ASHLAR" -s "$uri" put "$scratch/hello" again
    [ "$("$ASHLAR" -s "$uri" ls | sort | tr '\n' ' ')" = 'again hello ' ]
    "$ASHLAR" -s "$uri" get again "$scratch/again"
    cmp "$scratch/hello" "$scratch/again"
    "$ASHLAR" -s "$uri" find '{"length": 6}' | grep -q again
    "$ASHLAR" -s "$uri" sum again | grep -q '^5891b5b5'
    "$ASHLAR" -s "$uri" lock again -- true
    "$ASHLAR" -s "$uri" tree put "$scratch/hello" /hello
    [ "$("$ASHLAR" -s "$uri" tree cat /hello)" = hello ]
    "$ASHLAR" -s "$uri" object add pictures
    "$ASHLAR" -s "$uri" object put pictures "$scratch/hello"
    "$ASHLAR" -s "$uri" object ls pictures | grep -q hello
    "$ASHLAR" -s "$uri" mv again gone
    "$ASHLAR" -s "$uri" rm gone
    "$ASHLAR" gridfs --uri "mongodb://ben:crayon@$address/files" list 2>"$scratch/err" | grep -q hello
    fails grep -q crayon "$scratch/err"
    # Where the role ends.
    expect_status 9 "$ASHLAR" -s "$uri" -d other put "$scratch/hello" x
    grep -q 'not authorized on other' "$scratch/err"
}

case_wrong_passwords() {
    says 9 'does not know user "ann" with this password in database admin (authSource' "mongodb://ann:s3cr3t@$address/"
    says 9 'does not know user "nobody" with this password' "mongodb://nobody:s3cr3t@$address/"
    says 9 'in database files' "mongodb://ann:s3cr3t@$address/files"
    says 9 'requires authentication' "mongodb://$address/"
    says 9 'the user "ann" and no password' "mongodb://ann@$address/"
    says 9 'the user "ann" and no password' "mongodb://ann@$address/?authMechanism=SCRAM-SHA-256"
}

case_addresses_that_do_not_parse() {
    says 2 "two '@'" "mongodb://ann:s3cr@3t@$address/"
    says 2 'written %XX' "mongodb://ann:s3cr/3t@$address/"
    says 2 'written %XX' "mongodb://ann:s3cr%zz3t@$address/"
    says 2 'written %XX' "mongodb://ann:s3cr:3t@$address/"
    says 9 'does not know user' "mongodb://ann:s3cr?3t@$address/"
    says 2 'does not parse' "mongodb://ann:s3cr3t@127.0.0.1:99999999/"
    says 2 'option "tlsCAfile2", which there is not' "mongodb://ann:s3cr3t@$address/?tls=true&tlsCAfile2=x"
    says 2 'option "authSauce", which there is not' "mongodb://ann:s3cr3t@$address/?authSauce=x"
    says 2 'it needs tls=true' "mongodb://ann:s3cr3t@$address/?authMechanism=PLAIN"
    says 9 'does not know user' "mongodb://ann:s3cr?tls3t@$address/"
    fails "$ASHLAR" -s "mongodb://ann:s3cr/x?tls3t@$address/" ls 2>"$scratch/err"
    fails grep -q 's3cr\|3t' "$scratch/err"
    # As the authentication specification's cases of connection strings have it.
    says 2 'does not accept a password' "mongodb://ann:s3cr3t@$address/?authMechanism=MONGODB-X509"
    says 2 'authsource of the store URI has no value' "mongodb://ann:s3cr3t@$address/files?authSource="
    says 2 'has no value' "mongodb://$address/admin?authSource=&tls=false"
    says 2 'requires username' "mongodb://$address/?authMechanism=SCRAM-SHA-256"
    says 2 'requires username' "mongodb://$address/?authMechanism=SCRAM-SHA-1"
    says 2 'requires username' "mongodb://$address/?authMechanism=PLAIN&tls=true"
    says 2 'require ".external" authSource' "mongodb://CN%3Dann@$address/?authMechanism=MONGODB-X509&authSource=bar"
    says 2 'does not parse' "mongodb://@$address/"
    says 2 'an authMechanism which there is not' "mongodb://ann:s3cr3t@$address/?authMechanism=SCRAM-SHA-512"
    says 2 'an authMechanism which there is not' "mongodb://ann:s3cr3t@$address/?authMechanism=MONGODB-OIDC"
    says 2 'CANONICALIZE_HOST_NAME' "mongodb://ann%40EXAMPLE.COM@$address/?authMechanism=GSSAPI&authMechanismProperties=CANONICALIZE_HOST_NAME:maybe"
    says 2 'does not parse' "mongodb://:@$address/"
    says 9 'the user "ann" and no password' "mongodb://ann@$address/?authMechanism=MONGODB-AWS"
}

case_tls() {
    [ "$("$ASHLAR" -s "mongodb://$ann@$tls/files?authSource=admin&tls=true&tlsCAFile=$scratch/tls/ca.pem" cat hello)" = hello ]
    [ "$("$ASHLAR" -s "mongodb://$ann@$tls/files?authSource=admin&tls=true&tlsAllowInvalidCertificates=true" cat hello)" = hello ]
    key="tlsCertificateKeyFile=$scratch/tls/locked.pem&tlsCertificateKeyFilePassword"
    [ "$("$ASHLAR" -s "mongodb://$ann@$tls/files?authSource=admin&tls=true&tlsCAFile=$scratch/tls/ca.pem&$key=kept4me" cat hello)" = hello ]
}

case_tls_that_cannot_be() {
    says 1 'certificate verify failed.*tlsCAFile=FILE names' "mongodb://ann:s3cr3t@$tls/?tls=true"
    authority "$scratch/other"
    says 1 'certificate verify failed' "mongodb://ann:s3cr3t@$tls/?tls=true&tlsCAFile=$scratch/other/ca.pem"
    says 2 'tlsCAFile: cannot read /nowhere' "mongodb://ann:s3cr3t@$tls/?tls=true&tlsCAFile=/nowhere"
    says 2 'tlsCertificateKeyFile: cannot read /nowhere' "mongodb://ann:s3cr3t@$tls/?tls=true&tlsCertificateKeyFile=/nowhere"
    says 1 'no PEM files that fit' "mongodb://ann:s3cr3t@$tls/?tls=true&tlsCAFile=$scratch/hello"
    says 1 'or the key.s password is wrong' "mongodb://ann:s3cr3t@$tls/?tls=true&tlsCertificateKeyFile=$scratch/tls/locked.pem&tlsCertificateKeyFilePassword=s3cr3t"
    says 1 'wants TLS' "mongodb://ann:s3cr3t@$tls/?serverSelectionTimeoutMS=1000"
    says 1 'may not speak TLS' "mongodb://ann:s3cr3t@$address/?tls=true&serverSelectionTimeoutMS=1000&connectTimeoutMS=500"
}

case_a_certificate_of_another_host() {
    authority "$scratch/elsewhere" DNS:elsewhere.example
    relayed "$scratch/elsewhere/both.pem"
    says 1 'certificate verify failed\|TLS handshake failed\|hostname' "mongodb://ann:s3cr3t@$tls/?tls=true&tlsCAFile=$scratch/elsewhere/ca.pem&serverSelectionTimeoutMS=1000"
    [ "$("$ASHLAR" -s "mongodb://$ann@$tls/files?authSource=admin&tls=true&tlsCAFile=$scratch/elsewhere/ca.pem&tlsAllowInvalidHostnames=true" cat hello)" = hello ]
}

case_nobody_there() {
    says 1 'Failed to connect' "mongodb://ann:s3cr3t@127.0.0.1:1/?serverSelectionTimeoutMS=1000"
    says 1 'Failed to resolve' "mongodb://ann:s3cr3t@no.such.host.invalid/?serverSelectionTimeoutMS=1000"
}

# shown COMMAND…: what `ps` shows while it waits for a server that does not answer.
shown() {
    "$@" </dev/null >/dev/null 2>&1 &
    running=$!
    echo $running >>"$scratch/pids"
    tries=0
    # The shell that is to become the command, and the command's first moments.
    until tr '\0' ' ' </proc/$running/cmdline >"$scratch/cmdline" && grep -q xxxxxx "$scratch/cmdline"; do
        tries=$((tries + 1))
        [ $tries -lt 100 ]
        sleep 0.05
    done
    kill -9 $running
    wait $running || true
    fails grep -q 's3cr3t\|kept4me' "$scratch/cmdline"
}

case_ps_shows_no_password() {
    python3 -c 'import socket, time
s = socket.create_server(("127.0.0.1", 0))
print("127.0.0.1:%d" % s.getsockname()[1], flush=True)
time.sleep(60)' >"$scratch/silent" &
    echo $! >>"$scratch/pids"
    while [ ! -s "$scratch/silent" ]; do sleep 0.05; done
    silent=$(cat "$scratch/silent")
    shown "$ASHLAR" -s "mongodb://ann:s3cr3t@$silent/files" put - x
    grep -q "mongodb://ann:xxxxxx@$silent/files" "$scratch/cmdline"
    shown "$ASHLAR" "-smongodb://ann:s3cr3t@$silent/?tlsCertificateKeyFilePassword=kept4me&tls=true" put - x
    shown "$ASHLAR" "--store=mongodb://ann:s3cr3t@$silent/" put - x
    shown "$ASHLAR" copy "mongodb://ann:s3cr3t@$silent/" "mongodb://ann:kept4me@127.0.0.1:1/"
    shown "$ASHLAR" copy --objects "nats://s3cr3t@$silent" "$scratch/none"
    shown "$ASHLAR" -s "nats://ann:s3cr3t@$silent,nats://ben:kept4me@$silent" object put pictures - --name x
    shown "$ASHLAR" gridfs --uri "mongodb://ann:s3cr3t@$silent/" put -
    shown "$ASHLAR" gridfs --host "$silent" -u ann -p s3cr3t put_id x y
    shown "$ASHLAR" gridfs --host "$silent" -u ann --password=s3cr3t put_id x y
    ln -sf "$ASHLAR" "$scratch/mongofiles"
    shown "$scratch/mongofiles" --host "$silent" -u ann -ps3cr3t put_id x y
    # What is hidden is used all the same.
    [ "$("$ASHLAR" gridfs --quiet --host "$address" -u ben -p crayon --authenticationDatabase files -d files list | wc -l)" -gt 0 ]
}

case_mistyped_words_show_no_password() {
    for words in "mongodb://ann:s3cr3t@$address/" "ls mongodb://ann:s3cr3t@$address/ x" "get mongodb://ann:s3cr3t@$address/" \
        "info nats://s3cr3t@$address" "cat nats://ann:s3cr3t@$address" "-s mongodb://ann:s3cr3t@$address/"; do
        # shellcheck disable=SC2086 # words
        fails "$ASHLAR" -s "$scratch/store" $words >"$scratch/said" 2>&1
        fails grep -q 's3cr3t' "$scratch/said"
    done
}

list() {
    printf '# %s\n' "$1" >"$stores"
    cat >>"$stores"
    chmod 600 "$stores"
}

case_names_of_stores() {
    list 'a list' <<TEXT
work   mongodb://$ann@$address/files?authSource=admin
	ben	mongodb://ben:crayon@$address/files  
folder $scratch/copied
empty
loop @loop
TEXT
    [ "$("$ASHLAR" -s @work cat hello)" = hello ]
    [ "$("$ASHLAR" --store=@ben cat hello)" = hello ]
    [ "$(ASHLAR_STORE=@ben "$ASHLAR" cat hello)" = hello ]
    "$ASHLAR" -q copy @work @folder
    [ "$("$ASHLAR" -s @folder -d files cat hello)" = hello ]
    expect_status 2 "$ASHLAR" copy @work @ben
    grep -q 'are the same store' "$scratch/err"
    for name in empty loop; do
        expect_status 2 "$ASHLAR" -s @$name ls
        grep -q "says of $name neither an address nor a folder" "$scratch/err"
    done
    expect_status 4 "$ASHLAR" -s @wor ls
    grep -q 'names no store @wor' "$scratch/err"
    # Which of two is meant nobody can tell; the same twice is one.
    cp "$stores" "$scratch/once"
    printf 'ben  %s\nfolder  %s\n' "$scratch/elsewhere" "$scratch/copied" >>"$stores"
    expect_status 2 "$ASHLAR" -s @ben ls
    grep -q 'two lines for @ben' "$scratch/err"
    fails grep -q crayon "$scratch/err"
    "$ASHLAR" -s @folder -d files cat hello >/dev/null
    cp "$scratch/once" "$stores"
    for name in @ '@# a' '@a list' '@#'; do
        expect_status 2 "$ASHLAR" -s "$name" ls
    done
    expect_status 4 "$ASHLAR" copy @work @nowhere
    expect_status 4 "$ASHLAR" copy @nowhere @folder
    # Nothing is made where a name leads nowhere, and help needs none.
    (cd "$scratch" && expect_status 4 "$ASHLAR" -s @made put hello && expect_status 4 "$ASHLAR" -s @made init && [ ! -e @made ])
    ASHLAR_STORE=@gone "$ASHLAR" help >/dev/null
    cp "$stores" "$scratch/mine"
    ASHLAR_STORES=$scratch/mine XDG_CONFIG_HOME=/nowhere "$ASHLAR" -s @ben ls >/dev/null
    mkdir -p "$scratch/home/.config/ashlar"
    cp "$stores" "$scratch/home/.config/ashlar/stores"
    env -u XDG_CONFIG_HOME HOME="$scratch/home" "$ASHLAR" -s @ben ls >/dev/null
}

case_a_list_that_others_may_read_is_refused() {
    list 'a list' <<TEXT
ben mongodb://ben:s3cr3t@$address/files
TEXT
    for mode in 640 604 620 602 610; do
        chmod $mode "$stores"
        expect_status 9 "$ASHLAR" -s @ben ls
        grep -q "chmod 600 $stores" "$scratch/err"
        fails grep -q s3cr3t "$scratch/err"
    done
    ASHLAR_STORES=$scratch expect_status 2 "$ASHLAR" -s @ben ls
    ASHLAR_STORES=$scratch/none expect_status 4 "$ASHLAR" -s @ben ls
    grep -q 'cannot open the list of stores' "$scratch/err"
    # Nor is anything shown of a list that has no such name.
    chmod 600 "$stores"
    expect_status 4 "$ASHLAR" -vv -s @ann ls
    fails grep -q s3cr3t "$scratch/err"
}

case_copies_between_two_stores_with_users() {
    start_server "$scratch/second" --auth
    printf 'chalk4me\n' | "$ASHLAR" -s "$scratch/second" user add cay --role readWriteAnyDatabase --role dbAdminAnyDatabase
    to=mongodb://cay:chalk4me@$server_address/
    expect_status 0 "$ASHLAR" -vv --progress on copy -d files "mongodb://ben:crayon@$address/files" "$to"
    fails grep -q 'crayon\|chalk4me' "$scratch/out" "$scratch/err"
    [ "$("$ASHLAR" -s "$to" -d files cat hello)" = hello ]
    expect_status 9 "$ASHLAR" -vv copy -d files "mongodb://ben:crayon@$address/files" "mongodb://cay:s3cr3t@$server_address/"
    fails grep -q 'crayon\|s3cr3t' "$scratch/out" "$scratch/err"
    grep -q 'user "cay"' "$scratch/err"
    expect_status 9 "$ASHLAR" copy -d files "mongodb://ben:s3cr3t@$address/files" "$to"
    fails grep -q 'chalk4me\|s3cr3t' "$scratch/out" "$scratch/err"
    stop_server
}

case_settings_show_no_password() {
    cat >"$scratch/conf" <<TEXT
store = mongodb://ann:s3cr3t@host/files x
mongodb://ann:s3cr3t@host/files = 5
mongodb://a-name-that-is-so-long-that-no-more-fits-into-eighty-bytes-of-a-message:s3cr3t@host = 5
auth = mongodb://ann:s3cr3t@host/
expire-every = nats://s3cr3t@host
[nats://s3cr3t@host]
TEXT
    expect_status 2 "$ASHLAR" serve --config "$scratch/conf" --check-config
    fails grep -q s3cr "$scratch/out" "$scratch/err"
    grep -q 'auth takes yes or no' "$scratch/out"
    expect_status 2 "$ASHLAR" --json serve --config "$scratch/conf" --check-config
    fails grep -q s3cr "$scratch/out" "$scratch/err"
    expect_status 2 "$ASHLAR" serve --config "$scratch/conf"
    fails grep -q s3cr "$scratch/out" "$scratch/err"
    echo "store = mongodb://ann:s3cr3t@127.0.0.1:1/files" >"$scratch/conf"
    fails "$ASHLAR" -vv serve --config "$scratch/conf" >"$scratch/out" 2>&1
    fails grep -q s3cr "$scratch/out"
}

case_the_server_keeps_no_password_in_its_log() {
    fails grep -q 's3cr3t\|crayon' "$scratch/server.err"
}

# A certificate in a password's place; the driver says whose it is, or the address does.
case_certificates_that_sign_in() {
    make_tls_files
    echo crayon | "$ASHLAR" -s "$scratch/by-tls" user add root --role root
    "$ASHLAR" -s "$scratch/by-tls" user add --external "$subject" --role readWrite@files
    serve_tls "$scratch/by-tls"
    trusts="$server_address/files?tls=true&tlsCAFile=$pki/ca.pem"
    ann="$trusts&tlsCertificateKeyFile=$pki/ann.pem&$x509"
    for mechanism in SCRAM-SHA-1 SCRAM-SHA-256; do
        root="$trusts&authSource=admin&authMechanism=$mechanism"
        "$ASHLAR" -s "mongodb://root:crayon@$root" put "$scratch/hello" hello
        says 9 'does not know user "root" with this password' "mongodb://root:s3cr3t@$root"
    done
    [ "$("$ASHLAR" -s "mongodb://$ann" cat hello)" = hello ]
    [ "$("$ASHLAR" -s "mongodb://$in_address@$ann" cat hello)" = hello ]
    "$ASHLAR" -s "mongodb://$ann" put "$scratch/hello" again
    expect_status 9 "$ASHLAR" -s "mongodb://$ann" -d other put "$scratch/hello" x
    grep -q 'not authorized on other' "$scratch/err"
    says 9 'requires authentication' "mongodb://$trusts&tlsCertificateKeyFile=$pki/ann.pem"
    says 9 'no user by this certificate' "mongodb://$trusts&tlsCertificateKeyFile=$pki/nobody.pem&$x509"
    says 9 'no user by this certificate' "mongodb://$in_address@$trusts&tlsCertificateKeyFile=$pki/nobody.pem&$x509"
    says 9 'no user by this certificate' "mongodb://$in_address@$trusts&$x509"
    says 1 'unknown ca\|closed\|reset\|socket error' "mongodb://$trusts&tlsCertificateKeyFile=$pki/forged.pem&$x509&serverSelectionTimeoutMS=1000"
    says 1 'certificate verify failed' "mongodb://root:s3cr3t@$server_address/files?tls=true&tlsCAFile=$pki/stranger.pem&serverSelectionTimeoutMS=1000"
    stop_server
    fails grep -q 's3cr3t\|crayon' "$scratch/server.err"
}

run_cases
