#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Run the model's writers as processes on a folder that `ashlar serve` holds.

usage: served.py ASHLAR folder|address MODEL-TREES [ARGUMENT…]
"""
import shutil
import subprocess
import sys
import tempfile


def main():
    ashlar, way, model = sys.argv[1:4]
    folder = tempfile.mkdtemp(prefix="ash-trees-")
    server = subprocess.Popen([ashlar, "-s", folder, "serve", "--mongo", "127.0.0.1:0"], stdout=subprocess.PIPE, text=True)
    try:
        uri = server.stdout.readline().strip()
        if not uri.startswith("mongodb://"):
            print(f"the server did not start: {uri}")
            return 1
        store = folder if way == "folder" else uri
        return subprocess.run([model, "--uri", store, *sys.argv[4:]], check=False).returncode
    finally:
        server.terminate()
        server.wait(timeout=60)
        shutil.rmtree(folder)


sys.exit(main())
