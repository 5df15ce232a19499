# SPDX-License-Identifier: Apache-2.0
"""pymongo's everyday operations against a server.

usage: pymongo_crud.py URI all|mark|resume|follow|bytes FILE   (see crud.sh; FILE keeps a resume token between two runs)
       pymongo_crud.py URI write FIRST-END
"""
import struct
import sys
import threading

import bson
import pymongo
from bson import json_util
from bson.codec_options import CodecOptions
from bson.raw_bson import RawBSONDocument
from pymongo import DeleteOne, InsertOne, ReplaceOne, UpdateOne
from pymongo.errors import BulkWriteError, DuplicateKeyError, OperationFailure


def refused(code, call, *args, **options):
    try:
        call(*args, **options)
    except OperationFailure as error:
        assert error.code == code, error
        return error
    raise AssertionError(f"not refused with {code}")


def everyday(c):
    c.drop()
    assert c.insert_one({"_id": 1, "n": 1}).inserted_id == 1
    assert c.insert_many([{"_id": i, "n": i} for i in range(2, 6)]).inserted_ids == [2, 3, 4, 5]
    error = refused(11000, c.insert_one, {"_id": 1})
    assert isinstance(error, DuplicateKeyError) and error.details["keyValue"] == {"_id": 1}, error.details
    result = c.update_many({"n": {"$gte": 4}}, {"$inc": {"n": 10}})
    assert (result.matched_count, result.modified_count) == (2, 2)
    assert c.replace_one({"_id": 9}, {"n": 9}, upsert=True).upserted_id == 9
    assert [d["n"] for d in c.find().sort([("n", -1)]).skip(1).limit(3)] == [14, 9, 3]
    assert c.find_one_and_update({"_id": 9}, {"$set": {"a": [1]}}) == {"_id": 9, "n": 9}
    assert c.find_one_and_replace({"_id": 9}, {"b": 1}, return_document=True) == {"_id": 9, "b": 1}
    assert c.find_one_and_delete({"_id": 9}) == {"_id": 9, "b": 1}
    assert c.count_documents({"n": {"$in": [1, 2, None]}}) == 2
    assert sorted(c.distinct("n", {"_id": {"$lt": 4}})) == [1, 2, 3]
    assert list(c.aggregate([{"$group": {"_id": None, "n": {"$sum": "$n"}}}])) == [{"_id": None, "n": 35}]
    refused(2, list, c.find({"n": {"$noSuchOperator": 1}}))
    refused(9, c.update_one, {}, {"$noSuchOperator": {"n": 1}})
    refused(66, c.update_one, {"_id": 1}, {"$set": {"_id": 2}})
    refused(59, c.database.command, "noSuchCommand")
    assert c.delete_many({"n": {"$gt": 10}}).deleted_count == 2
    assert c.delete_one({}).deleted_count == 1


def bulk(c):
    c.drop()
    operations = [InsertOne({"_id": 1}), InsertOne({"_id": 1}), UpdateOne({"_id": 1}, {"$set": {"a": 1}}),
                  ReplaceOne({"_id": 2}, {"a": 2}, upsert=True), DeleteOne({"_id": 3})]
    for ordered, modified in ((True, 0), (False, 1)):
        c.delete_many({})
        try:
            c.bulk_write(operations, ordered=ordered)
            raise AssertionError("a duplicate was accepted")
        except BulkWriteError as error:
            details = error.details
        assert [(e["index"], e["code"]) for e in details["writeErrors"]] == [(1, 11000)], details
        assert (details["nInserted"], details["nModified"], details["nUpserted"]) == (1, modified, modified), details
    c.drop()
    count = 120000  # more than one message takes
    c.bulk_write([InsertOne({"_id": i}) for i in range(count)])
    assert c.estimated_document_count() == count
    assert c.delete_many({"_id": {"$gte": 10}}).deleted_count == count - 10
    c.with_options(write_concern=pymongo.WriteConcern(w=0)).insert_one({"_id": "unheard"})
    assert c.find_one({"_id": "unheard"})


def long_lists_of_errors(c):
    """Drivers take no answer over 20 MB, so not each of many errors is told with all about it."""
    c.drop()
    c.database.create_collection(c.name, validator={"a": {"$in": ["x" * 20 + str(i) for i in range(1500)]}})
    good = {"_id": -1, "a": "x" * 20 + "7"}
    documents = [good] + [{"_id": i} for i in range(1000)]
    upserts = [UpdateOne({"_id": i}, {"$set": {"b": 1}}, upsert=True) for i in range(500)]
    for write in (lambda: c.insert_many(documents, ordered=False), lambda: c.bulk_write(upserts, ordered=False)):
        try:
            write()
            raise AssertionError("no error")
        except BulkWriteError as error:
            errors, details = error.details["writeErrors"], error.details
        n = details["nInserted"]
        assert n == (1 if len(errors) == 1000 else 0) and details["nUpserted"] == 0, (n, len(errors))
        assert [(e["index"], e["code"]) for e in errors] == [(i + n, 121) for i in range(1000 if n else 500)]
        assert errors[0]["errmsg"] and "specifiedAs" in errors[0]["errInfo"]["details"], errors[0]
        assert len(bson.encode({"e": [{k: v for k, v in e.items() if k != "op"} for e in errors]})) < 2000000
        assert "errInfo" not in errors[-1], errors[-1]
    c.drop()


