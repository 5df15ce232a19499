# SPDX-License-Identifier: Apache-2.0
# A certificate authority, a server's certificate and key by it.
authority() { # FOLDER [NAMES]
    names=${2:-DNS:localhost,IP:127.0.0.1}
    mkdir -p "$1"
    (
        cd "$1"
        new='-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes'
        # shellcheck disable=SC2086 # words
        openssl req -x509 $new -keyout ca.key -out ca.pem -days 2 -subj /CN=ca
        # shellcheck disable=SC2086
        openssl req $new -keyout server.key -out server.csr -subj /CN=localhost
        echo "subjectAltName=$names" >names
        openssl x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile names -out server.pem
        cat server.key server.pem >both.pem
        openssl rsa -in server.key -aes128 -passout pass:kept4me -out locked.key || openssl ec -in server.key -aes128 -passout pass:kept4me -out locked.key
        cat locked.key server.pem >locked.pem
    ) >"$1/log" 2>&1
}
