#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# mongosh with users.  usage: ASHLAR=… users_mongosh.sh   (mongosh goes to $ASH_MONGOSH_FOLDER, default: a scratch folder)
clients=$(cd "$(dirname "$0")" && pwd)
. "$clients/../lib.sh"
here=$clients/tutorial # whose package.json names the shell
ASH_NODE_FOLDER=${ASH_MONGOSH_FOLDER:-$scratch/mongosh}
. "$clients/node.sh"
. "$clients/mongosh.sh"
. "$clients/../tls_files.sh"

start_server "$scratch/store" --auth || exit 1
echo pencil | "$ASHLAR" -s "$scratch/store" user add root --role root >/dev/null || exit 1

case_users_by_the_shells_functions() {
    run_mongosh "mongodb://root:pencil@$server_address/" --eval "const address = \"$server_address\"" --file "$clients/users_mongosh.js" || {
        sed 's/^/# /' "$scratch/out" >&2
        return 1
    }
}

case_show_users() {
    run_mongosh "mongodb://root:pencil@$server_address/admin" --eval 'show users'
    grep -q "_id: 'admin.root'" "$scratch/out"
    fails grep -Eq 'pencil|credentials|storedKey' "$scratch/out"
}

case_wrong_passwords() {
    for mechanism in SCRAM-SHA-1 SCRAM-SHA-256; do
        fails run_mongosh "mongodb://root:wrong@$server_address/?authMechanism=$mechanism" --eval 1
        grep -q 'Authentication failed' "$scratch/out"
        run_mongosh "mongodb://root:pencil@$server_address/?authMechanism=$mechanism" --eval 1
    done
}

# typed URI COMMANDS [OPTIONS…]
typed() {
    where=$1
    what=$2
    shift 2
    run_mongosh "$where" --eval "$what" "$@"
}

case_over_tls() {
    serve_tls_users "$scratch/tls"
    at=$server_address/files
    trusts="tls=true&tlsCAFile=$pki/ca.pem"
    soon=serverSelectionTimeoutMS=3000
    ann="$trusts&tlsCertificateKeyFile=$pki/ann.pem"
    insert='db.c.insertOne({a: 1}).acknowledged'
    who='print(db.runCommand({connectionStatus: 1}).authInfo.authenticatedUsers[0].user)'
    for mechanism in SCRAM-SHA-1 SCRAM-SHA-256; do
        typed "mongodb://root:pencil@$at?$trusts&authSource=admin&authMechanism=$mechanism" "$insert"
        fails typed "mongodb://root:wrong@$at?$trusts&authSource=admin&authMechanism=$mechanism" "$insert"
        grep -q 'Authentication failed' "$scratch/out"
    done
    # Named and not named, in the address, by the shell's options, and after it has begun.
    typed "mongodb://$at?$ann&$x509" "$insert; $who"
    grep -qF "$subject" "$scratch/out"
    typed "mongodb://$in_address@$at?$ann&$x509" "$insert"
    typed "mongodb://$at" "$insert" --tls --tlsCAFile "$pki/ca.pem" --tlsCertificateKeyFile "$pki/ann.pem" \
        --authenticationMechanism MONGODB-X509 --authenticationDatabase '$external'
    typed "mongodb://$at?$ann" "db.getSiblingDB('\$external').auth({mechanism: 'MONGODB-X509'}); $insert"
    fails typed "mongodb://$at?$ann" "$insert"
    grep -q 'requires authentication' "$scratch/out"
    refuses_certificates
    stop_server
}

refuses_certificates() {
    # Of whom there is no user, and none.
    for shown in "&tlsCertificateKeyFile=$pki/nobody.pem" ''; do
        fails typed "mongodb://$in_address@$at?$trusts$shown&$x509" "$insert"
        grep -q 'Authentication failed' "$scratch/out"
    done
    # By another authority, and of a server by another one.
    fails typed "mongodb://$at?$trusts&tlsCertificateKeyFile=$pki/forged.pem&$x509&$soon" "$insert"
    grep -Eiq 'certificate|unknown ca|reset|closed' "$scratch/out"
    fails typed "mongodb://root:pencil@$at?tls=true&tlsCAFile=$pki/stranger.pem&$soon" "$insert"
    grep -q 'certificate' "$scratch/out"
}

run_cases
