# SPDX-License-Identifier: Apache-2.0
# For the script of one driver, fetched from its own registry: what a driver must do.  Needs $here, lib.sh, and of the script
#   gridfs upload|verify|all NAME SIZE   (prints what it verified), crud all|mark|resume FILE
# both on $uri, and
#   users insert|read|create NAME   (prints "done", or the error), as whom $uri names.  What was fetched and built is kept between runs, in folders that the environment names.
size=8388608
. "$here/restart.sh"
. "$here/../tls_files.sh"
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

# as WHO ACTION NAME: WHO is user:password@, $uri being of the server where users are asked for.
as() {
    uri="mongodb://$1$server_address/?${options:-}"
    shift
    users "$@"
}

refuses() { # TEXT, of what is read
    cat >"$scratch/refused"
    if ! grep -Eq "$1" "$scratch/refused"; then
        echo "not refused with $1, but: $(cat "$scratch/refused")" >&2
        return 1
    fi
}

# By each mechanism: the right password, a wrong one, and what a role does not allow.  Its server is another one, so that it comes
# behind those cases that need the script's.
signs_in() {
    rm -rf "$scratch/users" # of another interface of the same driver
    start_server "$scratch/users" --auth
    root='root:p%40%C3%9F%3Aw%2Frd%25%2C@'
    # The crate does not write these characters of a name as SCRAM has them.
    [ "${names_are_escaped:-yes}" = yes ] && odd='a,b=c' typed=a%2Cb%3Dc || odd='a.b' typed=a.b
    echo 'p@ß:w/rd%,' | "$ASHLAR" -s "$scratch/users" user add root --role root
    echo 'IX' | "$ASHLAR" -s "$scratch/users" user add "$odd" --role read@files
    options=
    as '' read nothing | refuses 'requires authentication|Unauthorized'
    for mechanism in SCRAM-SHA-1 SCRAM-SHA-256; do
        options="authMechanism=$mechanism"
        [ "$(as $root insert $mechanism)" = done ]
        as root:wrong@ insert $mechanism | refuses 'Authentication ?[Ff]ailed|SCRAM failure'
        as nobody:wrong@ insert $mechanism | refuses 'Authentication ?[Ff]ailed|SCRAM failure'
        [ "$(as $root create "ann-$mechanism")" = done ]
        options="$options&authSource=files"
        [ "$(as "ann-$mechanism:crayon@" read $mechanism)" = done ]
        as "ann-$mechanism:crayon@" insert $mechanism | refuses 'not authorized|Unauthorized'
        as "ann-$mechanism:crayon@" create ben | refuses 'not authorized|Unauthorized'
    done
    # What the driver chooses by itself; the password is prepared as RFC 4013 has it: the Roman number IX is two letters, and a soft
    # hyphen none.
    options=
    [ "$(as $typed:%E2%85%A8%C2%AD@ read SCRAM-SHA-256)" = done ]
    [ "$(as $root insert chosen)" = done ]
    fails grep -q 'crayon\|rd%' "$scratch/server.err"
    stop_server
}

# over_tls CERTIFICATE USER@ OPTIONS ACTION NAME: the certificate is one of tls_files.sh, or ""; so is the user.
over_tls() {
    options="tls=true&tlsCAFile=$pki/${ca:-ca}.pem&$3"
    [ -z "$1" ] || options="$options&tlsCertificateKeyFile=$pki/$1.pem"
    as "$2" "$4" "$5"
}

# Over TLS by a password, and by a certificate in its place, whether the address names the certificate's subject or not.
signs_in_over_tls() {
    serve_tls_users "$scratch/tls"
    for mechanism in SCRAM-SHA-1 SCRAM-SHA-256; do
        scram=authMechanism=$mechanism
        [ "$(over_tls '' root:pencil@ $scram insert password)" = done ]
        over_tls '' root:wrong@ $scram insert password | refuses 'Authentication ?[Ff]ailed|SCRAM failure'
    done
    [ "$(over_tls ann '' "$x509" insert certificate)" = done ]
    [ "$(over_tls ann "$in_address@" "$x509" read certificate)" = done ]
    over_tls ann '' "$x509" create ben | refuses 'not authorized|Unauthorized'
    refuses_certificates
    stop_server
    fails grep -q pencil "$scratch/server.err"
}

refuses_certificates() {
    # One that is shown and not signed in by is nobody.
    over_tls ann '' retryReads=false read certificate | refuses 'requires authentication|Unauthorized'
    # Of whom there is no user, who says that it is ann, and none at all.
    over_tls nobody '' "$x509" read certificate | refuses 'Authentication ?[Ff]ailed'
    [ "${names_itself:-yes}" = no ] || over_tls nobody "$in_address@" "$x509" read certificate | refuses 'Authentication ?[Ff]ailed'
    over_tls '' "$in_address@" "$x509" read certificate | refuses 'Authentication ?[Ff]ailed'
    # By another authority: some drivers do not even show it to who does not ask for that one's, and the others may be writing already
    # when the server's refusal comes.
    soon='serverSelectionTimeoutMS=3000'
    over_tls forged '' "$x509&$soon" read certificate | refuses 'Authentication ?[Ff]ailed|[Cc]ertificate|[Uu]nknown ?(ca|CA)|reset|[Bb]roken ?[Pp]ipe|closed|EOF|[Ss]erver ?[Ss]election'
    # The driver looks at the server's, too, and nothing is said where TLS is expected.
    ca=stranger over_tls '' root:pencil@ "$scram&$soon" read password | refuses '[Cc]ertificate|PKIX'
    options=$soon
    as root:pencil@ read password | refuses '[Ss]erver ?[Ss]election|Timed out'
}

# For a driver whose program does it all, driver gridfs|crud|users …: all that is asked of a driver.
run_driver_cases() {
    gridfs() { driver gridfs "$@"; }
    crud() { driver crud "$@"; }
    users() { driver users "$@"; }
    case_gridfs() { does_gridfs; }
    case_every_day() { crud all -; }
    case_streams_resume_after_restarts() { resumes_after_restarts; }
    case_store_is_clean_afterwards() { leaves_a_clean_store; }
    case_users_sign_in() { signs_in; }
    case_users_sign_in_over_tls() { signs_in_over_tls; }
    run_these_cases case_gridfs case_every_day case_streams_resume_after_restarts case_store_is_clean_afterwards case_users_sign_in \
        case_users_sign_in_over_tls
}
