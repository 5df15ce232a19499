#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Signed in, and after what one's roles do not give: by commands that mean two things, by detours and by what is others'.

usage: users_beyond.py ADDRESS CASE
"""
import sys

import bson

import users_attacks
from users_attacks import UNAUTHORIZED, Fields, document, make_root, sign_in


def user(root, name, privileges=(), roles=(), db="files"):
    """Signed in, with a role of these (database, collection, actions) besides those of MongoDB's own."""
    root[db].command("createRole", name + "-role", roles=[], privileges=[
        {"resource": {"db": where, "collection": coll}, "actions": actions.split()} for where, coll, actions in privileges])
    root[db].command("createUser", name, pwd="pencil", roles=[name + "-role", *roles])
    return sign_in(name, db)


def run(raw, db, *fields):
    return raw.run(document(*fields, ("$db", db)))


def denied(raw, db, *fields):
    reply = run(raw, db, *fields)
    assert reply["ok"] == 0 and reply["code"] == UNAUTHORIZED, (fields, reply)


def not_done(raw, db, *fields):
    reply = run(raw, db, *fields)
    assert reply["ok"] == 0, (fields, reply)


def done(raw, db, *fields):
    reply = run(raw, db, *fields)
    assert reply["ok"] == 1, (fields, reply)
    return reply


def pipeline(coll, *stages):
    return ("aggregate", coll), ("pipeline", list(stages)), ("cursor", {})


def secrets(root):
    root.files.open.insert_one({"a": 1})
    root.files.secret.insert_one({"secret": 1})
    root.other.secret.insert_one({"other": 1})


# ---- two things ----

def case_roles_and_privileges_given_twice():
    root = make_root()
    ann = user(root, "ann", roles=["userAdmin"])
    twice = Fields(("role", "root"), ("db", "files"), ("db", "admin"))
    swapped = Fields(("role", "read"), ("role", "root"), ("db", "files"), ("db", "admin"))
    wide = Fields(("resource", {"db": "files", "collection": ""}), ("resource", {"anyResource": True}), ("actions", ["find"]))
    inner = Fields(("resource", Fields(("db", "files"), ("db", "other"), ("collection", ""))), ("actions", ["find"]))
    for number, role in enumerate((twice, swapped, Fields(("db", "files"), ("db", "admin"), ("role", "root")))):
        run(ann, "files", ("createUser", f"bob{number}"), ("pwd", "x"), ("roles", [role]))
        run(ann, "files", ("grantRolesToUser", "ann"), ("roles", [role]))
        run(ann, "files", ("updateUser", "ann"), ("roles", [role]))
        run(ann, "files", ("createRole", f"r{number}"), ("privileges", []), ("roles", [role]))
    for number, privilege in enumerate((wide, inner)):
        run(ann, "files", ("createRole", f"p{number}"), ("privileges", [privilege]), ("roles", []))
        run(ann, "files", ("grantPrivilegesToRole", "ann-role"), ("privileges", [privilege]))
    for held in (*root.admin["system.users"].find(), *root.admin["system.roles"].find()):
        if held["_id"] == "admin.root":
            continue
        assert all(role["db"] == "files" for role in held["roles"]), held
        for privilege in held.get("privileges", []):
            assert privilege["resource"].get("db") == "files", held


def case_users_looked_at_twice():
    root = make_root()
    ann = user(root, "ann")
    root.files.command("createUser", "bob", pwd="pencil", roles=["read"], customData={"secret": 1})
    for value in (Fields(("user", "ann"), ("user", "bob"), ("db", "files")), Fields(("user", "ann"), ("db", "files"), ("db", "other")),
                  [Fields(("user", "ann"), ("user", "bob"), ("db", "files"))], ["ann", "bob"]):
        assert "secret" not in str(run(ann, "files", ("usersInfo", value)))
    body = ("usersInfo", "ann"), ("showCredentials", False), ("showCredentials", True)
    assert "storedKey" not in str(run(ann, "files", *body))


