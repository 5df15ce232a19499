# SPDX-License-Identifier: Apache-2.0
"""Upload file after file until stopped; each acknowledged name goes to a log.  Failures are expected: the server gets killed.

usage: kill_uploader.py URI PREFIX LOG SECONDS      upload
       kill_uploader.py URI verify LOG...           compare everything visible, and everything in the logs
"""
import hashlib
import random
import sys
import time

import gridfs
import pymongo


def content(name):
    size = int(hashlib.md5(name.encode()).hexdigest(), 16) % 3_000_000
    block = hashlib.sha256(name.encode()).digest() * 1024
    return (block * (size // len(block) + 1))[:size]


def connect(uri):
    return pymongo.MongoClient(uri, serverSelectionTimeoutMS=15000, socketTimeoutMS=15000)


def upload(uri, prefix, log, seconds):
    bucket = gridfs.GridFSBucket(connect(uri)["test"], chunk_size_bytes=random.choice([1000 * 64, 255 * 1024]))
    end = time.monotonic() + seconds
    number = 0
    with open(log, "a", encoding="utf-8") as acknowledged:
        while time.monotonic() < end:
            number += 1
            name = f"{prefix}-{number}-{time.monotonic_ns()}"
            try:
                bucket.upload_from_stream(name, content(name))
            except pymongo.errors.PyMongoError:
                continue
            acknowledged.write(name + "\n")
            acknowledged.flush()


def verify(uri, logs):
    bucket = gridfs.GridFSBucket(connect(uri)["test"])
    visible = set()
    for file in bucket.find():
        assert file.read() == content(file.filename), f"{file.filename} is visible and not whole"
        visible.add(file.filename)
    acknowledged = {line.rstrip("\n") for log in logs for line in open(log, encoding="utf-8") if line.endswith("\n")}
    missing = acknowledged - visible
    assert not missing, f"acknowledged and gone: {sorted(missing)[:5]}"
    print(f"# {len(visible)} files visible, {len(acknowledged)} acknowledged")


if sys.argv[2] == "verify":
    verify(sys.argv[1], sys.argv[3:])
else:
    upload(sys.argv[1], sys.argv[2], sys.argv[3], float(sys.argv[4]))
