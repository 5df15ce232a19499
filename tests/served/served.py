#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Run a test program of the contract suite on a folder that `ashlar serve` holds.

usage: served.py ASHLAR folder|address|standalone|door PROGRAM [ARGUMENT]…

folder:  the program opens the folder, and must find its way to the server through the socket in it.
address: the program is given the server's mongodb:// URI.
standalone: likewise, of one that does not present itself as a replica set.
door: the program is given the server's nats:// URI, for its object stores.
"""
import os
import shutil
import subprocess
import sys
import tempfile


def main():
    ashlar, way, *program = sys.argv[1:]
    folder = tempfile.mkdtemp(prefix="ash-served-")
    options = {"standalone": ["--standalone"], "door": ["--nats", "127.0.0.1:0"]}.get(way, [])
    server = subprocess.Popen([ashlar, "-s", folder, "serve", "--mongo", "127.0.0.1:0", *options], stdout=subprocess.PIPE, text=True)
    try:
        uri = server.stdout.readline().strip()
        if not uri.startswith("mongodb://"):
            print(f"Bail out! the server did not start: {uri}")
            return 1
        if way == "door":
            uri = server.stdout.readline().strip()
        store = folder if way == "folder" else uri
        env = dict(os.environ, ASH_TEST_STORE=store, ASH_BUCKET_STORE=store, ASH_TREE_STORE=store, ASH_OBJECT_STORE=store)
        return subprocess.run(program, env=env, check=False).returncode
    finally:
        server.terminate()
        server.wait(timeout=30)
        shutil.rmtree(folder)


sys.exit(main())