def case_options_given_twice():
    root = make_root()
    secrets(root)
    ann = user(root, "ann", [("files", "open", "find update")])
    for first, second in ((False, True), (0, 1)):
        not_done(ann, "files", ("findAndModify", "open"), ("query", {"never": 1}), ("update", {"$set": {"a": 1}}), ("upsert", first),
                 ("upsert", second))
        not_done(ann, "files", ("findAndModify", "open"), ("query", {"a": 1}), ("remove", first), ("remove", second))
    for value in (1, 1.0, bson.Int64(1)):
        denied(ann, "files", ("findAndModify", "open"), ("query", {"never": 1}), ("update", {"$set": {"a": 1}}), ("upsert", value))
        denied(ann, "files", ("findAndModify", "open"), ("query", {"a": 1}), ("remove", value))
        run(ann, "files", ("update", "open"), ("updates", [{"q": {"never": 1}, "u": {"$set": {"a": 1}}, "upsert": value}]))
    run(ann, "files", ("update", "open"), ("updates", []), ("updates", [{"q": {"never": 1}, "u": {"$set": {"a": 1}}, "upsert": True}]))
    assert root.files.open.count_documents({}) == 1
    for coll in ("open", "secret"):
        not_done(ann, "files", ("find", "open"), ("find", coll))
    not_done(ann, "files", *pipeline("open"), ("aggregate", "secret"))


# ---- detours ----

def case_another_database_is_said():
    """Where a stage's database is not taken, it must not be what was asked for either."""
    root = make_root()
    secrets(root)
    ann = user(root, "ann", [("files", "open", "find insert remove update"), ("other", "secret", "find insert remove update")],
               db="admin")
    there = {"db": "other", "coll": "secret"}
    for stage in ({"$unionWith": there}, {"$lookup": {"from": there, "pipeline": [], "as": "x"}},
                  {"$lookup": {"from": there, "localField": "z", "foreignField": "z", "as": "x"}},
                  {"$graphLookup": {"from": there, "startWith": "$z", "connectFromField": "z", "connectToField": "z", "as": "x"}},
                  {"$unionWith": {"db": "other", "coll": "secret", "pipeline": [{"$match": {}}]}}):
        assert "'secret': 1" not in str(run(ann, "files", *pipeline("open", stage))), stage
    for stage in ({"$out": there}, {"$merge": there}, {"$merge": {"into": there}}, {"$out": "secret"}, {"$merge": {"into": "secret"}}):
        run(ann, "files", *pipeline("open", {"$project": {"a": 1}}, stage))
    assert [d for d in root.files.secret.find({}, {"_id": 0})] == [{"secret": 1}]


def case_renamed_into_what_may_be_read():
    root = make_root()
    secrets(root)
    ann = user(root, "ann", [("files", "mine", "find insert")], roles=["dbAdmin"])
    denied(ann, "admin", ("renameCollection", "files.secret"), ("to", "files.mine"))
    assert root.files.mine.count_documents({}) == 0 and root.files.secret.count_documents({}) == 1
    # Where neither can be read, or both, nothing is told by it.
    done(ann, "admin", ("renameCollection", "files.secret"), ("to", "files.hidden"))
    done(ann, "admin", ("renameCollection", "files.hidden"), ("to", "files.secret"))
    root.files.mine.insert_one({})
    done(ann, "admin", ("renameCollection", "files.mine"), ("to", "files.yours"))


def case_by_views():
    root = make_root()
    secrets(root)
    ann = user(root, "ann", [("files", "open", "find"), ("files", "v", "find insert createCollection collMod dropCollection"),
                             ("files", "w", "find createCollection")])
    for fields in ((("viewOn", "secret"), ("pipeline", [])), (("viewOn", "open"), ("pipeline", [{"$unionWith": "secret"}])),
                   (("viewOn", "open"), ("pipeline", [{"$lookup": {"from": "secret", "pipeline": [], "as": "x"}}])),
                   (("viewOn", "open"), ("pipeline", [{"$facet": {"x": [{"$unionWith": "secret"}]}}])),
                   (("viewOn", "open"), ("viewOn", "secret"), ("pipeline", []))):
        not_done(ann, "files", ("create", "v"), *fields)
    done(ann, "files", ("create", "v"), ("viewOn", "open"), ("pipeline", []))
    for fields in ((("viewOn", "secret"), ("pipeline", [])), (("pipeline", [{"$unionWith": "secret"}]),),
                   (("viewOn", "open"), ("pipeline", [{"$unionWith": "secret"}]))):
        not_done(ann, "files", ("collMod", "v"), *fields)
    # The views' own collection is nobody's to write.
    bob = user(root, "bob", roles=["readWrite"])
    for command in ((("insert", "system.views"), ("documents", [{"_id": "files.x", "viewOn": "secret", "pipeline": []}])),
                    (("update", "system.views"), ("updates", [{"q": {}, "u": {"$set": {"viewOn": "secret"}}}])),
                    pipeline("open", {"$out": "system.views"}), pipeline("open", {"$merge": {"into": "system.views"}})):
        not_done(bob, "files", *command)
    assert "'secret': 1" not in str(run(ann, "files", ("find", "v")))


