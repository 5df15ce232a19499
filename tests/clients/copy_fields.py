# SPDX-License-Identifier: Apache-2.0
"""What drivers of all ages left in a bucket, to be copied.  usage: copy_fields.py make URI | same URI URI

make fills the bucket `old`; same compares every document of its two collections in both stores, byte by byte but for chunks' _id."""
import datetime
import hashlib
import sys
import uuid

import bson
import pymongo
from bson.raw_bson import RawBSONDocument

DATA = bytes(range(256)) * 10
IDS = [
    1, bson.Int64(2), 3.5, bson.Decimal128("4.25"), "text", "", {"a": 1, "b": {"c": [2]}}, {}, bson.Binary(b"\0\1", 0),
    bson.Binary(uuid.UUID(int=7).bytes, 4), bson.ObjectId("5f3a00000000000000000001"), True, None,
    datetime.datetime(2015, 5, 17, 1, 2, 3, 456000), bson.Timestamp(8, 9), bson.Code("f"), bson.Code("g", {"x": 1}),
    bson.MinKey(), bson.MaxKey(), float("nan"), float("inf"),
]


def files_document(number, file_id):
    document = {"_id": file_id}
    kinds = [int, float, bson.Int64, lambda n: bson.Decimal128(str(n))]
    document["chunkSize"] = kinds[number % 4](1000)
    document["length"] = kinds[(number + 1) % 4](len(DATA))
    if number % 3 != 0:
        document["filename"] = f"file {number}"
    if number % 4 != 1:
        document["uploadDate"] = datetime.datetime(2009 + number, 1, 2, 3, 4, 5, 678000)
    if number % 2 == 0:
        document.update(md5=hashlib.md5(DATA).hexdigest(), contentType="text/plain", aliases=["x", "y", "x"])
    if number % 5 == 0:
        document.update(metadata={"owner": {"name": "me", "tags": [1, 2.0, None]}}, root={"odd": 1, "a.b": 2}, views=bson.Int64(7))
    if number % 5 == 1:
        document["metadata"] = "no document"
    return document


def make(uri):
    database = pymongo.MongoClient(uri)["test"]
    database["old.chunks"].create_index([("files_id", 1), ("n", 1)], unique=True)
    for number, file_id in enumerate(IDS):
        for n in range(3):
            database["old.chunks"].insert_one({"files_id": file_id, "n": n, "data": DATA[n * 1000:n * 1000 + 1000]})
        # By hand: the driver's own insert refuses names with dots.
        reply = database.command("insert", "old.files", documents=[files_document(number, file_id)])
        assert reply["n"] == 1, reply
    print(f"# {len(IDS)} files")


def documents(uri):
    database = pymongo.MongoClient(uri).get_database("test", bson.codec_options.CodecOptions(document_class=RawBSONDocument))
    files = sorted(document.raw for document in database["old.files"].find())
    chunks = sorted(bson.BSON.encode({"f": chunk["files_id"], "n": chunk["n"], "d": chunk["data"]})
                    for chunk in database["old.chunks"].find())
    return files, chunks


def same(one, other):
    ours, theirs = documents(one), documents(other)
    assert len(ours[0]) == len(IDS) and len(ours[1]) == 3 * len(IDS), (len(ours[0]), len(ours[1]))
    for a, b in zip(ours, theirs):
        assert a == b, [x for x in zip(a, b) if x[0] != x[1]][:1]


if sys.argv[1] == "make":
    make(sys.argv[2])
else:
    same(sys.argv[2], sys.argv[3])
