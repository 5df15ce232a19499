# SPDX-License-Identifier: Apache-2.0
"""pymongo's asynchronous interface against a server.

usage: pymongo_async.py URI gridfs upload|verify|all NAME SIZE   (the same bytes as pymongo_gridfs.py makes)
       pymongo_async.py URI crud all|mark|resume FILE            (FILE keeps a resume token between two runs)
"""
import asyncio
import hashlib
import sys

import gridfs
from bson import json_util
from gridfs import AsyncGridFS, AsyncGridFSBucket
from pymongo import AsyncMongoClient, DeleteOne, InsertOne, ReplaceOne, UpdateOne
from pymongo.errors import BulkWriteError, DuplicateKeyError, OperationFailure


def content(name, size):
    block = b"".join(hashlib.sha256(f"{name} {i}".encode()).digest() for i in range(2048))
    return (block * (size // len(block) + 1))[:size]


async def refused(expected, awaitable):
    try:
        await awaitable
    except expected as error:
        return error
    raise AssertionError(f"not refused with {expected}")


async def by_name(bucket, name, **options):
    stream = await bucket.open_download_stream_by_name(name, **options)
    return await stream.read()


async def ids(bucket, query):
    return [file._id async for file in bucket.find(query)]


async def read_parts(bucket, file_id, data):
    stream = await bucket.open_download_stream(file_id)
    assert await stream.read() == data
    await stream.seek(len(data) // 2)
    assert await stream.read(1000) == data[len(data) // 2:][:1000]
    stream = await bucket.open_download_stream(file_id)
    assert b"".join([chunk async for chunk in stream]) == data


async def all_of_gridfs(db, bucket, name, data):
    first = await bucket.upload_from_stream(name, data, metadata={"color": "red"})
    second = await bucket.upload_from_stream(name, data[::-1], metadata={"color": "blue"})
    await read_parts(bucket, first, data)
    assert await by_name(bucket, name) == data[::-1]
    assert await by_name(bucket, name, revision=0) == data
    assert await ids(bucket, {"metadata.color": "blue", "filename": name}) == [second]
    await bucket.rename(first, name + " renamed")
    assert await ids(bucket, {"filename": name + " renamed"}) == [first]
    await bucket.delete(first)
    await bucket.delete(second)
    assert await db["fs.chunks"].count_documents({"files_id": {"$in": [first, second]}}) == 0
    await refused(gridfs.NoFile, bucket.open_download_stream(first))
    await refused(gridfs.NoFile, bucket.delete(first))
    grid_in = bucket.open_upload_stream("aborted")
    await grid_in.write(b"x" * 600000)
    await grid_in.abort()
    assert await ids(bucket, {"filename": "aborted"}) == []
    fs = AsyncGridFS(db, "legacy")
    legacy = await fs.put(b"legacy bytes", filename="old")
    assert await (await fs.get(legacy)).read() == b"legacy bytes" and await fs.list() == ["old"]
    await fs.delete(legacy)
    await asyncio.gather(*(bucket.upload_from_stream(f"{name} {i}", data[:600000 + i]) for i in range(8)))
    read = await asyncio.gather(*(by_name(bucket, f"{name} {i}") for i in range(8)))
    assert read == [data[:600000 + i] for i in range(8)]


async def gridfs_action(client, action, name, size):
    db = client["test"]
    bucket = AsyncGridFSBucket(db)
    data = content(name, size)
    if action == "upload":
        await bucket.upload_from_stream(name, data, metadata={"made": "by pymongo"})
    elif action == "verify":
        got = await by_name(bucket, name)
        assert got == data, "wrong bytes"
        print(hashlib.sha256(got).hexdigest())
    else:
        await all_of_gridfs(db, bucket, name, data)


async def everyday(c):
    await c.drop()
    assert (await c.insert_one({"_id": 1, "n": 1})).inserted_id == 1
    assert (await c.insert_many([{"_id": i, "n": i} for i in range(2, 6)])).inserted_ids == [2, 3, 4, 5]
    error = await refused(DuplicateKeyError, c.insert_one({"_id": 1}))
    assert error.code == 11000 and error.details["keyValue"] == {"_id": 1}, error.details
    result = await c.update_many({"n": {"$gte": 4}}, {"$inc": {"n": 10}})
    assert (result.matched_count, result.modified_count) == (2, 2)
    assert (await c.replace_one({"_id": 9}, {"n": 9}, upsert=True)).upserted_id == 9
    assert [d["n"] for d in await c.find().sort("n", -1).skip(1).limit(3).to_list()] == [14, 9, 3]
    assert await c.find_one_and_update({"_id": 9}, {"$set": {"a": [1]}}) == {"_id": 9, "n": 9}
    assert await c.find_one_and_delete({"_id": 9}) == {"_id": 9, "n": 9, "a": [1]}
    assert await c.count_documents({"n": {"$in": [1, 2, None]}}) == 2
    assert sorted(await c.distinct("n", {"_id": {"$lt": 4}})) == [1, 2, 3]
    sums = await c.aggregate([{"$group": {"_id": None, "n": {"$sum": "$n"}}}])
    assert await sums.to_list() == [{"_id": None, "n": 35}]
    assert (await refused(OperationFailure, c.update_one({}, {"$noSuchOperator": {"n": 1}}))).code == 9
    assert (await c.delete_many({"n": {"$gt": 10}})).deleted_count == 2


async def bulk(c):
    await c.drop()
    operations = [InsertOne({"_id": 1}), InsertOne({"_id": 1}), UpdateOne({"_id": 1}, {"$set": {"a": 1}}),
                  ReplaceOne({"_id": 2}, {"a": 2}, upsert=True), DeleteOne({"_id": 3})]
    details = (await refused(BulkWriteError, c.bulk_write(operations, ordered=False))).details
    assert [(e["index"], e["code"]) for e in details["writeErrors"]] == [(1, 11000)], details
    assert (details["nInserted"], details["nModified"], details["nUpserted"]) == (1, 1, 1), details
    await c.drop()
    await asyncio.gather(*(c.insert_many([{"_id": i * 1000 + k} for k in range(1000)]) for i in range(10)))
    assert [d["_id"] async for d in c.find().sort("_id", 1).batch_size(100)] == list(range(10000))


async def indexes(c):
    await c.drop()
    assert await c.create_index([("a", 1), ("b", -1)], unique=True) == "a_1_b_-1"
    assert set(await c.index_information()) == {"_id_", "a_1_b_-1"}
    await c.insert_one({"a": 1, "b": 1})
    await refused(DuplicateKeyError, c.insert_one({"a": 1, "b": 1}))
    await c.drop_index("a_1_b_-1")
    assert set(await c.index_information()) == {"_id_"}


async def sessions(client, c):
    await c.drop()
    async with client.start_session(causal_consistency=True) as session:
        await c.insert_one({"_id": 1}, session=session)
        assert await c.find_one({}, session=session) == {"_id": 1}
        assert session.operation_time is not None and session.cluster_time is not None


async def changes(c):
    await c.drop()
    async with await c.watch(full_document="updateLookup") as stream:
        await c.insert_one({"_id": 1})
        await c.update_one({"_id": 1}, {"$push": {"a": 5}})
        await c.delete_one({"_id": 1})
        events = [await stream.next() for _ in range(3)]
    assert [e["operationType"] for e in events] == ["insert", "update", "delete"], events


async def mark(c, path):
    async with await c.watch() as stream:
        await c.insert_one({"step": "before"})
        await stream.next()
        with open(path, "w") as out:
            out.write(json_util.dumps(stream.resume_token))
    await c.insert_one({"step": "missed"})


async def resume(c, path):
    with open(path) as file:
        token = json_util.loads(file.read())
    async with await c.watch(resume_after=token) as stream:
        await c.insert_one({"step": "after"})
        assert [(await stream.next())["fullDocument"]["step"] for _ in range(2)] == ["missed", "after"]


async def crud_action(client, action, path):
    db = client["pymongo_async"]
    if action in ("mark", "resume"):
        await {"mark": mark, "resume": resume}[action](db["followed"], path)
        return
    await everyday(db["everyday"])
    await bulk(db["bulk"])
    await indexes(db["indexes"])
    await sessions(client, db["sessions"])
    await changes(db["changes"])


async def main():
    uri, part, action = sys.argv[1:4]
    async with AsyncMongoClient(uri, serverSelectionTimeoutMS=15000) as client:
        if part == "gridfs":
            await gridfs_action(client, action, sys.argv[4], int(sys.argv[5]))
        else:
            await crud_action(client, action, sys.argv[4])


asyncio.run(main())