READS = [(("find", "{}"),), (("count", "{}"),), (("distinct", "{}"), ("key", "_id")), pipeline("{}"), (("listIndexes", "{}"),),
         (("collStats", "{}"),), (("validate", "{}"),), (("compact", "{}"),), (("explain", {"find": "{}"}),)]
CHANGES = [(("insert", "{}"), ("documents", [{"_id": "x"}])), (("delete", "{}"), ("deletes", [{"q": {}, "limit": 0}])),
           (("update", "{}"), ("updates", [{"q": {}, "u": {"$set": {"roles": []}}, "multi": True}])),
           (("findAndModify", "{}"), ("query", {}), ("remove", True)), (("drop", "{}"),), (("create", "{}"),),
           (("createIndexes", "{}"), ("indexes", [{"key": {"a": 1}, "name": "a", "expireAfterSeconds": 0}])),
           (("dropIndexes", "{}"), ("index", "*")), (("collMod", "{}"), ("validator", {"never": 1})),
           pipeline("c", {"$out": "{}"}), pipeline("c", {"$merge": {"into": "{}"}})]


def named(fields, coll):
    return tuple((name, {"find": coll} if value == {"find": "{}"} else coll if value == "{}" else
                  eval(repr(value).replace("{}'", coll + "'")) if name == "pipeline" else value) for name, value in fields)


def case_users_collections():
    """By all roles that reach admin and are not about users; and from other databases."""
    root = make_root()
    root.admin.c.insert_one({})
    root.files.c.insert_one({})
    everywhere = ["readAnyDatabase", "readWriteAnyDatabase", "dbAdminAnyDatabase", "clusterMonitor", "hostManager", "clusterAdmin"]
    root.admin.command("createUser", "ann", pwd="pencil", roles=everywhere + ["readWrite", "dbAdmin"])
    ann = sign_in("ann")
    before = list(root.admin["system.users"].find())
    wrong = []
    for coll in ("system.users", "system.roles", "system.keys", "system.version", "system.secret"):
        for fields in READS[:5] + READS[8:] + CHANGES:
            reply = run(ann, "admin", *named(fields, coll))
            if reply["ok"] == 1 or "credentials" in str(reply):
                wrong.append((coll, fields[0][0], reply))
        for stage in ({"$unionWith": {"db": "admin", "coll": coll}}, {"$lookup": {"from": {"db": "admin", "coll": coll}, "pipeline": [],
                                                                                 "as": "x"}}):
            reply = run(ann, "files", *pipeline("c", stage))
            if "storedKey" in str(reply):
                wrong.append((coll, stage))
        for stage in ({"$out": {"db": "admin", "coll": coll}}, {"$merge": {"into": {"db": "admin", "coll": coll}}}):
            if run(ann, "files", *pipeline("c", stage))["ok"] == 1:
                wrong.append((coll, stage))
        for source, target in (("admin." + coll, "admin.x"), ("admin." + coll, "files.x"), ("admin.c", "admin." + coll),
                               ("files.c", "admin." + coll)):
            for drop in (False, True):
                if run(ann, "admin", ("renameCollection", source), ("to", target), ("dropTarget", drop))["ok"] == 1:
                    wrong.append((source, target))
    if run(ann, "admin", ("dropDatabase", 1))["ok"] == 1:
        wrong.append("dropDatabase")
    assert list(root.admin["system.users"].find()) == before
    assert not wrong, "\n".join(map(str, wrong))


def case_names_that_look_like_others():
    root = make_root()
    ann = user(root, "ann", roles=["readWrite", "dbAdmin"])
    for db in ("Admin", "ADMIN", "admin ", "admin.system", "admin\0x", "files.", "", "$external", "files/../admin"):
        try:
            reply = run(ann, db, ("find", "system.users"))
        except (bson.errors.InvalidDocument, bson.errors.InvalidBSON, AssertionError, OSError):
            ann = sign_in("ann", "files")
            continue
        assert reply["ok"] == 0, (db, reply)
    for coll in ("", ".", "system.users", "$cmd", "$cmd.x", "../admin.system.users", "system.buckets.c", "system.profile"):
        for fields in READS[:4]:
            reply = run(ann, "files", *named(fields, coll))
            assert "storedKey" not in str(reply), (coll, reply)


