# SPDX-License-Identifier: Apache-2.0
"""Uploads that die, and uploads that do not.

usage: orphans.py crash URI STORE ASHLAR COUNT    kill -9 so many uploads of a driver and of the command, at random moments
       orphans.py upload URI STORE ASHLAR SECONDS eight uploads side by side that take so long; ends when they are whole
       orphans.py verify URI                      every visible file is whole; no chunk is without a file

STORE is what the command is told: an address or a folder."""
import hashlib
import os
import random
import signal
import subprocess
import sys
import time

import gridfs
import pymongo

PIECE = 300000


def content(name):
    size = int(hashlib.sha256(name.encode()).hexdigest(), 16) % 6_000_000 + 2_000_000
    block = hashlib.sha256(name.encode()).digest() * 1024
    return (block * (size // len(block) + 1))[:size]


def pieces(name, seconds):
    data = content(name)
    for at in range(0, len(data), PIECE):
        yield data[at:at + PIECE]
        time.sleep(seconds * PIECE / len(data))


def by_driver(uri, name, seconds):
    """A child process with a driver of its own."""
    child = os.fork()
    if child != 0:
        return child
    try:
        with gridfs.GridFSBucket(pymongo.MongoClient(uri)["test"]).open_upload_stream(name) as stream:
            for piece in pieces(name, seconds):
                stream.write(piece)
        os._exit(0)
    except BaseException:  # pylint: disable=broad-except
        sys.excepthook(*sys.exc_info())
        os._exit(1)


def by_command(store, ashlar, name, seconds):
    """A child that feeds the command, which is the one to be killed; returns both."""
    command = subprocess.Popen([ashlar, "-q", "-s", store, "put", "-", name], stdin=subprocess.PIPE)
    feeder = os.fork()
    if feeder != 0:
        command.stdin.close()
        return command.pid, feeder
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    for piece in pieces(name, seconds):
        os.write(command.stdin.fileno(), piece)
    os._exit(0)


def crash(uri, store, ashlar, count):
    dead = 0
    rounds = 0
    while dead < count:
        running = []
        for _ in range(min(10, count - dead)):
            rounds += 1
            name, seconds = f"crash {rounds} {os.urandom(4).hex()}", random.uniform(0.05, 0.5)
            if rounds % 2 == 0:
                running.append((by_driver(uri, name, seconds), None))
            else:
                running.append(by_command(store, ashlar, name, seconds))
        for victim, feeder in running:
            time.sleep(random.uniform(0, 0.06))
            os.kill(victim, signal.SIGKILL)
            if os.waitpid(victim, 0)[1] == signal.SIGKILL:
                dead += 1
            if feeder is not None:
                os.waitpid(feeder, 0)
    print(f"# {dead} uploads died, {rounds - dead} were done before")


def upload(uri, store, ashlar, seconds):
    children = [by_driver(uri, f"whole {n}", seconds) for n in range(4)]
    for n in range(4, 8):
        children += by_command(store, ashlar, f"whole {n}", seconds)
    assert all(os.waitpid(child, 0)[1] == 0 for child in children), "an upload failed"


def verify(uri):
    database = pymongo.MongoClient(uri)["test"]
    names = []
    for file in gridfs.GridFSBucket(database).find():
        assert file.read() == content(file.filename), f"{file.filename} is not whole"
        names.append(file.filename)
    missing = {f"whole {n}" for n in range(8)} - set(names)
    assert not missing, f"gone: {missing}"
    orphans = list(database["fs.chunks"].aggregate([
        {"$group": {"_id": "$files_id", "chunks": {"$sum": 1}}},
        {"$lookup": {"from": "fs.files", "localField": "_id", "foreignField": "_id", "as": "file"}},
        {"$match": {"file": []}}]))
    assert not orphans, orphans
    print(f"# {len(names)} files are whole, no chunk is without one")


if sys.argv[1] == "crash":
    crash(*sys.argv[2:5], int(sys.argv[5]))
elif sys.argv[1] == "upload":
    upload(*sys.argv[2:5], float(sys.argv[5]))
else:
    verify(sys.argv[2])
