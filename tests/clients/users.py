#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What each role may do, by all commands, with unmodified pymongo.

usage: users.py ADDRESS CASE

The server has no users before; the table says who may, and everybody else must not.
"""
import sys

import bson
import pymongo
import pymongo.errors

UNAUTHORIZED = 13
HOST, PORT = None, None
ALL = ["none", "read", "readWrite", "dbAdmin", "userAdmin", "dbOwner", "readAnyDatabase", "readWriteAnyDatabase",
       "dbAdminAnyDatabase", "userAdminAnyDatabase", "clusterMonitor", "backup", "restore", "hostManager", "clusterAdmin", "root"]
OF_DB = {"read", "readWrite", "dbAdmin", "userAdmin", "dbOwner"}


def names(text):
    """Roles by words: lower case of the database `files`, and everywhere by a following '*'."""
    every = {"read": "readAnyDatabase", "readWrite": "readWriteAnyDatabase", "dbAdmin": "dbAdminAnyDatabase",
             "userAdmin": "userAdminAnyDatabase"}
    found = {"root"}
    for word in text.split():
        found.add(word.rstrip("*"))
        if word.endswith("*"):
            found.add(every[word[:-1]])
            found.add("dbOwner")
    return found


READ = names("read* readWrite* backup")
READ_CHANGES = names("read* readWrite*")
WRITE = names("readWrite*")
INSERT = WRITE | {"restore"}
ADMIN = names("dbAdmin*")
MAKE = names("readWrite* dbAdmin* restore")
USERS = names("userAdmin*")
NEW_USERS = USERS | {"restore"}
MONITOR = {"clusterMonitor", "clusterAdmin", "root"}
HOSTS = {"hostManager", "clusterAdmin", "root"}
STATS = names("read* readWrite* dbAdmin*") | {"clusterMonitor", "clusterAdmin", "backup"}
EVERYBODY = set(ALL)
NOBODY = set()


def find(coll="c"):
    return {"find": coll}


def aggregate(*stages, coll="c"):
    return {"aggregate": coll, "pipeline": list(stages), "cursor": {}}


PRIVILEGE = {"resource": {"db": "files", "collection": "c"}, "actions": ["find"]}
# command -> [(what is sent, to which database, who may)]
TABLE = {
    "abortTransaction": [({"abortTransaction": 1}, "admin", EVERYBODY)],
    "aggregate": [
        (aggregate(), "files", READ),
        (aggregate({"$out": "d"}), "files", WRITE),
        (aggregate({"$out": {"db": "other", "coll": "d"}}), "files", {"readWriteAnyDatabase", "root"}),
        (aggregate({"$merge": "d"}), "files", WRITE),
        (aggregate({"$merge": {"into": {"db": "other", "coll": "d"}}}), "files", {"readWriteAnyDatabase", "root"}),
        (aggregate({"$lookup": {"from": "system.secret", "pipeline": [], "as": "x"}}), "files", NOBODY),
        (aggregate({"$lookup": {"from": "d", "pipeline": [{"$unionWith": "system.secret"}], "as": "x"}}), "files", NOBODY),
        (aggregate({"$unionWith": {"coll": "system.secret", "pipeline": []}}), "files", NOBODY),
        (aggregate({"$facet": {"a": [{"$unionWith": "system.secret"}]}}), "files", NOBODY),
        (aggregate({"$graphLookup": {"from": "system.secret", "startWith": "$a", "connectFromField": "a",
                                     "connectToField": "b", "as": "x"}}), "files", NOBODY),
        (aggregate({"$lookup": bson.SON([("from", "d"), ("pipeline", []), ("as", "x")])}), "files", READ),
        (aggregate({"$neverHeardOf": {}}), "files", NOBODY),
        (aggregate({"$changeStream": {}}), "files", READ_CHANGES),
        (aggregate({"$changeStream": {}}, coll=1), "files", READ_CHANGES),
        (aggregate({"$changeStream": {"allChangesForCluster": True}}, coll=1), "admin",
         {"readAnyDatabase", "readWriteAnyDatabase", "root"}),
        (aggregate({"$collStats": {"count": {}}}), "files", STATS),
        (aggregate({"$currentOp": {}}, coll=1), "admin", EVERYBODY),
        (aggregate({"$currentOp": {"allUsers": True}}, coll=1), "admin", MONITOR),
        (aggregate({"$listLocalSessions": {}}, coll=1), "admin", MONITOR),
        (aggregate({"$documents": [{"a": 1}]}, coll=1), "files", EVERYBODY),
        ({"aggregate": "c", "pipeline": [], "explain": True}, "files", READ),
    ],
    "ashlarMaintain": [({"ashlarMaintain": 1, "action": {"check": 1}}, "admin", NOBODY)],
    "ashlarTransact": [({"ashlarTransact": 1, "operations": [{"find": "c", "$db": "files"}], "results": [],
                         "seed": bson.ObjectId()}, "admin", READ),
                       ({"ashlarTransact": 1, "operations": [{"insert": "c", "documents": [{}], "$db": "files"}], "results": [],
                         "seed": bson.ObjectId()}, "admin", INSERT)],
    "authenticate": [({"authenticate": 1, "mechanism": "PLAIN"}, "$external", EVERYBODY)],
    "buildInfo": [({"buildInfo": 1}, "files", EVERYBODY)],
    "collMod": [({"collMod": "c"}, "files", ADMIN | {"restore"}),
                ({"collMod": "v", "viewOn": "system.secret", "pipeline": []}, "files", NOBODY)],
    "collStats": [({"collStats": "c"}, "files", STATS)],
    "commitTransaction": [({"commitTransaction": 1}, "admin", EVERYBODY)],
    "compact": [({"compact": "c"}, "files", ADMIN)],
    "connectionStatus": [({"connectionStatus": 1, "showPrivileges": True}, "files", EVERYBODY)],
    "count": [({"count": "c"}, "files", READ)],
    "create": [({"create": "new"}, "files", MAKE),
               ({"create": "view", "viewOn": "c", "pipeline": []}, "files", names("readWrite*")),
               ({"create": "view2", "viewOn": "system.secret", "pipeline": []}, "files", NOBODY),
               ({"create": "view3", "viewOn": "c", "pipeline": [{"$unionWith": "system.secret"}]}, "files", NOBODY)],
    "createIndexes": [({"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a"}]}, "files", MAKE)],
    "createRole": [({"createRole": "r", "privileges": [PRIVILEGE], "roles": []}, "files", NEW_USERS),
                   ({"createRole": "r2", "privileges": [], "roles": [{"role": "root", "db": "admin"}]}, "admin",
                    {"userAdminAnyDatabase", "restore", "root"})],
    "createUser": [({"createUser": "u", "pwd": "x", "roles": ["read"]}, "files", NEW_USERS),
                   ({"createUser": "u2", "pwd": "x", "roles": [{"role": "root", "db": "admin"}]}, "files",
                    {"userAdminAnyDatabase", "restore", "root"})],
    "currentOp": [({"currentOp": 1}, "admin", MONITOR), ({"currentOp": 1, "$ownOps": True}, "admin", EVERYBODY)],
    "dbStats": [({"dbStats": 1}, "files", names("read* readWrite* dbAdmin*") | {"clusterMonitor", "clusterAdmin"})],
    "delete": [({"delete": "c", "deletes": [{"q": {"never": 1}, "limit": 0}]}, "files", WRITE),
               ({"delete": "system.users", "deletes": [{"q": {"never": 1}, "limit": 0}]}, "admin", {"restore", "root"})],
    "distinct": [({"distinct": "c", "key": "a"}, "files", READ)],
    "drop": [({"drop": "nothing"}, "files", MAKE), ({"drop": "system.users"}, "other", NOBODY)],
    "dropAllRolesFromDatabase": [({"dropAllRolesFromDatabase": 1}, "files", NEW_USERS)],
    "dropAllUsersFromDatabase": [({"dropAllUsersFromDatabase": 1}, "files", NEW_USERS)],
    "dropDatabase": [({"dropDatabase": 1}, "files", ADMIN | {"clusterAdmin"}), ({"dropDatabase": 1}, "admin", NOBODY)],
    "dropIndexes": [({"dropIndexes": "c", "index": "a"}, "files", names("readWrite* dbAdmin*"))],
    "dropRole": [({"dropRole": "nobody"}, "files", NEW_USERS)],
    "dropUser": [({"dropUser": "nobody"}, "files", NEW_USERS)],
    "endSessions": [({"endSessions": []}, "admin", EVERYBODY)],
    "explain": [({"explain": find()}, "files", READ),
                ({"explain": {"update": "c", "updates": [{"q": {}, "u": {"$set": {"a": 1}}}]}}, "files", WRITE),
                ({"explain": aggregate({"$unionWith": "system.secret"})}, "files", NOBODY),
                ({"explain": {"dropDatabase": 1}}, "files", NOBODY)],
    "filemd5": [({"filemd5": 1, "root": "fs"}, "files", READ), ({"filemd5": 1, "root": "system.fs"}, "files", NOBODY)],
    "find": [(find(), "files", READ), (find("system.js"), "files", READ), (find("system.secret"), "files", NOBODY),
             (find("system.users"), "admin", {"userAdminAnyDatabase", "backup", "restore", "root"}),
             (find("system.keys"), "admin", NOBODY)],
    "findAndModify": [({"findAndModify": "c", "query": {"never": 1}, "update": {"$set": {"a": 1}}}, "files", WRITE),
                      ({"findAndModify": "c", "query": {"never": 1}, "remove": True}, "files", WRITE)],
    "fsync": [({"fsync": 1}, "admin", HOSTS)],
    "getCmdLineOpts": [({"getCmdLineOpts": 1}, "admin", MONITOR)],
    "getLastError": [({"getLastError": 1}, "files", EVERYBODY)],
    "getLog": [({"getLog": "global"}, "admin", MONITOR)],
    "getMore": [({"getMore": bson.Int64(1), "collection": "c"}, "files", READ)],
    "getParameter": [({"getParameter": "*"}, "admin", MONITOR | {"backup", "restore"})],
    "getnonce": [({"getnonce": 1}, "files", EVERYBODY)],
    "grantPrivilegesToRole": [({"grantPrivilegesToRole": "nobody", "privileges": [PRIVILEGE]}, "files", NEW_USERS)],
    "grantRolesToRole": [({"grantRolesToRole": "nobody", "roles": ["read"]}, "files", NEW_USERS)],
    "grantRolesToUser": [({"grantRolesToUser": "nobody", "roles": ["read"]}, "files", NEW_USERS),
                         ({"grantRolesToUser": "nobody", "roles": [{"role": "root", "db": "admin"}]}, "files",
                          {"userAdminAnyDatabase", "restore", "root"})],
    "hello": [({"hello": 1}, "files", EVERYBODY)],
    "hostInfo": [({"hostInfo": 1}, "admin", MONITOR)],
    "insert": [({"insert": "c", "documents": [{}]}, "files", INSERT),
               ({"insert": "c", "documents": [{}], "bypassDocumentValidation": True}, "files", {"dbOwner", "restore", "root"}),
               ({"insert": "system.users", "documents": [{"_id": "x"}]}, "admin", {"restore", "root"}),
               ({"insert": "system.roles", "documents": [{"_id": "x"}]}, "admin", {"restore", "root"})],
    "isMaster": [({"isMaster": 1}, "files", EVERYBODY)],
    "killAllSessions": [({"killAllSessions": []}, "admin", HOSTS)],
    "killCursors": [({"killCursors": "c", "cursors": [bson.Int64(1)]}, "files", EVERYBODY)],
    "killOp": [({"killOp": 1, "op": 1 << 30}, "admin", EVERYBODY)],
    "killSessions": [({"killSessions": []}, "admin", EVERYBODY)],
    "listCollections": [({"listCollections": 1}, "files", names("read* readWrite* dbAdmin*") | {"backup", "restore"})],
    "listCommands": [({"listCommands": 1}, "files", EVERYBODY)],
    "listDatabases": [({"listDatabases": 1}, "admin", EVERYBODY)],
    "listIndexes": [({"listIndexes": "c"}, "files", names("read* readWrite* dbAdmin*") | {"backup"})],
    "logout": [({"logout": 1}, "files", EVERYBODY)],
    "ping": [({"ping": 1}, "files", EVERYBODY)],
    "profile": [({"profile": 0}, "files", ADMIN)],
    "refreshSessions": [({"refreshSessions": []}, "admin", EVERYBODY)],
    "renameCollection": [({"renameCollection": "files.nothing", "to": "files.other"}, "admin", names("readWrite* dbAdmin*")),
                         ({"renameCollection": "files.nothing", "to": "other.c"}, "admin", {"readWriteAnyDatabase", "root"}),
                         ({"renameCollection": "admin.system.users", "to": "files.c"}, "admin", {"restore", "root"})],
    "replSetGetConfig": [({"replSetGetConfig": 1}, "admin", MONITOR)],
    "replSetGetStatus": [({"replSetGetStatus": 1}, "admin", MONITOR)],
    "revokePrivilegesFromRole": [({"revokePrivilegesFromRole": "nobody", "privileges": [PRIVILEGE]}, "files", NEW_USERS)],
    "revokeRolesFromRole": [({"revokeRolesFromRole": "nobody", "roles": ["read"]}, "files", NEW_USERS)],
    "revokeRolesFromUser": [({"revokeRolesFromUser": "nobody", "roles": ["read"]}, "files", NEW_USERS)],
    "rolesInfo": [({"rolesInfo": 1}, "files", NEW_USERS)],
    "saslContinue": [({"saslContinue": 1, "conversationId": 1, "payload": b""}, "files", EVERYBODY)],
    "saslStart": [({"saslStart": 1, "mechanism": "PLAIN", "payload": b""}, "files", EVERYBODY)],
    "serverStatus": [({"serverStatus": 1}, "admin", MONITOR | {"backup"})],
    "startSession": [({"startSession": 1}, "files", EVERYBODY)],
    "update": [({"update": "c", "updates": [{"q": {"never": 1}, "u": {"$set": {"a": 1}}}]}, "files", WRITE),
               ({"update": "c", "updates": [{"q": {"never": 1}, "u": {"$set": {"a": 1}}, "upsert": True}]}, "files", WRITE)],
    "updateRole": [({"updateRole": "nobody", "roles": []}, "files", NEW_USERS)],
    "updateUser": [({"updateUser": "nobody", "pwd": "x"}, "files", USERS),
                   ({"updateUser": "nobody", "roles": [{"role": "root", "db": "admin"}]}, "files",
                    {"userAdminAnyDatabase", "restore", "root"})],
    "usersInfo": [({"usersInfo": 1}, "files", NEW_USERS), ({"usersInfo": {"forAllDBs": True}}, "admin",
                                                          {"userAdminAnyDatabase", "restore", "root"})],
    "validate": [({"validate": "c"}, "files", ADMIN)],
    "whatsmyuri": [({"whatsmyuri": 1}, "files", EVERYBODY)],
}
BEFORE_SIGNING_IN = {"authenticate", "buildInfo", "connectionStatus", "getnonce", "hello", "isMaster", "logout", "ping",
                     "saslContinue", "saslStart", "whatsmyuri"}


def connect(user=None, **options):
    if user is not None:
        options = dict(username=user, password=options.pop("password", "pencil"), **options)
    return pymongo.MongoClient(HOST, PORT, serverSelectionTimeoutMS=5000, retryReads=False, **options)


def refused(client, command, db):
    """Was it not allowed?  What else is wrong with it does not matter."""
    try:
        client[db].command(bson.SON(command))
    except pymongo.errors.OperationFailure as error:
        return error.code == UNAUTHORIZED
    return False


def code_of(call, *args, **kwargs):
    try:
        call(*args, **kwargs)
    except pymongo.errors.OperationFailure as error:
        return error.code
    return 0


def make_root():
    connect().admin.command("createUser", "root", pwd="pencil", roles=["root"])
    return connect("root")


def all_commands(root):
    return set(root.admin.command("listCommands")["commands"]) | {"abortTransaction", "commitTransaction"}


# ---- cases ----

def case_commands_by_roles():
    root = make_root()
    missing = all_commands(root) - set(TABLE)
    assert not missing, f"no line in the table: {missing}"
    wrong = []
    root.other.c.insert_one({})
    for role in ALL:
        root.files.c.insert_one({})
        db = "files" if role in OF_DB else "admin"
        root.admin.command("createUser", role + "-user", pwd="pencil", roles=[] if role == "none" else [{"role": role, "db": db}])
        for name, lines in sorted(TABLE.items()):
            for number, (command, where, may) in enumerate(lines):
                client = connect(role + "-user")
                denied = refused(client, command, where)
                if denied == (role in may):
                    wrong.append(f"{role} {'may not' if denied else 'may'} {name} #{number}")
                # A role of one database is none of another.
                # (Privileges are given by whoever may give them in the database that they are about.)
                if (role in OF_DB and where == "files" and may != EVERYBODY and "PrivilegesT" not in name and
                        "PrivilegesF" not in name and not refused(client, command, "other")):
                    wrong.append(f"{role} of files may {name} #{number} in other")
                client.close()
        if role != "root":
            root.admin.command("dropUser", role + "-user")
    assert not wrong, "\n".join(wrong)


def case_nothing_before_signing_in():
    root = make_root()
    names_ = all_commands(root)
    stranger = connect()
    wrong = []
    for name in sorted(names_):
        for command, where, _ in TABLE[name]:
            if refused(stranger, command, where) == (name in BEFORE_SIGNING_IN):
                wrong.append(name)
    assert not wrong, wrong


def case_changes_count_at_once():
    root = make_root()
    root.files.c.insert_many([{} for _ in range(300)])
    root.files.command("createUser", "ann", pwd="pencil", roles=["read"])
    ann = connect("ann", authSource="files", maxPoolSize=1)
    assert ann.files.c.find_one() is not None
    cursor = ann.files.c.find({}, batch_size=10)
    next(cursor)
    root.files.command("revokeRolesFromUser", "ann", roles=["read"])
    assert code_of(ann.files.c.find_one) == UNAUTHORIZED
    assert code_of(list, cursor) == UNAUTHORIZED
    root.files.command("grantRolesToUser", "ann", roles=["readWrite"])
    ann.files.c.insert_one({})
    # By way of a role of one's own.
    root.files.command("createRole", "look", privileges=[{"resource": {"db": "files", "collection": "d"}, "actions": ["find"]}],
                       roles=[])
    root.files.command("updateUser", "ann", roles=["look"])
    assert code_of(ann.files.c.find_one) == UNAUTHORIZED
    assert ann.files.d.find_one() is None
    root.files.command("revokePrivilegesFromRole", "look",
                       privileges=[{"resource": {"db": "files", "collection": "d"}, "actions": ["find"]}])
    assert code_of(ann.files.d.find_one) == UNAUTHORIZED
    # Gone, and another of the same name.
    root.files.command("updateUser", "ann", roles=["read"])
    assert ann.files.c.find_one() is not None
    root.files.command("dropUser", "ann")
    root.files.command("createUser", "ann", pwd="other", roles=["dbOwner"])
    assert code_of(ann.files.c.find_one) == UNAUTHORIZED


def case_cursors_and_sessions_are_ones_own():
    root = make_root()
    root.files.c.insert_many([{} for _ in range(300)])
    for name in ("ann", "bob"):
        root.files.command("createUser", name, pwd="pencil", roles=["readWrite"])
    ann, bob = (connect(name, authSource="files") for name in ("ann", "bob"))
    first = ann.files.command("find", "c", batchSize=2)
    more = bson.SON([("getMore", bson.Int64(first["cursor"]["id"])), ("collection", "c")])
    assert code_of(bob.files.command, more) == UNAUTHORIZED
    killed = bob.files.command(bson.SON([("killCursors", "c"), ("cursors", [more["getMore"]])]))
    assert killed["cursorsKilled"] == []
    # Ending his sessions by their ids does nothing to another's, in which this cursor lives.
    with ann.start_session() as session:
        cursor = ann.files.c.find({}, batch_size=2, session=session)
        next(cursor)
        for command in ("killSessions", "endSessions"):
            bob.admin.command(bson.SON([(command, [session.session_id])]))
        assert len(list(cursor)) == 299
    assert [op["client"] for op in bob.admin.command("currentOp", **{"$ownOps": True})["inprog"]]


def case_joins_are_judged_again():
    """A cursor that reads another collection ends with the right to read that."""
    root = make_root()
    root.files.c.insert_many([{"n": n} for n in range(300)])
    root.files.d.insert_many([{"n": n, "secret": n} for n in range(300)])
    for coll in ("c", "d"):
        root.files.command("createRole", "look_" + coll, roles=[], privileges=[
            {"resource": {"db": "files", "collection": coll}, "actions": ["find"]}])
    lookup = {"$lookup": {"from": "d", "localField": "n", "foreignField": "n", "as": "d"}}
    for number, stage in enumerate((lookup, {"$unionWith": {"coll": "d", "pipeline": []}},
                                    {"$lookup": {"from": "c", "pipeline": [{"$limit": 1}, {"$unionWith": "d"}], "as": "d"}})):
        name = f"joins{number}"
        root.files.command("createUser", name, pwd="pencil", roles=["look_c", "look_d"])
        ann = connect(name, authSource="files")
        plain = ann.files.c.aggregate([{"$match": {}}], batchSize=2)
        cursor = ann.files.c.aggregate([stage], batchSize=2)
        for _ in range(4):
            next(cursor)
        root.files.command("revokeRolesFromUser", name, roles=["look_d"])
        # Of the batch before one may be left.
        assert code_of(lambda: [next(cursor) for _ in range(4)]) == UNAUTHORIZED, stage
        assert len(list(plain)) == 300


def case_ones_own_collections_are_listed():
    root = make_root()
    for coll in ("c", "d", "e"):
        root.files[coll].insert_one({})
    root.files.command("createRole", "look", roles=[], privileges=[
        {"resource": {"db": "files", "collection": "c"}, "actions": ["find"]},
        {"resource": {"db": "files", "collection": "e"}, "actions": ["insert"]}])
    root.files.command("createUser", "ann", pwd="pencil", roles=["look"])
    root.files.command("createUser", "bob", pwd="pencil", roles=[])
    ann, bob = (connect(name, authSource="files") for name in ("ann", "bob"))
    own = bson.SON([("listCollections", 1), ("nameOnly", True), ("authorizedCollections", True)])
    listed = ann.files.command(own)["cursor"]
    assert sorted(c["name"] for c in listed["firstBatch"]) == ["c", "e"] and listed["id"] == 0, listed
    assert all(set(c) == {"name", "type"} for c in listed["firstBatch"])
    assert len(root.files.command(own)["cursor"]["firstBatch"]) == 3
    for key in ("nameOnly", "authorizedCollections"):
        assert code_of(ann.files.command, bson.SON([(k, v) for k, v in own.items() if k != key])) == UNAUTHORIZED
    assert code_of(ann.other.command, own) == UNAUTHORIZED and code_of(bob.files.command, own) == UNAUTHORIZED


def case_streams_tell_nothing_of_users():
    root = make_root()
    root.admin.command("createUser", "ann", pwd="pencil", roles=["read", "readAnyDatabase"])
    ann = connect("ann")
    with ann.admin.watch(max_await_time_ms=100) as admins, ann.watch(max_await_time_ms=100) as everything:
        assert admins.try_next() is None and everything.try_next() is None
        root.admin.command("createUser", "bob", pwd="pencil", roles=[])
        root.admin.command("updateUser", "bob", pwd="crayon")
        root.admin.c.insert_one({"_id": 1})
        for stream in (admins, everything):
            seen = []
            for _ in range(20):
                event = stream.try_next()
                if event is not None:
                    seen.append((event["operationType"], event["ns"]["coll"]))
            assert seen == [("insert", "c")], seen


def case_own_password_and_no_more():
    root = make_root()
    root.files.command("createRole", "self", privileges=[
        {"resource": {"db": "files", "collection": ""}, "actions": ["changeOwnPassword", "changeOwnCustomData"]}], roles=[])
    for name in ("ann", "bob"):
        root.files.command("createUser", name, pwd="pencil", roles=["self"])
    ann = connect("ann", authSource="files")
    ann.files.command("updateUser", "ann", pwd="crayon", customData={"a": 1})
    assert code_of(ann.files.command, "updateUser", "bob", pwd="crayon") == UNAUTHORIZED
    assert code_of(ann.files.command, "updateUser", "ann", roles=["dbOwner"]) == UNAUTHORIZED
    assert "credentials" not in ann.files.command("usersInfo", "ann")["users"][0]
    assert code_of(ann.files.command, "usersInfo", "ann", showCredentials=True) == UNAUTHORIZED
    assert code_of(ann.files.command, "usersInfo", "bob") == UNAUTHORIZED
    connect("ann", authSource="files", password="crayon").admin.command("ping")


def case_mechanisms():
    root = make_root()
    root.admin.command("createUser", "new", pwd="p\u00e9ncil\u00a0", roles=["root"], mechanisms=["SCRAM-SHA-256"])
    root.admin.command("createUser", "old", pwd="pencil", roles=["root"], mechanisms=["SCRAM-SHA-1"])
    for name, mechanism, good in (("root", "SCRAM-SHA-1", True), ("root", "SCRAM-SHA-256", True), ("root", "DEFAULT", True),
                                  ("old", "SCRAM-SHA-1", True), ("old", "DEFAULT", True), ("old", "SCRAM-SHA-256", False)):
        client = connect(name, authMechanism=mechanism)
        assert code_of(client.files.c.find_one) == (0 if good else 18), (name, mechanism)
    hello = connect().admin.command("hello", saslSupportedMechs="admin.new")
    assert hello["saslSupportedMechs"] == ["SCRAM-SHA-256"], hello
    client = connect("new", password="p\u00e9ncil\u00a0", authMechanism="SCRAM-SHA-1")
    assert code_of(client.files.c.find_one) == 18
    try:
        client = connect("new", password="p\u00e9ncil\u00a0", authMechanism="SCRAM-SHA-256")
        assert code_of(client.files.c.find_one) == 0
    except pymongo.errors.ConfigurationError:
        pass  # python3-stringprep's absence is pymongo's


def case_users_and_roles_are_shown():
    root = make_root()
    root.files.command("createUser", "ann", pwd="pencil", roles=["read"], customData={"a": 1})
    assert code_of(root.files.command, "createUser", "ann", pwd="x", roles=[]) == 51003
    assert code_of(root.files.command, "createUser", "bob", pwd="x", roles=["nothing"]) == 31
    assert code_of(root.files.command, "createUser", "bob", pwd="x", roles=[], authenticationRestrictions=[{"clientSource": ["here"]}]) == 2
    assert code_of(root.files.command, "dropUser", "bob") == 11
    def shown(value=1, db=root.files, **filter_):
        return [user["user"] for user in db.command("usersInfo", value, filter=filter_)["users"]]
    root.files.command("createUser", "carl", pwd="x", roles=["readWrite"], customData={"a": 2})
    assert shown(**{"customData.a": {"$gte": 1}}) == ["ann", "carl"] and shown(**{"customData.a": 2}) == ["carl"]
    assert shown("ann", **{"customData.a": 2}) == [] and shown("carl", **{"customData.a": 2}) == ["carl"]
    assert shown(roles={"role": "read", "db": "files"}) == ["ann"] and shown(user="ben") == []
    for filter_ in ({"$expr": True}, {"$or": [{"user": "ann"}]}, {"credentials.SCRAM-SHA-256.salt": {"$gt": ""}}, {"credentials": 1}):
        assert code_of(root.files.command, "usersInfo", 1, filter=filter_) == 238, filter_
    root.files.command("dropUser", "carl")
    [ann] = root.files.command("usersInfo", {"user": "ann", "db": "files"}, showPrivileges=True)["users"]
    assert ann["_id"] == "files.ann" and ann["customData"] == {"a": 1} and "credentials" not in ann
    assert ann["inheritedRoles"] == [{"role": "read", "db": "files"}]
    assert any("find" in p["actions"] for p in ann["inheritedPrivileges"])
    [ann] = root.files.command("usersInfo", "ann", showCredentials=True)["users"]
    assert set(ann["credentials"]) == {"SCRAM-SHA-1", "SCRAM-SHA-256"}
    assert len(root.admin.command("usersInfo", {"forAllDBs": True})["users"]) == 2
    root.files.command("createRole", "look", privileges=[], roles=["read"])
    assert code_of(root.files.command, "createRole", "look", privileges=[], roles=[]) == 51002
    [look] = root.files.command("rolesInfo", "look", showPrivileges=True)["roles"]
    assert not look["isBuiltin"] and look["inheritedRoles"] == [{"role": "read", "db": "files"}]
    builtin = root.files.command("rolesInfo", 1, showBuiltinRoles=True)["roles"]
    assert {"read", "dbOwner", "look"} <= {role["role"] for role in builtin}
    assert "root" not in {role["role"] for role in builtin}
    assert root.files.command("dropAllUsersFromDatabase")["n"] == 1
    assert root.files.command("dropAllRolesFromDatabase")["n"] == 1
    status = root.admin.command("connectionStatus", showPrivileges=True)["authInfo"]
    assert status["authenticatedUsers"] == [{"user": "root", "db": "admin"}] and status["authenticatedUserPrivileges"]


def case_who_may_see_what_databases():
    root = make_root()
    root.files.c.insert_one({})
    root.other.c.insert_one({})
    root.files.command("createUser", "ann", pwd="pencil", roles=["read"])
    assert set(connect("ann", authSource="files").list_database_names()) == {"files"}
    assert {"files", "other"} <= set(root.list_database_names())


def case_the_first_user_closes_the_door():
    stranger = connect()  # with --auth
    assert code_of(stranger.files.c.find_one) == UNAUTHORIZED
    assert code_of(stranger.files.command, "createUser", "u", pwd="x", roles=[]) == UNAUTHORIZED
    assert code_of(stranger.admin.command, "createRole", "r", privileges=[], roles=[]) == UNAUTHORIZED
    make_root().files.c.insert_one({})
    assert code_of(stranger.admin.command, "createUser", "u", pwd="x", roles=[]) == UNAUTHORIZED


def case_the_command_beside():
    make_root()


def main():
    global HOST, PORT
    HOST, port = sys.argv[1].rsplit(":", 1)
    PORT = int(port)
    globals()["case_" + sys.argv[2]]()


if __name__ == "__main__":
    main()