def sessions(client, c):
    c.drop()
    with client.start_session(causal_consistency=True) as session:
        c.insert_one({"_id": 1}, session=session)
        assert c.find_one({}, session=session) == {"_id": 1}
        assert session.operation_time is not None and session.cluster_time is not None
    with client.start_session() as session:
        session.start_transaction()
        try:
            c.insert_one({"_id": 2}, session=session)
            raise AssertionError("a transaction was accepted")
        except OperationFailure:
            pass
        try:
            session.abort_transaction()
        except OperationFailure:
            pass
    assert c.count_documents({}) == 1


def changes(c):
    c.drop()
    seen = []
    with c.watch(full_document="updateLookup", max_await_time_ms=5000) as stream:
        writer = threading.Timer(0.2, lambda: (c.insert_one({"_id": 1}), c.update_one({"_id": 1}, {"$push": {"a": 5}}), c.delete_one({"_id": 1})))
        writer.start()
        for event in stream:
            seen.append(event["operationType"])
            if len(seen) == 3:
                break
        token = stream.resume_token
        writer.join()
    assert seen == ["insert", "update", "delete"], seen
    c.insert_one({"_id": 2})
    with c.watch([{"$match": {"operationType": "insert"}}, {"$project": {"fullDocument": 1}}], resume_after=token) as stream:
        event = next(stream)
        assert event["fullDocument"] == {"_id": 2} and "operationType" not in event, event


def mark(c, path):
    with c.watch() as stream:
        c.insert_one({"step": "before"})
        next(stream)
        with open(path, "w") as out:
            out.write(json_util.dumps(stream.resume_token))
    c.insert_one({"step": "missed"})


def resume(c, path):
    with open(path) as file:
        token = json_util.loads(file.read())
    with c.watch(resume_after=token) as stream:
        c.insert_one({"step": "after"})
        assert [next(stream)["fullDocument"]["step"] for _ in range(2)] == ["missed", "after"]


def follow(c, path):
    """One stream that stays open while the server goes and comes back: every insert up to n = 19 once, in order."""
    with c.watch() as stream:
        with open(path, "w") as out:
            out.write("watching")
        assert [next(stream)["fullDocument"]["n"] for _ in range(20)] == list(range(20))


def write(client, numbers):
    """Inserts that follow() waits for, in both drivers."""
    first, last = map(int, numbers.split("-"))
    for name in ("node", "pymongo"):
        client[name]["stayed"].insert_many([{"n": n} for n in range(first, last)])


def element(kind, name, value):
    return bytes([kind]) + name + b"\0" + value


def document(*elements):
    inner = b"".join(elements)
    return struct.pack("<i", len(inner) + 5) + inner + b"\0"


def text(value):
    return struct.pack("<i", len(value) + 1) + value + b"\0"


