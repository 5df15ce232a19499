#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `ashlar user`: on a folder and through its server; passwords by a line of standard input, or typed twice.
# usage: ASHLAR=… user.sh
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib.sh"

users() {
    "$ASHLAR" -s "$scratch/store" user "$@"
}

# ends_with STATUS PASSWORD ARGS…
ends_with() {
    wanted=$1
    line=$2
    shift 2
    got=0
    echo "$line" | users "$@" 2>"$scratch/err" || got=$?
    [ "$got" = "$wanted" ]
}

case_users_of_a_folder() {
    echo pencil | users add root --role root
    echo crayon | users add ann --db files --role readWrite --role read@other
    users ls >"$scratch/list"
    printf 'root@admin\troot@admin\nann@files\treadWrite@files read@other\n' | sort >"$scratch/wanted"
    sort "$scratch/list" | cmp - "$scratch/wanted"
    [ "$(users ls --db files | cut -f1)" = ann@files ]
    "$ASHLAR" -s "$scratch/store" --json user ls >"$scratch/list"
    grep -q '"user" : "ann"' "$scratch/list"
    fails grep -q storedKey "$scratch/list"
}

# Each prints the user as it is then, and nothing else.
case_programs_are_told_what_was_done() {
    printf 'pencil\n' | users --json add json --role read@files >"$scratch/out"
    users --json grant json --role dbAdmin@files >>"$scratch/out"
    users --json revoke json --role read@files >>"$scratch/out"
    printf 'crayon\n' | users --json passwd json >>"$scratch/out"
    users --json --dry-run rm json >>"$scratch/out"
    users --json rm json >>"$scratch/out"
    [ "$(grep -c '^{ "_id" : .*"user" : "json", "db" : "admin"' "$scratch/out")" = 6 ]
    [ "$(wc -l <"$scratch/out")" = 6 ]
    [ "$(grep -c '"role" : "read", "db" : "files"' "$scratch/out")" = 2 ]
    [ "$(grep -c '"role" : "dbAdmin"' "$scratch/out")" = 5 ]
    fails grep -q storedKey "$scratch/out"
    fails grep -q '"json"' <<END
$(users --json ls)
END
}

case_what_is_no_user_is_refused() {
    ends_with 5 x add ann --db files
    ends_with 4 x add bob --role nothing
    ends_with 4 x add bob --role root@files
    ends_with 2 x add bob --role @files
    expect_status 2 "$ASHLAR" -s "$scratch/store" user add bob </dev/null
    ends_with 2 '' add bob
    # Is it of a database, or a name with an "@"?
    expect_status 2 "$ASHLAR" -s "$scratch/store" user rm ann@files
    grep -q -- '--db files ann' "$scratch/err"
    expect_status 4 "$ASHLAR" -s "$scratch/store" user rm bob
    ends_with 4 x passwd bob
    expect_status 2 "$ASHLAR" -s "$scratch/store" user grant ann --db files
    [ "$(users ls | wc -l)" = 2 ]
}

case_roles_come_and_go() {
    users grant ann --db files --role dbAdmin
    users ls --db files | grep -q 'dbAdmin@files'
    users revoke ann --db files --role dbAdmin --role read@other
    [ "$(users ls --db files | cut -f2)" = readWrite@files ]
    # What is not there is told, and nothing else is taken.
    expect_status 4 users revoke ann --db files --role readWrite --role read@other
    grep -q 'ann@files has not the role read@other' "$scratch/err"
    expect_status 4 users revoke nobody --role read@other
    [ "$(users ls --db files | cut -f2)" = readWrite@files ]
    users grant ann --db files --role readWrite >"$scratch/said"
    grep -q 'had all of that already' "$scratch/said"
}

case_limits() {
    users limit ann --db files >"$scratch/said"
    grep -q 'ann@files: any number of connections' "$scratch/said"
    users limit ann --db files --connections 3 --bytes 2k >"$scratch/said"
    users limit ann --db files --operations 100 >"$scratch/said"
    grep -q '^ann@files: 3 connections$' "$scratch/said"
    grep -q '^ann@files: 100 operations a second$' "$scratch/said"
    grep -q '^ann@files: 2048 bytes a second$' "$scratch/said"
    users limit ann --db files --connections none >"$scratch/said"
    grep -q 'any number of connections' "$scratch/said"
    expect_status 2 "$ASHLAR" -s "$scratch/store" user limit ann --db files --operations many
    expect_status 2 "$ASHLAR" -s "$scratch/store" user limit ann --db files --operations 0
    expect_status 4 "$ASHLAR" -s "$scratch/store" user limit nobody --operations 3
    # Another password, and more roles, leave them.
    echo crayon | users passwd ann --db files
    users grant ann --db files --role dbAdmin
    users revoke ann --db files --role dbAdmin
    users limit ann --db files | grep -q '^ann@files: 100 operations a second$'
    "$ASHLAR" -q -s "$scratch/store" user limit ann --db files | grep -q '100 operations'
    users --json limit ann --db files | grep -q '"user" : "ann", "db" : "files", "connections" : null, "operations" : 100, "bytes" : 2048'
    users limit ann --db files --operations none --bytes none
}

