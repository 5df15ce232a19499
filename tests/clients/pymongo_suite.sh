#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# pymongo's own tests of signing in, as its source package has them, unmodified: against a server with users, by both interfaces;
# and the specifications' cases of addresses, which lie beside them, by the command.
# usage: ASHLAR=… pymongo_suite.sh   (a virtual environment and the tests in $ASH_PYMONGO_SUITE_FOLDER, default: a scratch folder)
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib.sh"
. "$here/driver.sh"
folder=${ASH_PYMONGO_SUITE_FOLDER:-$scratch/pymongo-suite}

$python -c 'import ensurepip' 2>/dev/null || skip_all "venv is not installed (Debian: python3-venv)"
fetch "$folder" "$here/pymongo_suite.txt" -- sh -ec '
    "$1" -m venv --clear venv
    venv/bin/pip install -q -r "$2"
    rm -rf source && mkdir source
    venv/bin/pip download -q --no-deps --no-binary pymongo --dest source "$(grep ^pymongo= "$2")"
    tar -xzf source/*.tar.gz -C source --strip-components=1
    # Of the driver, what is installed shall be tested, not what lies beside the tests.
    rm -rf source/pymongo source/bson source/gridfs' sh $python "$here/pymongo_suite.txt"
certificates=$folder/source/test/certificates
echo pencil | "$ASHLAR" -s "$scratch/store" user add root --role root || exit 1

# suite NAME… -- ARGS…: tests of these names have to be among those that passed, by both interfaces.
suite() {
    names=
    while [ "$1" != -- ]; do
        names="$names $1"
        shift
    done
    shift
    status=0
    (cd "$folder/source" && DB_IP=localhost DB_PORT=${server_address##*:} DB_USER=root DB_PASSWORD=pencil \
        timeout 300 ../venv/bin/python -m pytest -o addopts= -p no:cacheprovider --strict-markers -q -rA "$@") >"$scratch/results" 2>&1 || status=$?
    grep -E '^(FAILED|ERROR|E  )' "$scratch/results" | head -n 20 >&2
    tail -n 1 "$scratch/results"
    [ $status = 0 ]
    fails grep -q pencil "$scratch/server.err"
    for name in $names; do
        for interface in test test/asynchronous; do
            grep -q "^PASSED $interface/[a-z_]*\.py::.*::$name\$" "$scratch/results"
        done
    done
}

# Not the one that waits by a function in JavaScript, which there is not.
case_passwords() {
    start_server "$scratch/store" --auth --test-commands
    suite test_scram test_scram_sha1 test_scram_saslprep test_scram_skip_empty_exchange test_uri_options -- \
        test/test_auth.py test/asynchronous/test_auth.py --deselect test/test_auth.py::TestSCRAM::test_scram_threaded
    stop_server
}

case_users_in_other_tests() {
    start_server "$scratch/store" --auth --test-commands
    suite test_auth_from_uri test_username_and_password test_lazy_auth_raises_operation_failure test_auth_network_error test_readonly test_no_remove -- \
        test/test_client.py test/test_bulk.py test/asynchronous/test_client.py test/asynchronous/test_bulk.py \
        -k 'auth or username or BulkAuthorization'
    stop_server
}

case_certificates() {
    start_server "$scratch/store" --auth --test-commands --tls-certificate "$certificates/server.pem" --tls-ca "$certificates/ca.pem"
    suite test_mongodb_x509_auth test_simple_ssl test_tlsCertificateKeyFilePassword test_connect_with_ca_bundle -- \
        test/test_ssl.py test/asynchronous/test_ssl.py
    stop_server
}

# The specification's cases of addresses, as the driver takes them.
case_addresses() {
    start_server "$scratch/store" --auth --test-commands
    suite -- test/test_auth_spec.py test/asynchronous/test_auth_spec.py
    grep -Eq '^[1-9][0-9]+ passed' "$scratch/results"
    stop_server
}

case_addresses_by_the_command() {
    "$ASHLAR" -s mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=1 ls 2>"$scratch/lacks" || true
    fails grep -q 'lacks' "$scratch/lacks" || skip 'built without libmongoc'
    cases=$folder/source/test
    $python "$here/addresses.py" "$ASHLAR" "$here/addresses.txt" "$cases/auth/legacy/connection-string.json" \
        "$cases/connection_string/test/valid-auth.json" "$cases/connection_string/test/invalid-uris.json" \
        "$cases/uri_options/auth-options.json" "$cases/uri_options/tls-options.json"
}

case_the_store_is_clean_afterwards() {
    "$ASHLAR" -s "$scratch/store" check
}

run_cases
