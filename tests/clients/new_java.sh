#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# mongodb-driver-sync, the driver for Java.  usage: ASHLAR=… new_java.sh   (jars go to $ASH_JAVA_FOLDER, default: a scratch folder)
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib.sh"
. "$here/driver.sh"
. "$here/java.sh"

build_java "$here/java"
start_for_driver

# option NAME: of the address
option() {
    printf %s "$uri" | tr '?&' '\n\n' | sed -n "s/^$1=//p"
}

# Java knows stores of certificates and keys, which are settings of the process; no option of an address leads to them.
java_tls() {
    : >"$scratch/java.args"
    authority=$(option tlsCAFile)
    certificate=$(option tlsCertificateKeyFile)
    if [ -n "$authority" ]; then
        [ -f "$authority.p12" ] || keytool -importcert -noprompt -alias ca -file "$authority" -keystore "$authority.p12" -storetype PKCS12 \
            -storepass changeit >"$scratch/keytool" 2>&1
        printf '"-Djavax.net.ssl.%s"\n' "trustStore=$authority.p12" trustStorePassword=changeit >>"$scratch/java.args"
    fi
    if [ -n "$certificate" ]; then
        [ -f "$certificate.p12" ] || openssl pkcs12 -export -in "$certificate" -out "$certificate.p12" -passout pass:changeit
        printf '"-Djavax.net.ssl.%s"\n' "keyStore=$certificate.p12" keyStorePassword=changeit >>"$scratch/java.args"
    fi
}

driver() {
    java_tls
    java "@$scratch/java.args" -Xmx512m -XX:+UseSerialGC -cp "$classpath" Client "$uri" "$@" 2>"$scratch/java.err" || {
        grep -v SLF4J "$scratch/java.err" >&2
        return 1
    }
}

run_driver_cases
