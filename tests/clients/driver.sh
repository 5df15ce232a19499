# SPDX-License-Identifier: Apache-2.0
# For the script of one driver, fetched from its own registry: what a driver must do.  Needs $here, lib.sh, and of the script
#   gridfs upload|verify|all NAME SIZE   (prints what it verified), crud all|mark|resume FILE
# both on $uri.  What was fetched and built is kept between runs, in folders that the environment names.
size=8388608
. "$here/restart.sh"
python=/usr/bin/python3
[ -x $python ] || python=python3

# fetch FOLDER LOCK… -- COMMAND…: runs COMMAND in FOLDER, unless it did well before with these very LOCKs (files).
# A driver that cannot be had is no fault of the server: the script ends as a counted skip.
fetch() {
    fetched=$1
    shift
    sum=
    while [ "$1" != -- ]; do
        sum="$sum $(cksum <"$1")"
        shift
    done
    shift
    [ "$sum" != "$(cat "$fetched/fetched" 2>/dev/null)" ] || return 0
    mkdir -p "$fetched"
    for try in 1 2; do
        if (cd "$fetched" && timeout 900 "$@") >"$fetched/fetch.log" 2>&1; then
            printf '%s' "$sum" >"$fetched/fetched"
            return 0
        fi
        sleep 5
    done
    tail -n 20 "$fetched/fetch.log" | sed 's/^/# /'
    skip_all "cannot be fetched: $(grep . "$fetched/fetch.log" | tail -n 1 | cut -c 1-200)"
}

start_for_driver() {
    start_for_restarts
    debian_pymongo upload "for all" $size
    for_all=$(debian_pymongo verify "for all" $size)
}

debian_pymongo() {
    $python "$here/pymongo_gridfs.py" "$uri" "$@"
}

# All of GridFS; what it uploads others read, and it reads what another uploaded.
does_gridfs() {
    gridfs all "everything" $size
    gridfs upload "from it" $size
    expected=$(debian_pymongo verify "from it" $size)
    [ "$("$ASHLAR" -s "$scratch/store" sum "from it" | cut -d' ' -f1)" = "$expected" ]
    [ "$(gridfs verify "for all" $size)" = "$for_all" ]
}

resumes_after_restarts() {
    for signal in TERM KILL; do
        crud mark "$scratch/token"
        restart_server $signal
        crud resume "$scratch/token"
    done
}

leaves_a_clean_store() {
    end_server TERM
    "$ASHLAR" -s "$scratch/store" check
}

# For a driver whose program does both, driver gridfs|crud …: all that is asked of a driver.
run_driver_cases() {
    gridfs() { driver gridfs "$@"; }
    crud() { driver crud "$@"; }
    case_gridfs() { does_gridfs; }
    case_every_day() { crud all -; }
    case_streams_resume_after_restarts() { resumes_after_restarts; }
    case_store_is_clean_afterwards() { leaves_a_clean_store; }
    run_these_cases case_gridfs case_every_day case_streams_resume_after_restarts case_store_is_clean_afterwards
}