# -d is the same as --db, before the verb and behind it; it said nothing, once, and the user was admin's.
case_either_way_to_say_a_database() {
    echo pencil | users add -d lists dan >"$scratch/said"
    grep -q '^added dan@lists, who has no roles' "$scratch/said"
    echo pencil | "$ASHLAR" -d lists -s "$scratch/store" user add eve --role read >"$scratch/said"
    grep -q '^added eve@lists$' "$scratch/said"
    [ "$(users ls -d lists | cut -f1 | tr '\n' ' ')" = 'dan@lists eve@lists ' ]
    users token -d lists add dan >"$scratch/token"
    users token rm "$(cut -c8-23 "$scratch/token")"
    users rm -d lists dan
    users rm --db lists eve
}

case_the_same_through_the_server() {
    start_server "$scratch/store"
    echo x | users add bob --role read@files
    "$ASHLAR" -s "mongodb://bob:x@$server_address/files?authSource=admin" ls
    echo y | users passwd bob
    expect_status 9 "$ASHLAR" -s "mongodb://bob:x@$server_address/files?authSource=admin" ls
    "$ASHLAR" -s "mongodb://bob:y@$server_address/files?authSource=admin" ls
    echo hello >"$scratch/hello"
    expect_status 9 "$ASHLAR" -s "mongodb://bob:y@$server_address/files?authSource=admin" put "$scratch/hello" hello
    users grant bob --role readWrite@files
    "$ASHLAR" -s "mongodb://bob:y@$server_address/files?authSource=admin" put "$scratch/hello" hello
    users rm bob
    expect_status 9 "$ASHLAR" -s "mongodb://bob:y@$server_address/files?authSource=admin" ls
    fails grep -q 'pencil\|crayon' "$scratch/server.err"
    stop_server
}

case_users_of_certificates() {
    users add --external CN=cid,O=Example --role readWrite@files --role clusterMonitor </dev/null
    users add --db '$external' CN=dot,O=Example </dev/null
    [ "$(users ls --db '$external' | head -n 1)" = "$(printf 'CN=cid,O=Example@$external\treadWrite@files clusterMonitor@admin')" ]
    users grant --db '$external' CN=dot,O=Example --role readAnyDatabase
    users ls --db '$external' | grep -q 'dot.*readAnyDatabase@admin'
    ends_with 2 pencil passwd --db '$external' CN=dot,O=Example
    ends_with 2 '' add --external --db files CN=eve
    # As it is shown without -nameopt, and by other tools.
    ends_with 2 '' add --external 'O = Example, CN = eve'
    grep -q 'nameopt RFC2253' "$scratch/err"
    ends_with 2 '' add --external /O=Example/CN=eve
    users rm --db '$external' CN=cid,O=Example
    users rm --db '$external' CN=dot,O=Example
}

case_not_on_an_address() {
    start_server "$scratch/store"
    expect_status 1 "$ASHLAR" -s "mongodb://root:pencil@$server_address/?authSource=admin" user ls
    stop_server
}

case_the_last_one_is_told() {
    users rm -n ann --db files
    users ls | grep -q '^ann@files'
    users rm ann --db files 2>"$scratch/err"
    fails grep -q 'last user' "$scratch/err"
    users rm root 2>"$scratch/err"
    grep -q 'last user' "$scratch/err"
    # With nobody there it is as before, unless --auth says otherwise.
    start_server "$scratch/store"
    "$ASHLAR" -s "mongodb://$server_address/" ls
    stop_server
    start_server "$scratch/store" --auth
    expect_status 9 "$ASHLAR" -s "mongodb://$server_address/" ls
    "$ASHLAR" -s "$scratch/store" ls
    stop_server
}

case_other_doors_are_told_of() {
    echo x | users add bob --role read@files
    start_server "$scratch/store" --nats 127.0.0.1:0
    stop_server
    grep -q 'NATS asks nobody' "$scratch/server.err"
    users rm bob 2>/dev/null
    start_server "$scratch/store" --nats 127.0.0.1:0
    stop_server
    fails grep -q 'asks nobody' "$scratch/server.err"
}

