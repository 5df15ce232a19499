#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the audit log has of what pymongo does, and what it must never have.

usage: audit.py ADDRESS LOG CASE
"""
import json
import sys
import time

import pymongo
import pymongo.errors

HOST, PORT, LOG = None, None, None
PASSWORDS = ("pencil-one", "pencil-two", "pencil-three", "pencil-wrong", "pencil-first", "pencil-custom", "pencil-doc")


def client(user=None, password=None, **more):
    return pymongo.MongoClient(HOST, PORT, username=user, password=password, serverSelectionTimeoutMS=5000, **more)


def lines():
    """All events so far: they are written within moments."""
    time.sleep(0.3)
    with open(LOG, encoding="utf-8") as f:
        return [json.loads(line) for line in f]


def events(type_, **wanted):
    found = [e for e in lines() if e["atype"] == type_]
    return [e for e in found if all(e["param"].get(k) == v for k, v in wanted.items())]


def one(type_, **wanted):
    found = events(type_, **wanted)
    assert len(found) == 1, (type_, wanted, found)
    return found[0]


def never_a_secret():
    with open(LOG, encoding="utf-8") as f:
        text = f.read()
    for password in PASSWORDS:
        assert password not in text, password
    # Nor what SCRAM sends, or keeps.
    for word in ("payload", "storedKey", "serverKey", "salt", "biws", "r=", "customData", "pwd"):
        assert word not in text, word


def refused(code, act):
    try:
        act()
    except pymongo.errors.OperationFailure as error:
        assert error.code == code, error
        return
    raise AssertionError("nothing was refused")


def case_users_and_structure():
    client().admin.command("createUser", "root", pwd="pencil-first", roles=["root"])
    root = client("root", "pencil-first")
    root.admin.command("ping")
    files = root.files
    files.command("createUser", "ann", pwd="pencil-one", roles=["read"], customData={"note": "pencil-custom"})
    files.command("updateUser", "ann", pwd="pencil-two", customData={"note": "pencil-custom"})
    files.command("grantRolesToUser", "ann", roles=["readWrite"])
    files.command("createRole", "look", privileges=[{"resource": {"db": "files", "collection": "c"}, "actions": ["find"]}], roles=[])
    files.command("create", "c")
    files.c.create_index("a", name="by_a")
    files.c.drop_index("by_a")
    root.admin.command("renameCollection", "files.c", to="files.d")
    files.drop_collection("d")
    ann = client("ann", "pencil-two", authSource="files")
    refused(13, lambda: ann.other.c.find_one({"secret": "pencil-doc"}))
    refused(18, lambda: client("ann", "pencil-wrong", authSource="files").files.c.find_one())
    refused(18, lambda: client("pencil", "pencil-wrong").files.c.find_one())
    refused(51003, lambda: files.command("createUser", "ann", pwd="pencil-three", roles=[]))
    files.command("dropUser", "ann")
    root.drop_database("files")

    created = one("createUser", user="root")
    assert created["users"] == [] and created["result"] == 0 and created["param"]["db"] == "admin", created
    created = events("createUser", user="ann")
    assert [e["result"] for e in created] == [0, 51003], created
    assert created[0]["users"] == [{"user": "root", "db": "admin"}] and created[0]["roles"] == [{"role": "root", "db": "admin"}]
    assert created[0]["remote"]["ip"] == "127.0.0.1" and created[0]["local"] == {"ip": "127.0.0.1", "port": PORT}
    assert created[0]["param"]["roles"] == ["read"]
    assert one("updateUser")["param"] == {"user": "ann", "db": "files", "newPassword": True}
    assert one("grantRolesToUser")["param"]["roles"] == ["readWrite"]
    assert one("createRole")["param"]["privileges"][0]["actions"] == ["find"]
    assert one("createCollection")["param"]["ns"] == "files.c"
    assert one("createIndex")["param"]["indexNames"] == ["by_a"]
    assert one("dropIndex")["param"]["index"] == "by_a"
    assert one("renameCollection")["param"] == {"old": "files.c", "to": "files.d"}
    assert one("dropCollection")["param"]["ns"] == "files.d"
    assert one("dropUser")["param"] == {"user": "ann", "db": "files"}
    assert one("dropDatabase")["param"]["db"] == "files"
    assert one("authCheck")["param"] == {"command": "find", "ns": "other.c"} and one("authCheck")["result"] == 13
    signed_in = events("authenticate", user="ann")
    assert {e["result"] for e in signed_in} == {0, 18}, signed_in
    assert signed_in[0]["param"]["db"] == "files" and signed_in[0]["param"]["mechanism"] == "SCRAM-SHA-256"
    assert {e["result"] for e in events("authenticate", user="pencil")} == {18}
    startup = lines()[0]
    assert startup["atype"] == "startup" and str(PORT) in startup["param"]["addresses"], startup
    # Neither documents nor files were asked for.
    assert not [e for e in events("authCheck") if e["result"] == 0]
    never_a_secret()


def case_reads_and_writes():
    c = client().files.c
    c.insert_many([{"_id": 1, "a": "pencil-doc"}, {"_id": "two"}, {"_id": {"pencil-doc": 1}}])
    c.insert_one({"a": 1})
    c.update_one({"_id": 1}, {"$set": {"a": "pencil-doc"}})
    c.update_many({"a": "pencil-doc"}, {"$set": {"b": 1}})
    c.delete_one({"_id": "two"})
    c.find_one({"_id": 1, "a": {"$ne": "pencil-doc"}})
    c.find_one_and_update({"_id": 1}, {"$set": {"b": 2}})
    list(c.aggregate([{"$match": {"a": "pencil-doc"}}]))
    list(c.aggregate([{"$out": "d"}]))
    try:
        c.insert_one({"_id": 1})
    except pymongo.errors.DuplicateKeyError:
        pass
    checks = events("authCheck")
    assert all(e["param"]["ns"] == "files.c" for e in checks), checks
    seen = [(e["param"]["command"], e["param"].get("count"), e["result"]) for e in checks]
    assert seen == [("insert", 3, 0), ("insert", 1, 0), ("update", 1, 0), ("update", 1, 0), ("delete", 1, 0), ("find", None, 0),
                    ("findAndModify", None, 0), ("aggregate", None, 0), ("aggregate", None, 0), ("insert", 1, 11000)], seen
    ids = [e["param"].get("ids") for e in checks]
    assert ids[0] == [1, "two"] and len(ids[1]) == 1 and "$oid" in ids[1][0], ids
    assert ids[2:6] == [[1], [], ["two"], [1]] and ids[6] == [1], ids
    never_a_secret()


def case_users_as_documents():
    client().admin.command("createUser", "root", pwd="pencil-first", roles=["root"])
    root = client("root", "pencil-first")
    root.admin["system.users"].update_one({"_id": "admin.root"}, {"$set": {"customData": {"a": "pencil-custom"}}})
    changed = one("authCheck", command="update")
    assert changed["param"]["ns"] == "admin.system.users" and changed["param"]["ids"] == ["admin.root"], changed
    never_a_secret()


def case_strangers_do_not_fill_it():
    client().admin.command("createUser", "root", pwd="pencil-first", roles=["root"])
    before = len(lines())
    stranger = client()
    for _ in range(100):
        refused(13, lambda: stranger.files.c.find_one())
    assert len(lines()) == before


def case_full():
    """Enough events, and then what would be one is refused; everything else is not."""
    db = client().files
    refusals = 0
    for _ in range(20000):
        try:
            db.command("drop", "nothing", comment="x" * 100)
        except pymongo.errors.OperationFailure as error:
            if error.code == 14031:
                refusals += 1
                break
    assert refusals == 1
    db.c.insert_one({})
    assert db.c.count_documents({}) == 1
    refused(14031, lambda: db.command("create", "d"))


def main():
    global HOST, PORT, LOG
    HOST, port = sys.argv[1].rsplit(":", 1)
    PORT, LOG = int(port), sys.argv[2]
    globals()["case_" + sys.argv[3]]()


if __name__ == "__main__":
    main()
