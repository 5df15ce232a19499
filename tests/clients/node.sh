# SPDX-License-Identifier: Apache-2.0
# For client tests in JavaScript: installs the packages of package.json once, into a folder that is kept between runs, and runs node
# so that it finds them.  Needs $here and lib.sh.
node_folder=${ASH_NODE_FOLDER:-$scratch/node}

install_node_packages() {
    [ -f "$node_folder/installed" ] && cmp -s "$here/package.json" "$node_folder/package.json" && return 0
    mkdir -p "$node_folder"
    cp "$here/package.json" "$node_folder/"
    (cd "$node_folder" && npm install --no-audit --no-fund --loglevel=error >npm.log 2>&1) || {
        sed 's/^/# /' "$node_folder/npm.log" >&2
        return 1
    }
    touch "$node_folder/installed"
}

# needs_node FOR: ends a case as a skip where Node.js is older than the newest packages want it.
needs_node() {
    node -e 'const [a, b] = process.versions.node.split("."); process.exit(a > 20 || (a == 20 && b >= 19) ? 0 : 1)' ||
        skip "$1 needs Node.js 20.19"
}

run_node() {
    # Modules are looked for beside the script first, so it runs from the packages' folder.
    cp "$1" "$node_folder/"
    script=$node_folder/$(basename "$1")
    shift
    node "$script" "$@"
}

install_node_packages || exit 1
