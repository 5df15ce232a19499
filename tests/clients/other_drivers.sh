#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Drivers beyond those of gridfs.sh, older ones among them, do GridFS on `ashlar serve`; what each uploads pymongo verifies, and what
# pymongo uploads each verifies.  A driver that is not installed is a counted skip.
# usage: ASHLAR=… other_drivers.sh   (npm packages go to $ASH_NODE_FOLDER, Go's cache to $ASH_GO_FOLDER, default: scratch folders)
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib.sh"
. "$here/node.sh"
. "$here/go_v1.sh"
size=8388608
python=/usr/bin/python3
[ -x $python ] || python=python3

start_server "$scratch/store" || exit 1
uri="mongodb://$server_address/"

pymongo() {
    $python "$here/pymongo_gridfs.py" "$uri" "$@"
}

client() { # DRIVER ACTION NAME
    driver=$1
    shift
    set -- "$uri" "$@" $size
    case "$driver" in
    mongodb-*) NODE_NO_WARNINGS=1 MONGODB_PACKAGE=$driver run_node "$here/node_gridfs.js" "$@" ;;
    gridfs-stream-*)
        NODE_NO_WARNINGS=1 MONGODB_PACKAGE=mongodb-${driver##*-} run_node "$here/node_gridfs_stream.js" "$@"
        ;;
    go)
        shift
        "$go_v1" "$uri" gridfs "$@"
        ;;
    php) php "$here/php_gridfs.php" "$@" ;;
    perl) perl "$here/perl_gridfs.pl" "$@" ;;
    ruby) ruby -W0 "$here/ruby_gridfs.rb" "$@" ;;
    esac
}

works() { # DRIVER
    client "$1" all "everything by $1"
    client "$1" upload "from $1"
    expected=$(pymongo verify "from $1" $size)
    [ "$("$ASHLAR" -s "$scratch/store" sum "from $1" | cut -d' ' -f1)" = "$expected" ]
    [ "$(client "$1" verify "for all")" = "$for_all" ]
}

pymongo upload "for all" $size
for_all=$(pymongo verify "for all" $size)

case_gridfs_stream_on_mongodb_2() {
    works gridfs-stream-2
}

case_gridfs_stream_on_mongodb_3() {
    works gridfs-stream-3
}

case_npm_mongodb_2() {
    works mongodb-2
}

case_npm_mongodb_3() {
    works mongodb-3
}

case_npm_mongodb_4() {
    works mongodb-4
}

case_npm_mongodb_5() {
    works mongodb-5
}

case_npm_mongodb_7() {
    node -e 'const [a, b] = process.versions.node.split("."); process.exit(a > 20 || (a == 20 && b >= 19) ? 0 : 1)' ||
        skip "npm mongodb 7 needs Node.js 20.19"
    works mongodb-7
}

case_go() {
    build_go_v1
    works go
}

case_php() {
    command -v php >/dev/null 2>&1 || skip "php is not installed (Debian: php-cli)"
    php -r 'exit(extension_loaded("mongodb") ? 0 : 1);' || skip "PHP's driver is not installed (Debian: php-mongodb)"
    works php
}

case_perl() {
    perl -MMongoDB -e 1 2>/dev/null || skip "Perl's driver is not installed (Debian: libmongodb-perl)"
    works perl
}

case_ruby() {
    command -v ruby >/dev/null 2>&1 || skip "ruby is not installed (Debian: ruby)"
    ruby -e 'require "mongo"' 2>/dev/null || skip "Ruby's driver is not installed (Debian: ruby-mongo)"
    works ruby
}

case_store_is_clean_afterwards() {
    "$ASHLAR" -s "$scratch/store" check >/dev/null
    stop_server
    "$ASHLAR" -s "$scratch/store" check >/dev/null
}

run_cases
