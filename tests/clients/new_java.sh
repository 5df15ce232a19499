#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# mongodb-driver-sync, the driver for Java.  usage: ASHLAR=… new_java.sh   (jars go to $ASH_JAVA_FOLDER, default: a scratch folder)
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib.sh"
. "$here/driver.sh"
. "$here/java.sh"

build_java "$here/java"
start_for_driver

driver() {
    java -Xmx512m -XX:+UseSerialGC -cp "$classpath" Client "$uri" "$@" 2>"$scratch/java.err" || {
        grep -v SLF4J "$scratch/java.err" >&2
        return 1
    }
}

run_driver_cases
