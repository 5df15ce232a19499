#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The newest npm mongodb, and mongoose.  usage: ASHLAR=… new_node.sh   (npm packages go to $ASH_NODE_FOLDER, default: a scratch folder)
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib.sh"
. "$here/driver.sh"
. "$here/node.sh"

start_for_driver

gridfs() {
    NODE_NO_WARNINGS=1 MONGODB_PACKAGE=mongodb-7 run_node "$here/node_gridfs.js" "$uri" "$@"
}

crud() {
    NODE_NO_WARNINGS=1 MONGODB_PACKAGE=mongodb-7 run_node "$here/node_crud.js" "$uri" "$@"
}

case_npm_mongodb_7_gridfs() {
    needs_node "npm mongodb 7"
    does_gridfs
}

case_npm_mongodb_7_every_day() {
    needs_node "npm mongodb 7"
    crud all -
}

case_npm_mongodb_7_streams_resume_after_restarts() {
    needs_node "npm mongodb 7"
    resumes_after_restarts
}

case_mongoose_8() {
    MONGOOSE_PACKAGE=mongoose-8 run_node "$here/mongoose.js" "$uri"
}

case_mongoose_9() {
    needs_node "mongoose 9"
    run_node "$here/mongoose.js" "$uri"
}

case_store_is_clean_afterwards() {
    leaves_a_clean_store
}

run_cases
