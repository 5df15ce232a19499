# SPDX-License-Identifier: Apache-2.0
# For tests with Go's modules: a Go that is new enough for them, objects and modules in a folder that is kept between runs.
# Needs lib.sh, driver.sh and $here; sets $go.
go_folder=${ASH_GO_FOLDER:-$scratch/go}/modules
go=go

# Debian 12's Go is too old.  The compiler itself is a module too: any Go can fetch a newer one, though Debian's does not know how to run it.
new_go() {
    command -v go >/dev/null 2>&1 || skip_all "go is not installed (Debian: golang-go)"
    export GO111MODULE=on GOFLAGS=-modcacherw GOTOOLCHAIN=local GOMODCACHE="$go_folder/cache" GOCACHE="$go_folder/objects"
    go version | fails grep -qE 'go1\.(2[5-9]|[3-9][0-9])' || return 0
    name=golang.org/toolchain@v0.0.1-go1.26.8.$(go env GOOS)-$(go env GOARCH)
    fetch "$go_folder/toolchain" "$here/go.sh" -- sh -ec 'go mod download "$1" && chmod -R u+x "$2/$1/bin" "$2/$1/pkg/tool"' sh "$name" "$GOMODCACHE"
    go=$GOMODCACHE/$name/bin/go
    unset GOROOT
}

# The modules that are named in that folder of tests/clients.
fetch_modules() { # FOLDER
    fetch "$go_folder/$1" "$here/$1/go.mod" "$here/$1/go.sum" -- sh -ec 'cp "$1/go.mod" "$1/go.sum" . && "$2" mod download' sh "$here/$1" "$go"
}
