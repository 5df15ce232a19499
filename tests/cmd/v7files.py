# SPDX-License-Identifier: Apache-2.0
"""A database as v7files' first generation left it.  usage: v7files.py URI; its files:

/docs/a.txt of three versions, the second called b.txt; /docs/gone.txt, deleted; /docs/large, 600,000 bytes that do not compress;
/tiny, inside its document; twice /same; and /x in the tree "other".
"""
import datetime
import hashlib
import random
import sys
import zlib

import bson
import pymongo

DAY = datetime.datetime(2012, 1, 30)


def when(hours):
    return DAY + datetime.timedelta(hours=hours)


def oid(number):
    return bson.ObjectId("4f25f00000000000%08x" % number)


def text(number):
    return (b"This is text number %d.\n" % number) * 300


def large():
    return random.Random(1).randbytes(600000)


class Database:
    def __init__(self, uri):
        self.db = pymongo.MongoClient(uri).get_default_database("test")

    def content(self, data, store, owner):
        """Stores it unless it is there; owner None: nobody has it any more."""
        sha = hashlib.sha1(data).digest()
        packed = data
        if store in ("z", "zin"):
            packer = zlib.compressobj(9, zlib.DEFLATED, -15)
            packed = packer.compress(data) + packer.flush()
        inside = store in ("in", "zin")
        doc = {"_id": sha, "filename": "first", "length": bson.Int64(0 if inside else len(packed)), "chunkSize": bson.Int64(262144),
               "uploadDate": when(0)}
        if store:
            doc["store"] = store
        if inside:
            doc["in"] = packed
        doc["refs"] = [owner] if owner else []
        doc["refHistory"] = [owner] if owner else []
        for at in range(0, 0 if inside else len(packed), 262144):
            self.db["v7.fs.chunks"].insert_one({"files_id": sha, "n": at // 262144, "data": packed[at:at + 262144]})
        self.db["v7.fs.files"].insert_one(doc)
        return {"length": len(data), "sha": sha}

    def entry(self, number, parent, name, version=1, **fields):
        doc = {"_id": oid(number), "_version": version, "parent": parent, "filename": name, "created_at": when(1), **fields}
        if version > 1:
            doc["updated_at"] = when(version)
        return doc

    def past(self, doc):
        self.db["v7files.vermongo"].insert_one({**doc, "_id": {"_id": doc["_id"], "_version": doc["_version"]}})

    def fill(self):
        files = self.db["v7files"]
        files.insert_one(self.entry(1, "/", "docs"))
        self.past(self.entry(2, oid(1), "a.txt", **self.content(text(1), "zin", None)))
        self.past(self.entry(2, oid(1), "b.txt", 2, **self.content(text(2), "z", None)))
        files.insert_one(self.entry(2, oid(1), "a.txt", 3, contentType="text/plain", **self.content(text(3), "z", oid(2))))
        self.past(self.entry(3, oid(1), "gone.txt", **self.content(text(4), "zin", None)))
        self.db["v7files.vermongo"].insert_one({"_id": {"_id": oid(3), "_version": 2}, "_version": "deleted:2", "deleted_at": when(5)})
        files.insert_one(self.entry(4, oid(1), "large", **self.content(large(), None, oid(4))))
        files.insert_one(self.entry(5, "/", "tiny", **{"in": b"tiny"}))
        for number in (6, 7):
            files.insert_one(self.entry(number, "/", "same", **self.content(b"one of two files of a name, number %d" % number, "in", oid(number))))
        files.insert_one(self.entry(8, "other", "x", **{"in": b"x"}))


if __name__ == "__main__":
    Database(sys.argv[1]).fill()
