#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Our own tests of object stores on JetStream once more, on the newest nats-server: what Debian's has not is tried here alone
# (configurations, times to live of single objects, mirrors).
# usage: ASHLAR=… NATS_SERVERS=… ASH_TESTS_FOLDER=… objects_newest.sh   (modules go to $ASH_GO_FOLDER, default: a scratch folder)
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib.sh"
. "$here/driver.sh"
. "$here/go.sh"

[ -n "${NATS_SERVERS:-}" ] || skip_all "built without libnats (Debian: libnats-dev)"
new_go
made=$go_folder/made
fetch_modules nats
mkdir -p "$made"
(cd "$here/nats" && "$go" build -p 2 -o "$made/" github.com/nats-io/nats-server/v2) || exit 1
export ASH_NATS_SERVER="$made/nats-server"
unset CMOCKA_MESSAGE_OUTPUT

passes() { # COMMAND…
    "$@" >"$scratch/log" 2>&1 || {
        tail -n 30 "$scratch/log" | sed 's/^/# /' >&2
        return 1
    }
    grep -q 'PASSED' "$scratch/log"
}

# Each kind of credentials, and TLS.
case_who_may_come_in() {
    ASH_NATS_SERVER=$made/nats-server sh "$here/../cmd/credentials_nats.sh" >"$scratch/log" 2>&1 || {
        sed 's/^/# /' "$scratch/log" >&2
        return 1
    }
    fails grep -q SKIP "$scratch/log"
}

# Nothing is left out for want of a server.
case_what_only_jetstream_has() {
    for part in changes cluster cuts losses objects others streams; do
        passes "$ASH_TESTS_FOLDER/test-object-jetstream-$part"
        fails grep SKIPPED "$scratch/log"
    done
}

case_what_every_backend_has() {
    for part in stores puts reads changes lists versions copies others peers; do
        passes "$here/../object/jetstream/on_jetstream.sh" "$NATS_SERVERS" "$ASH_TESTS_FOLDER/test-object-$part"
    done
}

run_cases
