# SPDX-License-Identifier: Apache-2.0
# Other people's servers for the mongodb:// backend: fetched, built once, started on a free port.  Needs $here (this folder), lib.sh.
servers=$here
here=$servers/../clients
. "$here/driver.sh"
. "$here/go.sh"
. "$here/java.sh"
ferretdb_version=v1.24.2

# FerretDB wants its version in a file that its module lacks, so a copy is built.
build_ferretdb() {
    new_go
    fetch "$go_folder/ferretdb" "$servers/start.sh" -- sh -ec '
        module=github.com/FerretDB/FerretDB
        "$1" mod download "$module@$2"
        rm -rf source
        cp -R "$GOMODCACHE/$(echo "$module" | sed "s/[A-Z]/!&/g" | tr A-Z a-z)@$2" source
        chmod -R u+w source
        echo "$2" >source/build/version/version.txt
        cd source
        "$1" build -p 2 -buildvcs=false -tags ferretdb_no_postgresql -o ../ferretdb ./cmd/ferretdb' sh "$go" "$ferretdb_version"
}

# start_foreign ferretdb|mongo-java-server: sets $foreign_uri, which ends with a slash.
start_foreign() {
    mkdir -p "$scratch/foreign"
    case "$1" in
    ferretdb)
        build_ferretdb
        "$go_folder/ferretdb/ferretdb" --handler=sqlite --sqlite-url="file:$scratch/foreign/" --state-dir="$scratch/foreign" \
            --listen-addr=127.0.0.1:0 --debug-addr=- --telemetry=disable >"$scratch/foreign.out" 2>&1 &
        ;;
    mongo-java-server)
        build_java "$servers/java"
        java -Xmx768m -XX:+UseSerialGC -cp "$classpath" Server >"$scratch/foreign.out" 2>&1 &
        ;;
    esac
    echo $! >>"$scratch/pids"
    tries=0
    while ! grep -qE 'Listening on TCP [0-9]|^mongodb://' "$scratch/foreign.out"; do
        tries=$((tries + 1))
        if [ $tries -gt 1200 ] || ! kill -0 "$(tail -n 1 "$scratch/pids")" 2>/dev/null; then
            sed 's/^/# /' "$scratch/foreign.out"
            exit 1
        fi
        sleep 0.1
    done
    foreign_uri=mongodb://$(grep -oE '127\.0\.0\.1:[0-9]+' "$scratch/foreign.out" | head -n 1)/
}
