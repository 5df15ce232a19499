# SPDX-License-Identifier: Apache-2.0
"""Damages files as only a driver can.  usage: damage.py URI; prints "NAME ID WHERE" for each damaged file.

WHERE: "document" when the files document itself makes no sense, "chunks" when it is at odds with its chunks."""
import sys

import bson
import gridfs
import pymongo

BYTES = b"d" * 600000
database = pymongo.MongoClient(sys.argv[1]).test
bucket = gridfs.GridFSBucket(database)

DOCUMENTS = {
    "negative-length": {"length": -1},
    "length-of-letters": {"length": "600000"},
    "half-a-byte": {"length": 1.5},
    "no-number": {"length": float("nan")},
    "longest": {"length": bson.Int64(2**63 - 1)},
    "length-of-lists": {"length": [600000]},
    "length-of-truth": {"length": True},
    "chunks-of-nothing": {"chunkSize": 0},
    "chunks-below-zero": {"chunkSize": -261120},
    "chunks-of-letters": {"chunkSize": "1"},
}
# Possible by themselves, but not with the chunks that there are.
LENGTHS = {
    "far-too-long": {"length": bson.Int64(2**50), "chunkSize": 2**20},
    "too-short": {"length": 300000},
    "one-large-chunk": {"chunkSize": 2**25},
    "chunks-too-large": {"chunkSize": bson.Int64(2**32 + 261120)},
}
CHUNKS = {
    "without-data": {"$unset": {"data": 1}},
    "data-of-letters": {"$set": {"data": "letters"}},
    "short": {"$set": {"data": b"1"}},
    "long": {"$set": {"data": b"1" * 300000}},
    "numbered-in-letters": {"$set": {"n": "1"}},
    "numbered-below-zero": {"$set": {"n": -1}},
    "numbered-too-high": {"$set": {"n": bson.Int64(2**62)}},
    "numbered-by-half": {"$set": {"n": 0.5}},
}
for name, fields in DOCUMENTS.items():
    damaged = bucket.upload_from_stream(name, BYTES)
    database.fs.files.update_one({"_id": damaged}, {"$set": fields})
    print(name, damaged, "document")
for name, fields in LENGTHS.items():
    damaged = bucket.upload_from_stream(name, BYTES)
    database.fs.files.update_one({"_id": damaged}, {"$set": fields})
    print(name, damaged, "chunks")
for name, change in CHUNKS.items():
    damaged = bucket.upload_from_stream(name, BYTES)
    database.fs.chunks.update_one({"files_id": damaged, "n": 1}, change)
    print(name, damaged, "chunks")