def samples():
    """(type byte, bytes of the value): every type of BSON, with the values that implementations get wrong."""
    for number in (0.0, -0.0, float("inf"), float("-inf"), 5e-324, 1.7976931348623157e308, 9007199254740993.0):
        yield 1, struct.pack("<d", number)
    yield 1, bytes.fromhex("010000000000f8ff")  # NaN with a sign and a payload
    for value in (b"", b"text", b"with\0NUL", "日本 ё 😀".encode(), b"x" * 70000):
        yield 2, text(value)
    yield 3, document()
    yield 3, document(element(16, b"a", struct.pack("<i", 1)), element(16, b"a", struct.pack("<i", 2)))  # a name twice
    yield 3, document(element(16, b"", struct.pack("<i", 1)), element(16, b"$a.b", struct.pack("<i", 2)))
    yield 4, document()
    yield 4, document(element(10, b"0", b""), element(4, b"1", document(element(8, b"0", b"\1"))))
    for subtype in (0, 1, 3, 4, 5, 6, 7, 8, 128, 255):
        yield 5, struct.pack("<iB", 16, subtype) + bytes(range(16))
    yield 5, struct.pack("<iBi", 9, 2, 5) + b"inner"  # the old binary type, with its second length
    yield 5, struct.pack("<iB", 0, 0)
    yield 6, b""
    yield 7, bytes(range(12))
    yield 8, b"\0"
    yield 8, b"\1"
    for when in (0, -1, 253402300800000, -62135596800001, 2**63 - 1, -2**63):  # beyond the years 0 and 9999
        yield 9, struct.pack("<q", when)
    yield 10, b""
    yield 11, b"^a.*\\.b$\0imsx\0"
    yield 11, b"\0\0"
    yield 12, text(b"db.collection") + bytes(range(12))
    yield 13, text(b"function () { return 1 }")
    yield 14, text(b"symbol")
    code = text(b"x") + document(element(16, b"x", struct.pack("<i", 1)))
    yield 15, struct.pack("<i", len(code) + 4) + code
    for number in (0, -1, 2**31 - 1, -2**31):
        yield 16, struct.pack("<i", number)
    for when in (1, 2**64 - 1, 1350000000 << 32 | 7):
        yield 17, struct.pack("<Q", when)
    for number in (0, 2**53 + 1, 2**63 - 1, -2**63):
        yield 18, struct.pack("<q", number)
    for high, low in ((0x3040000000000000, 1), (0xB040000000000000, 0), (0x7800000000000000, 0), (0xF800000000000000, 0),
                      (0x7C00000000000000, 0), (0x7E00000000000000, 1), (0x5FFED09BEAD87C03, 0x78D8E63FFFFFFFFF), (0x2FFC000000000000, 10)):
        yield 19, struct.pack("<QQ", low, high)
    yield 255, b""
    yield 127, b""


def nested(depth):
    inner = document()
    for _ in range(depth):
        inner = document(element(3, b"d", inner))
    return inner


def same_bytes(client):
    """Every type as a field, in a document, in an array and, where allowed, as the _id, through insert, update and aggregate."""
    db = client["pymongo"]
    c = db.get_collection("bytes", codec_options=CodecOptions(document_class=RawBSONDocument))
    c.drop()
    sent = []
    for number, (kind, value) in enumerate(samples()):
        field = element(kind, b"v", value)
        sent.append(document(element(16, b"_id", struct.pack("<i", number)), field, element(3, b"in", document(field)),
                             element(4, b"list", document(element(kind, b"0", value))), field))
    sent.append(document(element(16, b"_id", struct.pack("<i", len(sent))), element(3, b"deep", nested(95))))
    c.insert_many([RawBSONDocument(raw) for raw in sent])
    assert [bytes(d.raw) for d in c.find().sort("_id", 1)] == sent
    assert [bytes(d.raw) for d in c.find().sort("_id", 1).batch_size(3)] == sent
    assert [bytes(c.find_one({"_id": i}).raw) for i in range(len(sent))] == sent
    assert [bytes(d.raw) for d in c.aggregate([{"$match": {}}, {"$sort": {"_id": 1}}])] == sent
    c.update_many({}, {"$set": {"later": 1}})
    later = element(16, b"later", struct.pack("<i", 1))
    assert [bytes(d.raw) for d in c.find().sort("_id", 1)] == [document(raw[4:-1], later) for raw in sent]
    c.update_many({}, {"$unset": {"later": ""}})
    assert [bytes(d.raw) for d in c.find().sort("_id", 1)] == sent
    c.create_index("v")
    assert sorted(bytes(d.raw) for d in c.find().sort("v", 1)) == sorted(sent)
    c.drop()
    as_id = [document(element(kind, b"_id", value)) for kind, value in samples() if kind not in (4, 6, 11) and not (kind == 3 and b"$a.b" in value)]
    for raw in as_id:
        c.drop()
        # As commands: the helpers would decode the _id, and Python has no such dates.
        db.command("insert", "bytes", documents=[RawBSONDocument(raw)])
        assert [bytes(d.raw) for d in c.find({"_id": {"$exists": True}})] == [raw]
        reply = db.command("find", "bytes", filter=RawBSONDocument(raw), codec_options=c.codec_options)
        assert [bytes(d.raw) for d in reply["cursor"]["firstBatch"]] == [raw], raw
    print(f"# {len(sent)} documents and {len(as_id)} ids came back byte for byte")


def main():
    uri, action, path = sys.argv[1:4]
    client = pymongo.MongoClient(uri, serverSelectionTimeoutMS=15000)
    db = client["pymongo"]
    if action in ("mark", "resume"):
        {"mark": mark, "resume": resume}[action](db["followed"], path)
    elif action == "follow":
        follow(db["stayed"], path)
    elif action == "write":
        write(client, path)
    elif action == "bytes":
        same_bytes(client)
    else:
        everyday(db["everyday"])
        bulk(db["bulk"])
        long_lists_of_errors(db["refused"])
        sessions(client, db["sessions"])
        changes(db["changes"])
    client.close()


main()
