# SPDX-License-Identifier: Apache-2.0
"""pymongo's GridFS against a server.  usage: pymongo_gridfs.py URI upload|verify|all NAME SIZE

upload stores SIZE bytes under NAME, made from NAME; verify reads NAME back and compares; all does what users do, and cleans up.
"""
import hashlib
import sys

import gridfs
import pymongo


def content(name, size):
    block = b"".join(hashlib.sha256(f"{name} {i}".encode()).digest() for i in range(2048))
    return (block * (size // len(block) + 1))[:size]


def main():
    uri, action, name, size = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
    client = pymongo.MongoClient(uri, serverSelectionTimeoutMS=10000)
    db = client["test"]
    bucket = gridfs.GridFSBucket(db)
    data = content(name, size)
    if action == "upload":
        bucket.upload_from_stream(name, data, metadata={"made": "by pymongo"})
    elif action == "verify":
        stream = bucket.open_download_stream_by_name(name)
        digest = hashlib.sha256()
        while True:
            piece = stream.read(1 << 20)
            if not piece:
                break
            digest.update(piece)
        assert digest.hexdigest() == hashlib.sha256(data).hexdigest(), "wrong bytes"
        print(digest.hexdigest())
    else:
        everything(db, bucket, name, data)
    client.close()


def everything(db, bucket, name, data):
    first = bucket.upload_from_stream(name, data, metadata={"color": "red", "n": 1})
    second = bucket.upload_from_stream(name, data[::-1], metadata={"color": "blue", "n": 2})
    assert bucket.open_download_stream(first).read() == data
    assert bucket.open_download_stream_by_name(name).read() == data[::-1]
    assert bucket.open_download_stream_by_name(name, revision=0).read() == data
    assert bucket.open_download_stream_by_name(name, revision=-2).read() == data
    found = list(bucket.find({"metadata.color": "blue"}))
    assert [f._id for f in found] == [second], found
    assert found[0].length == len(data)
    stream = bucket.open_download_stream(first)
    stream.seek(len(data) // 2)
    assert stream.read(1000) == data[len(data) // 2:][:1000]
    bucket.rename(first, name + " renamed")
    assert [f.filename for f in bucket.find({"_id": first})] == [name + " renamed"]
    assert [f._id for f in bucket.find({"filename": name}).sort("uploadDate", -1)] == [second]
    bucket.delete(first)
    bucket.delete(second)
    assert db["fs.chunks"].count_documents({"files_id": {"$in": [first, second]}}) == 0
    try:
        bucket.open_download_stream(first)
        raise AssertionError("a deleted file opens")
    except gridfs.NoFile:
        pass
    try:
        bucket.delete(first)
        raise AssertionError("a deleted file is deleted again")
    except gridfs.NoFile:
        pass
    fs = gridfs.GridFS(db, "legacy")
    legacy = fs.put(b"legacy bytes", filename="old", encoding="utf-8")
    assert fs.get(legacy).read() == b"legacy bytes" and fs.list() == ["old"] and fs.exists(legacy)
    fs.delete(legacy)
    with bucket.open_upload_stream("aborted") as grid_in:
        grid_in.write(b"x" * 600000)
        grid_in.abort()
    assert list(bucket.find({"filename": "aborted"})) == []
    indexes = {tuple(i["key"].items()): i for i in db["fs.chunks"].list_indexes()}
    assert indexes[(("files_id", 1), ("n", 1))]["unique"]


main()