case_the_log_says_whether_anybody_is_asked() {
    start_server "$scratch/store"
    grep -q 'nobody has to sign in: there are no users' "$scratch/server.err"
    echo x | users add bob --role read@files
    grep -q 'there is a user now: clients have to sign in' "$scratch/server.err"
    echo x | users add cay --role read@files
    users rm bob
    users rm cay 2>/dev/null
    stop_server
    [ "$(grep -c 'there is a user now' "$scratch/server.err")" = 1 ]
    [ "$(grep -c 'last user was removed: nobody has to sign in any more' "$scratch/server.err")" = 1 ]
    start_server "$scratch/store" --auth
    grep -q ' clients have to sign in$' "$scratch/server.err"
    echo x | users add bob --role read@files
    users rm bob 2>/dev/null
    stop_server
    grep -q 'last user was removed: nobody can sign in any more' "$scratch/server.err"
}

case_tokens() {
    echo pencil | users add eve --role readWrite@test
    users token add eve >"$scratch/token" 2>"$scratch/err"
    grep -Eqx 'ashlar_[0-9a-f]{80}' "$scratch/token"
    token=$(cat "$scratch/token")
    users token --read --path /docs --expires 30d add eve >"$scratch/narrow"
    users token ls eve >"$scratch/out"
    [ "$(wc -l <"$scratch/out")" -eq 2 ]
    grep -q ' eve@admin  until .*  never used  reads  /docs$' "$scratch/out"
    users --json token ls | grep -q '"readOnly" : true, "path" : "/docs"'
    # Neither the list nor the store has the token.
    fails grep -rq "$token" "$scratch/out" "$scratch/err" "$scratch/store"
    fails grep -rq "$(printf %s "$token" | cut -c24-)" "$scratch/store"
    start_server "$scratch/store" --http 127.0.0.1:0
    url=$(sed -n 's|^\(http://.*\)/$|\1|p' "$scratch/server.out")
    [ "$(curl -s -o /dev/null -w '%{http_code}' "$url/")" = 401 ]
    [ "$(curl -s -o /dev/null -w '%{http_code}' -H "Authorization: Bearer $token" "$url/")" = 200 ]
    [ "$(curl -s -o /dev/null -w '%{http_code}' -u "eve:$token" "$url/")" = 200 ]
    [ "$(curl -s -o /dev/null -w '%{http_code}' -u "eve:pencil" "$url/")" = 200 ]
    # Taken back beside the server, which refuses the next request.
    users token rm "$(printf %s "$token" | cut -c8-23)"
    [ "$(curl -s -o /dev/null -w '%{http_code}' -H "Authorization: Bearer $token" "$url/")" = 401 ]
    stop_server
    fails grep -q "$token" "$scratch/server.err"
    users token ls >"$scratch/out"
    [ "$(wc -l <"$scratch/out")" -eq 1 ]
    fails grep -q "$(printf %s "$token" | cut -c8-23)" "$scratch/out"
    expect_status 2 users token add
    expect_status 2 users token nothing
    expect_status 2 users token --read ls
    expect_status 2 users token --path docs add eve
    expect_status 4 users token add nobody
    expect_status 4 users token rm 0123456789abcdef
    # By itself, as people have it, and never said again.
    users token add eve >"$scratch/token"
    users token rm "$(cat "$scratch/token")"
    expect_status 4 users token rm "$(cat "$scratch/token")"
    fails grep -q "$(cut -c24-60 "$scratch/token")" "$scratch/err"
    users rm eve
    users token ls >"$scratch/out"
    [ "$(grep -c 'of no use: its user was removed$' "$scratch/out")" = 1 ]
    # Who comes after her with the same name has not made it.
    echo pencil | users add eve
    users token ls eve | grep -q 'of no use'
    users --json token ls eve | grep -q '"userIsGone" : true'
    users token add eve >"$scratch/token"
    users --json token ls eve | grep -q '"userIsGone" : false'
    users rm eve
}

case_typed_twice_and_not_shown() {
    cat >"$scratch/type.py" <<'PY'
import os, pty, sys, time

def run(lines):
    pid, fd = pty.fork()
    if pid == 0:
        os.execv(sys.argv[1], [sys.argv[1], "-s", sys.argv[2], "user", "add", "typed"])
    seen = b""
    for prompt, line in zip((b"Password: ", b"Again: "), lines):
        while not seen.endswith(prompt):
            seen += os.read(fd, 1000)
        os.write(fd, line + b"\n")
    try:
        while True:
            piece = os.read(fd, 1000)
            if not piece:
                break
            seen += piece
    except OSError:
        pass
    _, status = os.waitpid(pid, 0)
    assert b"pencil" not in seen, seen
    return os.waitstatus_to_exitcode(status)

assert run([b"pencil", b"pencils"]) == 2
assert run([b"pencil", b"pencil"]) == 0
PY
    timeout 60 python3 "$scratch/type.py" "$ASHLAR" "$scratch/store"
    [ "$(users ls | cut -f1)" = typed@admin ]
}

run_cases
