#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""TLS with unmodified pymongo, and with sockets that break the handshake off.

usage: tls.py ADDRESS PKI CASE [ARGUMENT]
"""
import os
import socket
import ssl
import sys
import time

import pymongo
import pymongo.errors

HOST, PORT = sys.argv[1].rsplit(":", 1)
PKI = sys.argv[2]
AUTHENTICATION_FAILED, UNAUTHORIZED = 18, 13


def client(certificate=None, ca="ca", **options):
    if certificate is not None:
        options["tlsCertificateKeyFile"] = os.path.join(PKI, certificate + ".pem")
    return pymongo.MongoClient(HOST, int(PORT), tls=True, tlsCAFile=os.path.join(PKI, ca + ".pem"),
                               serverSelectionTimeoutMS=options.pop("timeout", 10000), retryReads=False, **options)


def by_certificate(certificate, **options):
    return client(certificate, authMechanism="MONGODB-X509", **options)


def code_of(action):
    try:
        action()
    except pymongo.errors.OperationFailure as error:
        return error.code
    return 0


def unreachable(connection):
    try:
        connection.admin.command("ping")
    except (pymongo.errors.ServerSelectionTimeoutError, pymongo.errors.AutoReconnect):
        return True
    return False


def case_passwords():
    for mechanism in "SCRAM-SHA-1", "SCRAM-SHA-256":
        root = client(username="root", password="pencil", authMechanism=mechanism)
        root.files.c.insert_one({"a": "x" * 3000000})
        assert len(root.files.c.find_one()["a"]) == 3000000
        assert code_of(lambda: client(username="root", password="wrong", authMechanism=mechanism)
                       .files.c.find_one()) == AUTHENTICATION_FAILED
    assert code_of(lambda: client().files.c.find_one()) == UNAUTHORIZED
    # A certificate alone does not sign in, and the server's is checked.
    assert code_of(lambda: client("ann").files.c.find_one()) == UNAUTHORIZED
    assert unreachable(client(ca="stranger", timeout=1500))
    plain = pymongo.MongoClient(HOST, int(PORT), serverSelectionTimeoutMS=1500)
    assert unreachable(plain)


def case_certificates():
    subject = sys.argv[4]
    for options in {}, {"username": subject}:
        ann = by_certificate("ann", **options)
        ann.files.c.insert_one({"by": "certificate"})
        who = ann.admin.command("connectionStatus")["authInfo"]["authenticatedUsers"]
        assert who == [{"user": subject, "db": "$external"}], who
        assert code_of(lambda: ann.other.c.find_one()) == UNAUTHORIZED
    assert code_of(lambda: by_certificate("ann", username="CN=root").files.c.find_one()) == AUTHENTICATION_FAILED
    assert code_of(lambda: by_certificate("nobody").files.c.find_one()) == AUTHENTICATION_FAILED
    assert code_of(lambda: by_certificate("nobody", username=subject).files.c.find_one()) == AUTHENTICATION_FAILED
    assert code_of(lambda: by_certificate(None, username=subject).files.c.find_one()) == AUTHENTICATION_FAILED
    # Of the same subject, by somebody else's authority.
    assert unreachable(by_certificate("forged", timeout=1500))
    # Made and dropped by drivers; what is open is out by the next command.
    root = client(username="root", password="pencil")
    external = root["$external"]
    external.command("createUser", "CN=nobody,O=Example", roles=[{"role": "read", "db": "files"}])
    nobody = by_certificate("nobody")
    assert nobody.files.c.find_one({"by": "certificate"}) is not None
    external.command("dropUser", "CN=nobody,O=Example")
    assert code_of(lambda: nobody.files.c.find_one()) == UNAUTHORIZED


def case_required():
    assert by_certificate("ann").files.command("ping")["ok"] == 1
    assert client("ann", username="root", password="pencil").files.command("ping")["ok"] == 1
    assert unreachable(client(username="root", password="pencil", timeout=1500))


# ---- broken off ----

def hello():
    """The first message of a handshake, as Python's OpenSSL makes it."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    context = ssl.create_default_context(cafile=os.path.join(PKI, "ca.pem"))
    try:
        context.wrap_bio(incoming, outgoing, server_hostname="localhost").do_handshake()
    except ssl.SSLWantReadError:
        pass
    return outgoing.read()


def say(address, data):
    s = socket.create_connection(address, 10)
    s.settimeout(60)
    try:
        s.sendall(data)
    except OSError:
        pass
    return s


def good(http):
    """Both doors answer, and soon."""
    began = time.monotonic()
    context = ssl.create_default_context(cafile=os.path.join(PKI, "ca.pem"))
    with context.wrap_socket(socket.create_connection(http, 20), server_hostname="localhost") as s:
        s.settimeout(20)
        s.sendall(b"GET /-/health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        assert s.recv(9) == b"HTTP/1.1 "
    assert client().admin.command("ping")["ok"] == 1
    assert time.monotonic() - began < 20


def case_broken():
    host, port = sys.argv[4].rsplit(":", 1)
    http, mongo = (host, int(port)), (HOST, int(PORT))
    first = hello()
    for door in http, mongo:
        # Garbage, a record that says it is huge, one that comes twice: over at once.
        for data in (b"\x00" * 300, os.urandom(2000), b"\x16\x03\x01\xff\xff" + b"\x01" * 70000, first + first,
                     b"\x15\x03\x03\x00\x02\x02\x28", b"\x16\x03\x01\x00\x00" * 100):
            s = say(door, data)
            try:
                while s.recv(65536):
                    pass
            except ConnectionError:
                pass
            s.close()
        good(http)
    held = [say(door, first[:len(first) // 2]) for _ in range(50) for door in (http, mongo)]
    held += [say(door, first) for _ in range(50) for door in (http, mongo)]
    for _ in range(3):
        good(http)
    # Those are not kept for ever.
    for s in (held[0], held[1], held[-1], held[-2]):
        s.settimeout(60)
        try:
            while s.recv(65536):
                pass
        except ConnectionError:
            pass
    for s in held:
        s.close()
    good(http)


globals()["case_" + sys.argv[3]]()
