#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# mongodb-driver-sync, the driver for Java.  usage: ASHLAR=… new_java.sh   (jars go to $ASH_JAVA_FOLDER, default: a scratch folder)
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib.sh"
. "$here/driver.sh"
. "$here/java.sh"

build_java "$here/java"
start_for_driver

client() {
    java -Xmx512m -XX:+UseSerialGC -cp "$classpath" Client "$uri" "$@" 2>"$scratch/java.err" || {
        grep -v SLF4J "$scratch/java.err" >&2
        return 1
    }
}

gridfs() {
    client gridfs "$@"
}

crud() {
    client crud "$@"
}

case_gridfs() {
    does_gridfs
}

case_every_day() {
    crud all -
}

case_streams_resume_after_restarts() {
    resumes_after_restarts
}

case_store_is_clean_afterwards() {
    leaves_a_clean_store
}

run_cases
