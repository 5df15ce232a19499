#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Keys, and tokens signed by them, as NATS has them: what nk and nsc would make, by openssl alone.

usage: nats_keys.py FOLDER   (makes nkey.seed, nkey.public, ann.creds, operator.conf)
"""
import base64
import hashlib
import json
import os
import subprocess
import sys
import time

OPERATOR, ACCOUNT, USER, SEED = 14 << 3, 0, 20 << 3, 18 << 3


def openssl(*args, data=None):
    return subprocess.run(["openssl", *args], input=data, stdout=subprocess.PIPE, check=True).stdout


def crc(data):
    value = 0
    for byte in data:
        value ^= byte << 8
        for _ in range(8):
            value = (value << 1 ^ 0x1021 if value & 0x8000 else value << 1) & 0xFFFF
    return value.to_bytes(2, "little")


def text(data):
    return base64.b32encode(data + crc(data)).rstrip(b"=").decode()


class Key:
    def __init__(self, folder, name, role):
        self.pem = os.path.join(folder, name + ".pem")
        openssl("genpkey", "-algorithm", "ed25519", "-out", self.pem)
        raw = openssl("pkey", "-in", self.pem, "-outform", "DER")[-32:]
        public = openssl("pkey", "-in", self.pem, "-pubout", "-outform", "DER")[-32:]
        self.seed = text(bytes([SEED | role >> 5, (role & 31) << 3]) + raw)
        self.public = text(bytes([role]) + public)

    def sign(self, folder, data):
        path = os.path.join(folder, "to-sign")
        with open(path, "wb") as file:
            file.write(data)
        return openssl("pkeyutl", "-sign", "-inkey", self.pem, "-rawin", "-in", path)


def part(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=")


def token(folder, issuer, subject, name, claims):
    body = {"iat": int(time.time()), "iss": issuer.public, "name": name, "sub": subject.public, "nats": dict(claims, version=2)}
    body["jti"] = base64.b32encode(hashlib.sha256(json.dumps(body).encode()).digest()).rstrip(b"=").decode()
    signed = part(json.dumps({"typ": "JWT", "alg": "ed25519-nkey"}).encode()) + b"." + part(json.dumps(body).encode())
    return (signed + b"." + part(issuer.sign(folder, signed))).decode()


def main():
    folder = sys.argv[1]
    operator, account, system, user, nkey = (Key(folder, name, role) for name, role in (
        ("operator", OPERATOR), ("account", ACCOUNT), ("system", ACCOUNT), ("user", USER), ("nkey", USER)))
    limits = {name: -1 for name in ("subs", "data", "payload", "imports", "exports", "conn", "leaf", "mem_storage", "disk_storage",
                                    "streams", "consumer")}
    claims = {"type": "account", "limits": dict(limits, wildcards=True), "default_permissions": {"pub": {}, "sub": {}}}
    none = {"type": "account", "limits": {**limits, "wildcards": True, "mem_storage": 0, "disk_storage": 0, "streams": 0,
                                          "consumer": 0}, "default_permissions": {"pub": {}, "sub": {}}}
    files = {
        "nkey.seed": nkey.seed + "\n", "nkey.public": nkey.public,
        "ann.creds": "-----BEGIN NATS USER JWT-----\n%s\n------END NATS USER JWT------\n\n-----BEGIN USER NKEY SEED-----\n%s\n"
                     "------END USER NKEY SEED------\n" % (token(folder, account, user, "ann", {
                         "type": "user", "pub": {}, "sub": {}, "subs": -1, "data": -1, "payload": -1}), user.seed),
        "operator.conf": "operator: %s\nsystem_account: %s\nresolver: MEMORY\nresolver_preload: {\n%s: %s\n%s: %s\n}\n" % (
            token(folder, operator, operator, "op", {"type": "operator"}), system.public, account.public,
            token(folder, operator, account, "files", claims), system.public, token(folder, operator, system, "SYS", none)),
    }
    for name, content in files.items():
        with open(os.path.join(folder, name), "w", encoding="ascii") as file:
            file.write(content)


main()
