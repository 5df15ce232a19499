# SPDX-License-Identifier: Apache-2.0
# For check.sh and beside.sh: their arguments, a server, and the checker on it.  Needs $self and lib.sh.
# Arguments: [SECONDS [OURS [PEERS [SEED [SKEW]]]]]     default: 46 s, 10, 6, any, 3 s
seconds=${1:-46}
ours=${2:-10}
peers=${3:-6}
seed=${4:-$(od -An -N3 -tu4 /dev/urandom | tr -d ' ')}
skew=${5:-3}

start_server "$scratch/store" || exit 1

check() { # DATABASE ARGS…
    database=$1
    shift
    python3 "$self/check.py" "mongodb://$server_address/$database" --worker "$LOCK_WORKER" --seed "$seed" --skew "$skew" "$@"
}
