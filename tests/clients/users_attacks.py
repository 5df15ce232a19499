#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What no driver would send to get in, or to get at more.

usage: users_attacks.py ADDRESS CASE
"""
import base64
import hashlib
import hmac
import os
import socket
import statistics
import struct
import sys
import threading
import time

import bson
import pymongo

ADDRESS = None
UNAUTHORIZED, FAILED, PROTOCOL = 13, 18, 17


class Raw:
    """A connection that says what it is told, also documents with two fields of a name."""

    def __init__(self, home="127.0.0.1"):
        self.socket = socket.create_connection(ADDRESS, timeout=30, source_address=(home, 0))

    def send(self, op_code, payload):
        self.socket.sendall(struct.pack("<iiii", 16 + len(payload), 1, 0, op_code) + payload)

    def receive(self):
        head = self.read(16)
        length, _, _, op_code = struct.unpack("<iiii", head)
        return op_code, self.read(length - 16)

    def read(self, count):
        data = b""
        while len(data) < count:
            piece = self.socket.recv(count - len(data))
            assert piece, "the server hung up"
            data += piece
        return data

    def run(self, command, db="admin", flags=0):
        body = command if isinstance(command, bytes) else document(*command.items(), ("$db", db))
        self.send(2013, struct.pack("<IB", flags, 0) + body)
        if flags & 2:
            return None
        return bson.decode(self.receive()[1][5:])


def document(*fields):
    """The fields in their order, names twice where they are given twice."""
    body = b"".join(element(name, value) for name, value in fields)
    return struct.pack("<i", len(body) + 5) + body + b"\0"


def element(name, value):
    if isinstance(value, Fields):
        return b"\3" + name.encode() + b"\0" + document(*value.fields)
    if isinstance(value, list) and any(isinstance(v, Fields) for v in value):
        return b"\4" + name.encode() + b"\0" + document(*((str(i), v) for i, v in enumerate(value)))
    return bson.encode({name: value})[4:-1]


class Fields:
    def __init__(self, *fields):
        self.fields = fields


# ---- SCRAM by hand ----

def digest(mechanism):
    return hashlib.sha1 if mechanism == "SCRAM-SHA-1" else hashlib.sha256


class Exchange:
    def __init__(self, raw, user, password, mechanism="SCRAM-SHA-256", flags="n,,", nonce=None):
        self.raw, self.user, self.password, self.mechanism, self.flags = raw, user, password, mechanism, flags
        self.nonce = nonce or base64.b64encode(os.urandom(24)).decode()
        self.bare = f"n={user},r={self.nonce}"

    def start(self):
        reply = self.raw.run({"saslStart": 1, "mechanism": self.mechanism, "payload": (self.flags + self.bare).encode(),
                              "options": {"skipEmptyExchange": True}})
        if reply["ok"] == 1:
            self.first = reply["payload"].decode()
            self.parts = dict(part.split("=", 1) for part in self.first.split(","))
        return reply

    def last(self, binding=None, nonce=None):
        binding = binding or base64.b64encode(self.flags.encode()).decode()
        hashed = digest(self.mechanism)
        password = self.password
        if self.mechanism == "SCRAM-SHA-1":
            password = hashlib.md5(f"{self.user}:mongo:{password}".encode()).hexdigest()
        salted = hashlib.pbkdf2_hmac(hashed().name, password.encode(), base64.b64decode(self.parts["s"]), int(self.parts["i"]))
        key = hmac.new(salted, b"Client Key", hashed).digest()
        without = f"c={binding},r={nonce or self.parts['r']}"
        message = f"{self.bare},{self.first},{without}"
        signature = hmac.new(hashed(key).digest(), message.encode(), hashed).digest()
        proof = base64.b64encode(bytes(a ^ b for a, b in zip(key, signature))).decode()
        return f"{without},p={proof}".encode()

    def proceed(self, payload, conversation=1):
        return self.raw.run({"saslContinue": 1, "conversationId": conversation, "payload": payload})

    def whole(self):
        reply = self.start()
        return reply if reply["ok"] != 1 else self.proceed(self.last())


def failed(reply):
    return reply["ok"] == 0 and reply["code"] == FAILED and reply["errmsg"] == "Authentication failed."


def client(user="root"):
    return pymongo.MongoClient(*ADDRESS, username=user, password="pencil", serverSelectionTimeoutMS=5000)


def make_root():
    pymongo.MongoClient(*ADDRESS).admin.command("createUser", "root", pwd="pencil", roles=["root"])
    return client()


def sign_in(user, db="admin"):
    raw = Raw()
    exchange = Exchange(raw, user, "pencil")
    reply = raw.run({"saslStart": 1, "mechanism": "SCRAM-SHA-256", "payload": ("n,," + exchange.bare).encode(),
                     "options": {"skipEmptyExchange": True}}, db)
    exchange.first = reply["payload"].decode()
    exchange.parts = dict(part.split("=", 1) for part in exchange.first.split(","))
    reply = raw.run({"saslContinue": 1, "conversationId": 1, "payload": exchange.last()}, db)
    assert reply["ok"] == 1 and reply["done"], reply
    return raw


# ---- cases ----

def case_replays():
    make_root()
    good = Exchange(Raw(), "root", "pencil")
    assert good.whole()["done"]
    payload = good.last()
    # The same client nonce gets another one of the server.
    again = Exchange(Raw(), "root", "pencil", nonce=good.nonce)
    again.start()
    assert again.parts["r"] != good.parts["r"] and again.parts["s"] == good.parts["s"]
    assert failed(again.proceed(payload))
    # After a failure the exchange is over, also for the right proof.
    assert again.proceed(again.last())["code"] == PROTOCOL
    # Twice on the connection on which it was good.
    assert good.proceed(payload)["code"] == PROTOCOL
    # Only the client's half of the nonce.
    half = Exchange(Raw(), "root", "pencil")
    half.start()
    assert failed(half.proceed(half.last(nonce=half.nonce)))


def case_steps_out_of_order():
    make_root()
    raw = Raw()
    assert raw.run({"saslContinue": 1, "conversationId": 1, "payload": b""})["code"] == PROTOCOL
    exchange = Exchange(raw, "root", "pencil")
    exchange.start()
    assert exchange.proceed(exchange.last(), conversation=2)["code"] == PROTOCOL
    # Proved, but not done: without skipEmptyExchange a step is to come.
    reply = raw.run({"saslStart": 1, "mechanism": "SCRAM-SHA-256", "payload": ("n,," + exchange.bare).encode()})
    exchange.first = reply["payload"].decode()
    exchange.parts = dict(part.split("=", 1) for part in exchange.first.split(","))
    assert not exchange.proceed(exchange.last())["done"]
    assert raw.run({"find": "c"}, "files")["code"] == UNAUTHORIZED
    assert exchange.proceed(b"")["done"]
    assert raw.run({"find": "c"}, "files")["ok"] == 1
    raw.run({"logout": 1})
    assert raw.run({"find": "c"}, "files")["code"] == UNAUTHORIZED
    # Proved, and dropped before it is done.
    root = client()
    root.admin.command("createUser", "ann", pwd="pencil", roles=["root"])
    exchange = Exchange(Raw(), "ann", "pencil")
    exchange.start()
    last = exchange.last()
    root.admin.command("dropUser", "ann")
    assert failed(exchange.proceed(last))


def case_channel_binding_flags():
    make_root()
    for flags in ("p=tls-unique,,", "p=tls-exporter,,", "p=,,", "x,,", "n,a=root,", ""):
        assert failed(Exchange(Raw(), "root", "pencil", flags=flags).start()), flags
    assert Exchange(Raw(), "root", "pencil", flags="y,,").whole()["done"]
    for flags, said in (("n,,", "y,,"), ("y,,", "n,,"), ("n,,", "p=tls-unique,,")):
        exchange = Exchange(Raw(), "root", "pencil", flags=flags)
        exchange.start()
        assert failed(exchange.proceed(exchange.last(binding=base64.b64encode(said.encode()).decode())))


def case_downgrades():
    root = make_root()
    root.admin.command("createUser", "new", pwd="pencil", roles=["root"], mechanisms=["SCRAM-SHA-256"])
    exchange = Exchange(Raw(), "new", "pencil", mechanism="SCRAM-SHA-1")
    assert exchange.start()["ok"] == 1
    assert failed(exchange.proceed(exchange.last()))
    for mechanism in ("PLAIN", "MONGODB-X509", "MONGODB-CR", "SCRAM-SHA-256-PLUS", "GSSAPI", "", "scram-sha-256"):
        assert Exchange(Raw(), "root", "pencil", mechanism=mechanism).start()["code"] == 334, mechanism


def case_nobody_looks_like_somebody():
    make_root()
    for mechanism in ("SCRAM-SHA-1", "SCRAM-SHA-256"):
        seen = {}
        for user in ("root", "nobody"):
            raw = Raw()
            exchange = Exchange(raw, user, "wrong", mechanism=mechanism)
            first, reply = exchange.start(), None
            reply = exchange.proceed(exchange.last())
            again = Exchange(Raw(), user, "wrong", mechanism=mechanism)
            again.start()
            assert again.parts["s"] == exchange.parts["s"], "the salt of nobody changes"
            for answer in (first, reply):
                for name in ("payload", "$clusterTime", "operationTime"):
                    answer.pop(name, None)
            seen[user] = (first, reply, exchange.parts["i"], len(exchange.first))
        assert seen["root"] == seen["nobody"], seen
    hellos = []
    for user in ("root", "nobody"):
        exchange = Exchange(None, user, "x")
        hello = Raw().run({"hello": 1, "saslSupportedMechs": "admin." + user, "speculativeAuthenticate": {
            "saslStart": 1, "mechanism": "SCRAM-SHA-256", "payload": ("n,," + exchange.bare).encode(), "db": "admin"}})
        hellos.append((hello["saslSupportedMechs"], set(hello["speculativeAuthenticate"])))
    assert hellos[0] == hellos[1], hellos
    times = {"root": [], "nobody": []}
    raw = Raw()
    for _ in range(300):
        for user, list_ in times.items():
            exchange = Exchange(raw, user, "x")
            began = time.perf_counter()
            exchange.start()
            list_.append(time.perf_counter() - began)
    somebody, nobody = (statistics.median(times[user]) for user in ("root", "nobody"))
    print(f"# first step: {somebody * 1e6:.0f} us for somebody, {nobody * 1e6:.0f} us for nobody")
    assert 0.33 < somebody / nobody < 3


def case_fields_given_twice():
    root = make_root()
    root.files.c.insert_one({"a": 1})
    root.other.secret.insert_one({"secret": 1})
    root.files.command("createRole", "look", privileges=[
        {"resource": {"db": "files", "collection": "c"}, "actions": ["find", "update"]}], roles=[])
    root.files.secret.insert_one({"secret": 1})
    root.files.command("createUser", "ann", pwd="pencil", roles=["look"])
    raw = sign_in("ann", "files")
    assert raw.run({"find": "c"}, "files")["ok"] == 1
    assert raw.run({"find": "secret"}, "files")["code"] == UNAUTHORIZED
    for stage in (Fields(("$lookup", Fields(("from", "c"), ("from", "secret"), ("pipeline", []), ("as", "x")))),
                  Fields(("$lookup", Fields(("from", "c"), ("pipeline", []), ("pipeline", [{"$unionWith": "secret"}]), ("as", "x")))),
                  Fields(("$unionWith", Fields(("coll", "c"), ("coll", "secret"), ("pipeline", [])))),
                  Fields(("$limit", 1), ("$unionWith", "secret")),
                  Fields(("$facet", Fields(("x", []), ("x", [{"$unionWith": "secret"}]))))):
        body = document(("aggregate", "c"), ("pipeline", [stage]), ("cursor", {}), ("$db", "files"))
        reply = raw.run(body)
        assert reply["ok"] == 0 and "secret" not in str(reply.get("cursor")), reply
    body = document(("aggregate", "c"), ("pipeline", []), ("pipeline", [{"$unionWith": "secret"}]), ("cursor", {}), ("$db", "files"))
    assert raw.run(body)["ok"] == 0
    for explained in (Fields(("aggregate", "c"), ("pipeline", []), ("pipeline", [{"$unionWith": "secret"}]), ("cursor", {})),
                      Fields(("find", "c"), ("find", "secret"))):
        reply = raw.run(document(("explain", explained), ("$db", "files")))
        assert reply["code"] == UNAUTHORIZED, reply
    update = Fields(("q", {"never": 1}), ("u", {"$set": {"a": 1}}), ("upsert", False), ("upsert", True))
    raw.run(document(("update", "c"), ("updates", [update]), ("$db", "files")))
    assert root.files.c.count_documents({}) == 1
    # Two databases: the first is the command's, or it is none.
    raw.run(document(("find", "c"), ("$db", "files"), ("$db", "other")))
    reply = raw.run(document(("find", "secret"), ("$db", "other"), ("$db", "files")))
    assert reply["ok"] == 0


def case_other_ways_to_ask():
    root = make_root()
    root.files.c.insert_one({"a": 1})
    raw = Raw()
    # Nobody waits for an answer, and nothing is done.
    raw.run({"insert": "c", "documents": [{"b": 1}]}, "files", flags=2)
    raw.run({"dropDatabase": 1}, "files", flags=2)
    raw.run({"ping": 1})
    assert root.files.c.count_documents({}) == 1
    # The old opcodes, where they are still there: commands alone, and these ask as well.
    raw.send(2004, struct.pack("<i", 0) + b"files.$cmd\0" + struct.pack("<ii", 0, -1) + bson.encode({"find": "c"}))
    reply = bson.decode(raw.receive()[1][20:])
    assert reply["ok"] == 0, reply
    raw = Raw()
    raw.send(2004, struct.pack("<i", 0) + b"files.c\0" + struct.pack("<ii", 0, -1) + bson.encode({}))
    try:
        answer = raw.receive()[1]
        assert b"\1a\0" not in answer and b"\x10a\0" not in answer
    except (AssertionError, OSError) as error:
        assert "hung up" in str(error) or isinstance(error, OSError)
    # A document sequence instead of the field.
    raw = Raw()
    body = document(("insert", "c"), ("$db", "files"))
    one = bson.encode({"b": 1})
    sequence = b"documents\0" + one
    raw.send(2013, struct.pack("<IB", 0, 0) + body + b"\1" + struct.pack("<i", len(sequence) + 4) + sequence)
    assert bson.decode(raw.receive()[1][5:])["code"] == UNAUTHORIZED
    assert root.files.c.count_documents({}) == 1


def case_strangers_fill_no_tables():
    root = make_root()
    before = list(root.admin.aggregate([{"$listLocalSessions": {}}]))
    raw = Raw()
    for _ in range(50):
        assert raw.run({"ping": 1, "lsid": {"id": bson.Binary(os.urandom(16), 4)}})["ok"] == 1
    after = list(root.admin.aggregate([{"$listLocalSessions": {}}]))
    assert len(after) < len(before) + 10, (len(before), len(after))


def case_passwords_are_not_shown():
    root = make_root()
    watching = client()
    over = threading.Event()

    def make():
        n = 0
        while not over.is_set():
            root.files.command("createUser", f"user{n}", pwd="pencil-case", roles=[])
            n += 1

    thread = threading.Thread(target=make)
    thread.start()
    seen = 0
    try:
        until = time.monotonic() + 20
        while seen < 20 and time.monotonic() < until:
            inprog = watching.admin.command("currentOp")["inprog"]
            assert "pencil" not in str(inprog), inprog
            seen += "createUser" in str(inprog)
    finally:
        over.set()
        thread.join()
    assert seen > 0, "no createUser was seen"


def seconds(act):
    began = time.monotonic()
    act()
    return time.monotonic() - began


def guess(home, times=1, user="root"):
    for _ in range(times):
        assert failed(Exchange(Raw(home), user, "x").whole())


def knows(home, user="root"):
    raw = Raw(home)
    reply = Exchange(raw, user, "pencil").whole()
    assert reply["ok"] == 1 and reply["done"], reply


def case_guessing_is_slowed():
    make_root()
    knows("127.0.0.1")
    assert seconds(lambda: guess("127.0.0.2", 10)) < 2
    slow = seconds(lambda: guess("127.0.0.2", 5))
    assert slow > 2, slow
    # Where root is known, nobody else's guesses count; elsewhere root waits, and gets in.
    quick = seconds(lambda: knows("127.0.0.1"))
    assert quick < 1, quick
    elsewhere = seconds(lambda: knows("127.0.0.3"))
    assert elsewhere > 1, elsewhere
    # Nobody is slowed like somebody: there is nothing to learn from it.
    guess("127.0.0.4", 10, "nobody")
    assert seconds(lambda: guess("127.0.0.4", 5, "nobody")) > 2


def wait_for_judgement(count, home="127.0.0.2"):
    """Exchanges whose last message was sent, and is not answered yet."""
    guess(home, 14)
    waiting = []
    for _ in range(count):
        exchange = Exchange(Raw(home), "root", "x")
        try:
            exchange.start()
            last = exchange.last()
            body = document(("saslContinue", 1), ("conversationId", 1), ("payload", last), ("$db", "admin"))
            exchange.raw.send(2013, struct.pack("<IB", 0, 0) + body)
            waiting.append(exchange)
        except (AssertionError, OSError):
            pass  # its place was taken
    return waiting


def case_who_waits_has_no_place_to_keep():
    make_root().close()
    knows("127.0.0.1")
    waiting = wait_for_judgement(8)
    time.sleep(0.7)
    for _ in range(4):
        knows("127.0.0.1")
    assert len(waiting) == 8


def case_who_failed_has_no_place_to_keep():
    make_root().close()
    knows("127.0.0.1")
    failures = []
    for n in range(8):
        exchange = Exchange(Raw(f"127.0.1.{n + 1}"), f"user{n}", "x")
        assert failed(exchange.whole())
        failures.append(exchange)
    time.sleep(0.7)
    for _ in range(4):
        knows("127.0.0.1")
    assert len(failures) == 8


def case_wait():
    make_root()
    waiting = wait_for_judgement(100)
    print("waiting", len(waiting), flush=True)
    time.sleep(20)


def case_origins():
    root = make_root()
    near = [{"clientSource": ["127.0.0.2", "::1"], "serverAddress": ["127.0.0.0/8"]}]
    root.admin.command("createUser", "ann", pwd="pencil", roles=["root"], authenticationRestrictions=near)
    knows("127.0.0.2", "ann")
    # The right password from elsewhere is as wrong as another one, also before the last, empty step.
    exchange = Exchange(Raw("127.0.0.3"), "ann", "pencil")
    reply = exchange.raw.run({"saslStart": 1, "mechanism": "SCRAM-SHA-256", "payload": ("n,," + exchange.bare).encode()})
    exchange.first = reply["payload"].decode()
    exchange.parts = dict(part.split("=", 1) for part in exchange.first.split(","))
    right = exchange.proceed(exchange.last())
    wrong = Exchange(Raw("127.0.0.3"), "ann", "x").whole()
    for answer in (right, wrong):
        answer.pop("$clusterTime"), answer.pop("operationTime")
    assert failed(right) and right == wrong, (right, wrong)
    # They hold for who is there already.
    raw = Raw("127.0.0.2")
    assert Exchange(raw, "ann", "pencil").whole()["done"]
    assert raw.run({"count": "c"}, "files")["ok"] == 1
    root.admin.command("updateUser", "ann", authenticationRestrictions=[{"clientSource": ["127.0.0.3"]}])
    assert raw.run({"count": "c"}, "files")["code"] == UNAUTHORIZED
    knows("127.0.0.3", "ann")
    shown = root.admin.command("usersInfo", "ann", showAuthenticationRestrictions=True)["users"][0]
    assert shown["authenticationRestrictions"] == [{"clientSource": ["127.0.0.3"]}]
    assert "authenticationRestrictions" not in root.admin.command("usersInfo", "ann")["users"][0]
    root.admin.command("updateUser", "ann", authenticationRestrictions=[])
    knows("127.0.0.4", "ann")
    for what in ([{"clientSource": ["localhost"]}], [{}], [{"from": ["127.0.0.1"]}], [{"clientSource": "127.0.0.1"}]):
        try:
            root.admin.command("updateUser", "ann", authenticationRestrictions=what)
        except pymongo.errors.OperationFailure as error:
            assert error.code == 2, error
        else:
            raise AssertionError(what)


def case_limits_of_a_user():
    """Set by the command beside: bob has two connections and 50 operations a second, carl 100,000 bytes."""
    first, second = sign_in("bob"), sign_in("bob")
    third = Exchange(Raw(), "bob", "pencil").whole()
    assert third["ok"] == 0 and third["code"] == 462 and "RetryableError" in third["errorLabels"], third
    # Another user is not concerned, and a place that is given back is free.
    sign_in("carl")
    second.socket.close()
    time.sleep(0.3)
    second = sign_in("bob")

    def count(raw, times):
        for _ in range(times):
            reply = raw.run({"count": "c"}, "files")
            assert reply["ok"] == 1, reply
    slow = seconds(lambda: count(first, 150))
    assert 1.5 < slow < 10, slow
    # Ten seconds wait already: refused, and told so that drivers try again later.
    carl = sign_in("carl")
    assert carl.run({"insert": "c", "documents": [{"a": b"x" * 2000000}]}, "files")["ok"] == 1
    reply = carl.run({"count": "c"}, "files")
    assert reply["code"] == 462 and "SystemOverloadedError" in reply["errorLabels"], reply
    assert "bytes a second" in reply["errmsg"], reply
    # A hello is nobody's operation.
    assert carl.run({"hello": 1})["ok"] == 1


def case_names_that_would_forge_a_log():
    make_root()
    assert failed(Exchange(Raw(), "eve\n2026-11-27 info root signed in\x1b[2J", "x").whole())


def main():
    global ADDRESS
    host, port = sys.argv[1].rsplit(":", 1)
    ADDRESS = (host, int(port))
    globals()["case_" + sys.argv[2]]()


if __name__ == "__main__":
    main()
