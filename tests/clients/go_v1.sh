# SPDX-License-Identifier: Apache-2.0
# For tests with version 1 of Go's driver, as Debian packages it.  Needs lib.sh and $here; sets $go_v1, the client (go/main.go).
go_v1_folder=${ASH_GO_FOLDER:-$scratch/go}/v1
go_v1=$go_v1_folder/client

# Debian's packages put Go's sources where a GOPATH wants them.
build_go_v1() {
    command -v go >/dev/null 2>&1 || skip "go is not installed (Debian: golang-go)"
    [ -d /usr/share/gocode/src/go.mongodb.org/mongo-driver ] ||
        skip "Go's driver is not installed (Debian: golang-mongodb-mongo-driver-dev)"
    rm -rf "$go_v1_folder/source"
    mkdir -p "$go_v1_folder/source"
    cp "$here/go_v1/driver_v1.go" "$go_v1_folder/source/"
    for file in main crud gridfs users; do
        sed 's|mongo-driver/v2/|mongo-driver/|' "$here/go/$file.go" >"$go_v1_folder/source/$file.go"
    done
    (cd "$go_v1_folder/source" &&
        GO111MODULE=off GOFLAGS='' GOPATH=/usr/share/gocode GOCACHE="$go_v1_folder/objects" go build -p 2 -o "$go_v1" .)
}
