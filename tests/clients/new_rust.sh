#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The mongodb crate, the driver for Rust.  usage: ASHLAR=… new_rust.sh   (crates and objects go to $ASH_RUST_FOLDER, default: a scratch folder)
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib.sh"
. "$here/driver.sh"
folder=${ASH_RUST_FOLDER:-$scratch/rust}

command -v cargo >/dev/null 2>&1 || skip_all "cargo is not installed (Debian 12: rustc-web and cargo-web)"
cargo --version | grep -qE ' 1\.(8[89]|9[0-9]|[1-9][0-9][0-9])\.' || skip_all "the crate needs Rust 1.88 (Debian 12: rustc-web and cargo-web)"
mkdir -p "$folder"
export CARGO_HOME="$folder/home" CARGO_TARGET_DIR="$folder/target"
fetch "$folder" "$here/rust/Cargo.toml" -- sh -ec 'mkdir -p client && cp "$1"/* client && cd client && cargo generate-lockfile && cargo fetch --target "$(rustc -vV | sed -n "s/^host: //p")"' sh "$here/rust"
cp "$here"/rust/* "$folder/client/"
(cd "$folder/client" && cargo build --offline -j 2) >"$folder/build.log" 2>&1 || {
    tail -n 40 "$folder/build.log" | sed 's/^/# /'
    exit 1
}
start_for_driver

driver() {
    "$folder/target/debug/client" "$uri" "$@"
}

names_are_escaped=no
# It tells the server what name its certificate has in a field that no server reads.
names_itself=no
run_driver_cases