# ---- what is others' ----

def case_cursors_after_what_was_taken():
    root = make_root()
    secrets(root)
    root.files.secret.insert_many([{"n": n} for n in range(300)])
    ann = user(root, "ann", [("files", "open", "find"), ("files", "secret", "find changeStream")])
    found = done(ann, "files", ("find", "secret"), ("batchSize", 2))["cursor"]["id"]
    other = done(ann, "files", ("find", "secret"), ("batchSize", 2))["cursor"]["id"]
    stream = done(ann, "files", *pipeline("secret", {"$changeStream": {}}))["cursor"]["id"]
    root.files.command("revokePrivilegesFromRole", "ann-role", privileges=[
        {"resource": {"db": "files", "collection": "secret"}, "actions": ["find", "changeStream"]}])
    root.files.secret.insert_one({"n": "new"})
    for cursor in (found, other, stream):
        for coll in ("secret", "open", "$cmd.aggregate", "$cmd.listCollections", ""):
            reply = run(ann, "files", ("getMore", bson.Int64(cursor)), ("collection", coll))
            assert reply["ok"] == 0, (coll, reply)


def case_another_users_session():
    root = make_root()
    secrets(root)
    ann = user(root, "ann", roles=["readWrite"])
    bob = user(root, "bob", roles=["readWrite"])
    lsid = {"id": bson.Binary(b"0123456789abcdef", 4)}
    first = done(ann, "files", ("findAndModify", "secret"), ("query", {}), ("update", {"$set": {"by": "ann"}}), ("lsid", lsid),
                 ("txnNumber", bson.Int64(1)))
    assert first["value"]["secret"] == 1
    # The same session's id and number are another session's where another user says them: nothing is told twice.
    again = run(bob, "files", ("findAndModify", "open"), ("query", {}), ("update", {"$set": {"by": "bob"}}), ("lsid", lsid),
                ("txnNumber", bson.Int64(1)))
    assert "secret" not in str(again.get("value")), again
    uid = None
    for session in root.admin.aggregate([{"$listLocalSessions": {"allUsers": True}}]):
        if session["_id"]["id"] == lsid["id"]:
            uid = session["_id"].get("uid", uid)
    for value in (uid or bson.Binary(b"x" * 32), bson.Binary(b"\0" * 32)):
        reply = run(bob, "files", ("find", "open"), ("lsid", {"id": lsid["id"], "uid": value}))
        assert reply["ok"] == 0 or uid is None, reply
        run(bob, "admin", ("killSessions", [{"id": lsid["id"], "uid": value}]))
    done(ann, "files", ("find", "secret"), ("lsid", lsid))


def case_operations_of_others():
    root = make_root()
    secrets(root)
    ann = user(root, "ann", roles=["read"])
    bob = user(root, "bob", roles=["read"])
    stream = done(ann, "files", *pipeline("open", {"$changeStream": {}}))["cursor"]["id"]
    body = document(("getMore", bson.Int64(stream)), ("collection", "open"), ("maxTimeMS", 3000), ("$db", "files"))
    ann.send(2013, b"\0\0\0\0\0" + body)
    ops = []
    while not ops:
        ops = [op["opid"] for op in root.admin.command("currentOp")["inprog"] if "getMore" in op.get("command", {})]
    for fields in ((("currentOp", 1), ("$ownOps", True)), (("currentOp", 1), ("$all", True), ("$ownOps", True))):
        assert str(stream) not in str(run(bob, "admin", *fields))
    assert str(stream) not in str(run(bob, "admin", *pipeline(1, {"$currentOp": {}})))
    for op in ops:
        run(bob, "admin", ("killOp", 1), ("op", op))
    reply = bson.decode(ann.receive()[1][5:])
    assert reply["ok"] == 1, reply


