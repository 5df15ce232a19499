# SPDX-License-Identifier: Apache-2.0
"""pymongo does one thing as whom the URI names, and prints "done" or what was said of it.

usage: pymongo_users.py URI sync|async insert|read|create NAME
"""
import asyncio
import sys

import pymongo
from pymongo.errors import PyMongoError


def action(db, what, name):
    if what == "insert":
        return db["c"].insert_one({"by": name})
    if what == "read":
        return db["c"].find_one({"by": name})
    return db.command("createUser", name, pwd="crayon", roles=["read"])


async def asynchronously(uri, what, name):
    async with pymongo.AsyncMongoClient(uri) as client:
        return await action(client["files"], what, name)


def synchronously(uri, what, name):
    with pymongo.MongoClient(uri) as client:
        return action(client["files"], what, name)


def main():
    uri, interface, what, name = sys.argv[1:5]
    try:
        if interface == "async":
            done = asyncio.run(asynchronously(uri, what, name))
        else:
            done = synchronously(uri, what, name)
        print("found nothing" if done is None else "done")
    except PyMongoError as error:
        print(type(error).__name__, error)


main()
