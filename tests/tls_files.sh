# SPDX-License-Identifier: Apache-2.0
# Certificates for tests with TLS, made by openssl, and a server with them.  Source it behind lib.sh.
pki=$scratch/pki
# How an address asks for the certificate's user.
# shellcheck disable=SC2016,SC2034 # that is its name; for who sources this
x509='authMechanism=MONGODB-X509&authSource=$external'

# make_authority NAME: in NAME.pem and NAME.key
make_authority() {
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj "/O=Example/CN=$1" \
        -keyout "$pki/$1.key" -out "$pki/$1.pem" 2>/dev/null
}

# make_certificate NAME SUBJECT AUTHORITY EXTENSION: with its key in one file, NAME.pem
make_certificate() {
    openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "$2" -utf8 -keyout "$pki/$1.key" -out "$pki/$1.csr" 2>/dev/null
    echo "$4" >"$pki/$1.ext"
    openssl x509 -req -in "$pki/$1.csr" -CA "$pki/$3.pem" -CAkey "$pki/$3.key" -CAcreateserial -days 2 -extfile "$pki/$1.ext" \
        -out "$pki/$1.crt" 2>/dev/null
    cat "$pki/$1.crt" "$pki/$1.key" >"$pki/$1.pem"
}

# An authority and a stranger; the server's certificate; of clients ann's, nobody's (no user has that name), and one that says ann
# by the stranger.  Sets $subject, ann's name, with all that has to be escaped in one, and $in_address, that name in an address.
make_tls_files() {
    mkdir "$pki" && make_authority ca && make_authority stranger || return 1
    make_certificate server /O=Example/CN=localhost ca 'subjectAltName=DNS:localhost,IP:127.0.0.1' || return 1
    make_certificate ann '/O=Example/OU=a, b \+ c/CN=Änne' ca 'extendedKeyUsage=clientAuth' || return 1
    make_certificate nobody /O=Example/CN=nobody ca 'extendedKeyUsage=clientAuth' || return 1
    make_certificate forged '/O=Example/OU=a, b \+ c/CN=Änne' stranger 'extendedKeyUsage=clientAuth' || return 1
    subject=$(openssl x509 -in "$pki/ann.pem" -noout -subject -nameopt RFC2253 | sed 's/^subject=//')
    # shellcheck disable=SC2034 # for who sources this
    in_address=$(printf %s "$subject" | sed 's/%/%25/g; s/\\/%5C/g; s/,/%2C/g; s/=/%3D/g; s/+/%2B/g; s/ /%20/g')
}

# serve_tls STORE [ARGS…]: certificates of clients are asked for and not required.  Also sets $http, host and port of HTTP's door.
serve_tls() {
    store=$1
    shift
    start_server "$store" --http 127.0.0.1:0 --tls-certificate "$pki/server.pem" --tls-ca "$pki/ca.pem" "$@" || return 1
    tries=0
    until http=$(sed -n 's|^https://\([^/]*\)/.*|\1|p' "$scratch/server.out" | grep .); do
        tries=$((tries + 1))
        [ $tries -lt 100 ] || return 1
        sleep 0.1
    done
}

# The same with new certificates and two users: root, whose password is pencil, and ann, by the certificate.  Inside a case.
serve_tls_users() { # STORE
    command -v openssl >/dev/null || skip 'no openssl'
    rm -rf "$pki" "$1"
    make_tls_files
    echo pencil | "$ASHLAR" -s "$1" user add root --role root
    "$ASHLAR" -s "$1" user add --external "$subject" --role readWrite@files
    serve_tls "$1"
}
