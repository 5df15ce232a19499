#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The contract, bucket and lock suites on somebody else's server.  What it lacks is named test by test in SERVER.txt.
# usage: ASHLAR=… ASH_TESTS_FOLDER=… suites.sh ferretdb|mongo-java-server
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib.sh"
. "$here/start.sh"

start_foreign "$1"
TMPDIR=$scratch $python "$servers/suites.py" "$foreign_uri" "$servers/$1.txt" "$servers/.." "${ASH_TESTS_FOLDER:?}" contract bucket lock
