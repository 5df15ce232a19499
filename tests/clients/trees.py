# SPDX-License-Identifier: Apache-2.0
"""A tree of v7files' seed, by pymongo.  usage: trees.py URI fill|expect DB

fill: a database as v7files left it.  expect: what Ashlar has made of it; contents are read as files of GridFS, by their digests.
"""
import hashlib
import os
import sys
import zlib

import bson
import gridfs
import pymongo

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cmd"))
sys.dont_write_bytecode = True
import v7files  # noqa: E402


def read(db, content):
    """The bytes of a content, as a v7files of its day had them."""
    store = content.get("store", "raw")
    if store in ("in", "zin"):
        data = content["in"]
    else:
        data = gridfs.GridFSBucket(db, bucket_name="v7.fs").open_download_stream(content["_id"]).read()
    return zlib.decompress(data, -15) if store in ("z", "zin") else data


def expect_contents(db):
    """All are what their digests say, and have those owners that the files say."""
    count = 0
    for content in db["v7.fs.files"].find():
        assert len(content["_id"]) == 20 and content.get("store", "raw") in ("raw", "z", "zin", "in"), content
        assert hashlib.sha1(read(db, content)).digest() == content["_id"], content
        owners = {d["_id"] for d in db["v7files"].find({"sha": content["_id"]}, {"_id": 1})}
        assert set(content["refs"]) == owners and set(content["refHistory"]) >= owners, content
        count += 1
    return count


def expect_entries(db):
    for doc in db["v7files"].find({"_id": {"$type": "objectId"}}):
        assert list(doc)[:4] == ["_id", "_version", "parent", "filename"], doc
        assert type(doc["_version"]) is int and isinstance(doc["created_at"], type(v7files.DAY))
        assert ("sha" in doc) == ("length" in doc) and not ("sha" in doc and "in" in doc), doc
        assert ("updated_at" in doc) == (doc["_version"] > 1), doc
    for doc in db["v7files.vermongo"].find():
        assert list(doc["_id"]) == ["_id", "_version"], doc
        if "deleted_at" in doc:
            assert doc["_version"] == "deleted:%d" % doc["_id"]["_version"], doc
        else:
            assert doc["_version"] == doc["_id"]["_version"], doc


def main():
    uri, action, name = sys.argv[1:]
    client = pymongo.MongoClient(uri)
    if action == "fill":
        v7files.Database(uri + name).fill()
        return
    db = client[name]
    print(expect_contents(db), "contents")
    expect_entries(db)


main()