def case_transactions_ask_for_each_operation():
    root = make_root()
    secrets(root)
    ann = user(root, "ann", [("files", "open", "find insert update")])

    def transact(*operations, results=()):
        reply = run(ann, "admin", ("ashlarTransact", 1), ("operations", list(operations)), ("results", list(results)),
                    ("seed", bson.ObjectId(b"0" * 12)))
        return reply, reply["ok"] == 1 and reply["result"]["ok"] == 1

    first = {"insert": "open", "documents": [{"b": 1}], "$db": "files"}
    reply, good = transact(first)
    assert good, reply
    for operation in ({"find": "secret", "$db": "files"}, {"find": "system.users", "$db": "admin"},
                      Fields(("find", "open"), ("find", "secret"), ("$db", "files")),
                      Fields(("find", "secret"), ("$db", "other"), ("$db", "files")),
                      {"aggregate": "open", "pipeline": [{"$unionWith": "secret"}], "cursor": {}, "$db": "files"},
                      {"aggregate": "open", "pipeline": [{"$out": "secret"}], "cursor": {}, "$db": "files"},
                      {"findAndModify": "open", "query": {}, "remove": True, "$db": "files"},
                      {"findAndModify": "open", "query": {"never": 1}, "update": {"$set": {"a": 1}}, "upsert": True, "$db": "other"},
                      {"delete": "open", "deletes": [{"q": {}, "limit": 0}], "$db": "files"},
                      {"insert": "secret", "documents": [{}], "$db": "files"}, {"dropDatabase": 1, "$db": "files"},
                      {"createUser": "x", "pwd": "x", "roles": [], "$db": "admin"}):
        answer, good = transact(operation)
        assert not good and "'secret': 1" not in str(answer), (operation, answer)
        # Nor as the second of two.
        answer, good = transact(first, operation, results=[bson.Int64(reply["hash"])])
        assert not good and "'secret': 1" not in str(answer), (operation, answer)
    assert root.files.open.count_documents({}) == 1 and root.files.secret.count_documents({}) == 1


def case_who_was_somebody_else():
    """On one connection: nothing of the one before."""
    root = make_root()
    secrets(root)
    root.files.secret.insert_many([{} for _ in range(300)])
    ann = user(root, "ann", roles=["read"])
    cursor = done(ann, "files", ("find", "secret"), ("batchSize", 2))["cursor"]["id"]
    done(ann, "files", ("logout", 1))
    denied(ann, "files", ("getMore", bson.Int64(cursor)), ("collection", "secret"))
    root.files.command("createUser", "bob", pwd="pencil", roles=["read"])
    exchange = users_attacks.Exchange(ann, "bob", "pencil")
    reply = ann.run({"saslStart": 1, "mechanism": "SCRAM-SHA-256", "payload": ("n,," + exchange.bare).encode(),
                     "options": {"skipEmptyExchange": True}}, "files")
    exchange.first = reply["payload"].decode()
    exchange.parts = dict(part.split("=", 1) for part in exchange.first.split(","))
    assert ann.run({"saslContinue": 1, "conversationId": 1, "payload": exchange.last()}, "files")["ok"] == 1
    denied(ann, "files", ("getMore", bson.Int64(cursor)), ("collection", "secret"))


def case_indexes_and_validators_tell_nothing():
    root = make_root()
    secrets(root)
    ann = user(root, "ann", [("files", "secret", "createIndex collMod listIndexes collStats validate insert")])
    for fields in ((("createIndexes", "secret"), ("indexes", [{"key": {"secret": 1}, "name": "a", "unique": True}])),
                   (("collMod", "secret"), ("validator", {"secret": {"$lt": 1}})), (("listIndexes", "secret"),),
                   (("collStats", "secret"),), (("validate", "secret"), ("full", True)),
                   (("insert", "secret"), ("documents", [{"secret": 7}]))):
        reply = run(ann, "files", *fields)
        assert "'secret': 1" not in str(reply.get("errInfo", "")) + str(reply.get("keyValue", "")), reply
    denied(ann, "files", ("insert", "secret"), ("documents", [{"secret": 7}]), ("bypassDocumentValidation", True))
    denied(ann, "files", ("filemd5", bson.ObjectId()), ("root", "fs"))
    denied(ann, "files", *pipeline("secret", {"$indexStats": {}}))


def main():
    host, port = sys.argv[1].rsplit(":", 1)
    users_attacks.ADDRESS = (host, int(port))
    globals()["case_" + sys.argv[2]]()


if __name__ == "__main__":
    main()
