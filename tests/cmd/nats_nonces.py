#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A NATS server as far as signing in goes, whose first nonce makes a key's signature begin with a zero byte.

usage: nats_nonces.py KEY.pem PORT-FILE   (prints "signed" or "not signed" for each client, and ends with the first that signs)
"""
import json
import os
import socket
import subprocess
import sys


def sign(pem, nonce, scratch):
    with open(scratch, "w", encoding="ascii") as file:
        file.write(nonce)
    return subprocess.run(["openssl", "pkeyutl", "-sign", "-inkey", pem, "-rawin", "-in", scratch],
                          stdout=subprocess.PIPE, check=True).stdout


def main():
    pem, port_file = sys.argv[1:]
    nonces = ("nonce%d" % number for number in range(100000))
    unlucky = next(nonce for nonce in nonces if sign(pem, nonce, port_file + ".nonce")[0] == 0)
    lucky = next(nonce for nonce in nonces if sign(pem, nonce, port_file + ".nonce")[0] != 0)
    door = socket.create_server(("127.0.0.1", 0))
    with open(port_file + ".new", "w", encoding="ascii") as file:
        print(door.getsockname()[1], file=file)
    os.rename(port_file + ".new", port_file)
    for nonce in (unlucky, lucky):
        client, _ = door.accept()
        info = {"server_id": "x", "version": "2.9.0", "max_payload": 1 << 20, "headers": True, "auth_required": True, "nonce": nonce}
        client.sendall(b"INFO %s\r\n" % json.dumps(info).encode())
        connect = json.loads(client.makefile("rb").readline().split(b" ", 1)[1])
        print("signed" if connect.get("sig") else "not signed", flush=True)
        if connect.get("sig"):
            return
        client.sendall(b"-ERR 'Authorization Violation'\r\n")
        client.close()


main()
