# SPDX-License-Identifier: Apache-2.0
# For tests in Java: fetches what a pom.xml names, compiles beside it.  Needs lib.sh, driver.sh and $here; sets $classpath.
java_folder=${ASH_JAVA_FOLDER:-$scratch/java}

# build_java FOLDER: of sources and a pom.xml.
build_java() {
    command -v javac >/dev/null 2>&1 || skip_all "javac is not installed (Debian: default-jdk-headless)"
    command -v mvn >/dev/null 2>&1 || skip_all "maven is not installed (Debian: maven)"
    built=$java_folder/$(basename "$1")
    fetch "$built" "$1/pom.xml" -- mvn -q -B -f "$1/pom.xml" -Dmaven.repo.local="$java_folder/repository" \
        org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies -DoutputDirectory="$built/jars"
    mkdir -p "$built/classes"
    javac -encoding UTF-8 -cp "$built/jars/*" -d "$built/classes" "$1"/*.java >"$built/javac.log" 2>&1 || {
        sed 's/^/# /' "$built/javac.log"
        exit 1
    }
    classpath="$built/classes:$built/jars/*"
}
