#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# nats.go's own tests of object stores, unmodified: those of its newer interface and those of the older one, as its module has them,
# on `ashlar serve --nats`, and on the real server that they bring along, where all must pass.
# usage: ASHLAR=… nats_go_suite.sh   (modules and objects go to $ASH_GO_FOLDER, default: a scratch folder)
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib.sh"
. "$here/driver.sh"
. "$here/go.sh"

new_go
made=$go_folder/made
suite=$go_folder/nats.go
fetch_modules nats
# A copy, since Go tests no module in its cache by itself.  Which version: the one that our clients are of.
fetch "$suite" "$here/nats/go.mod" "$here/nats/go.sum" "$0" -- sh -ec '
    source=$(cd "$1" && "$2" list -m -f "{{.Dir}}" github.com/nats-io/nats.go)
    rm -rf source && cp -r "$source" source && chmod -R u+w source
    cd source && "$2" mod download -modfile=go_test.mod' sh "$here/nats" "$go"
mkdir -p "$made"
(cd "$here/nats" && "$go" build -p 2 -o "$made/" ./tester) || exit 1
for package in jetstream/test test; do
    (cd "$suite/source" && "$go" test -c -p 2 -vet=off -modfile=go_test.mod -o "$made/$(echo $package | tr / -)" ./$package) || exit 1
done

# What the door does not serve, as docs/OBJECTS.md says, and what it says of it.
cat >"$scratch/not_served" <<'END'
TestGetObjectDigestMismatch A has those bytes, and is whole
TestListObjectStores object stores here have no subjects but those of object stores
TestObjectStoreMirror object stores here have no subjects but those of object stores
TestObjectPutPermissionViolation ashlar has no configuration of that kind
END

start_tester() {
    mkdir "$scratch/served"
    mkfifo "$scratch/stop"
    "$made/tester" "$ASHLAR" "$scratch/served" <"$scratch/stop" >"$scratch/address" 2>"$scratch/tester.err" &
    tester_pid=$!
    echo "$tester_pid" >>"$scratch/pids"
    exec 8>"$scratch/stop"
    rm "$scratch/stop"
    tries=0
    while ! grep -qs . "$scratch/address"; do
        tries=$((tries + 1))
        [ $tries -lt 200 ] && kill -0 "$tester_pid"
        sleep 0.1
    done
}

# Whoever waits for the tester waits for its servers.
stop_tester() {
    exec 8>&-
    wait "$tester_pid"
    rm -rf "$scratch/served"
}

# Sets $names, the tests of object stores.
run_suite() { # PACKAGE TESTER: "" is one of its own
    names=$(sed -n 's/^func \(Test[A-Za-z0-9_]*\)(t \*testing.T).*/\1/p' "$suite/source/$1/object_test.go")
    [ "$(echo "$names" | wc -l)" -ge 20 ]
    (cd "$suite/source/$1" && env -u GITHUB_ACTIONS TESTER_NATS_URL="$2" timeout 600 "$made/$(echo "$1" | tr / -)" -test.v \
        -test.run "^($(echo $names | tr ' ' '|'))\$") >"$scratch/log" 2>&1 || true
}

passes_all() {
    for name in $names; do
        grep -q "^--- PASS: $name " "$scratch/log" || {
            grep -A 20 "^=== RUN   $name\$" "$scratch/log" | sed 's/^/# /' >&2
            return 1
        }
    done
}

# All but what is not served, which fails as it is said to.
passes_what_is_served() {
    all=$names names=
    while read -r name why; do
        echo "$all" | grep -qx "$name" || continue
        grep -q "^--- FAIL: $name " "$scratch/log"
        sed -n "/^=== RUN   $name\$/,/^--- FAIL: $name /p" "$scratch/log" | grep -qF "$why"
    done <"$scratch/not_served"
    for name in $all; do
        grep -q "^$name " "$scratch/not_served" || names="$names $name"
    done
    passes_all
}

case_real_server() {
    run_suite jetstream/test ""
    passes_all
}

case_real_server_older_interface() {
    run_suite test ""
    passes_all
}

case_door() {
    start_tester
    run_suite jetstream/test "$(cat "$scratch/address")"
    stop_tester
    passes_what_is_served
}

case_door_older_interface() {
    start_tester
    run_suite test "$(cat "$scratch/address")"
    stop_tester
    passes_what_is_served
}

run_cases
