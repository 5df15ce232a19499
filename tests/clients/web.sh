# SPDX-License-Identifier: Apache-2.0
# For scripts that try clients of WebDAV; source it behind lib.sh.

# start_web [ARGS…]: a server on a fresh store; sets $http, its address without a slash at the end.
start_web() {
    start_server "$scratch/store" --http 127.0.0.1:0 "$@" || return 1
    tries=0
    until grep -qs '^http://' "$scratch/server.out"; do
        tries=$((tries + 1))
        [ $tries -lt 200 ] || return 1
        sleep 0.05
    done
    # shellcheck disable=SC2034 # for who sources this
    http=$(sed -n 's|^\(http://[^/]*\)/.*|\1|p' "$scratch/server.out" | head -n 1)
}

# The store has no finding, whatever the clients did.
expect_sound() {
    "$ASHLAR" -s "$scratch/store" check >"$scratch/check" || {
        cat "$scratch/check"
        return 1
    }
}
