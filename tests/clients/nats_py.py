#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""objects_peer.c's words, by nats-py, as far as it has them.  usage: nats_py.py URL VERB ARGUMENT…"""
import asyncio
import sys

import nats
from nats.js import api


async def info(store, name):
    o = await store.get_info(name)
    print(f"name {o.name}\nsize {o.size or 0}")
    if o.options and o.options.link:
        link = o.options.link
        print(f"link {link['name'] if isinstance(link, dict) else link.name}")
        return
    print(f"description {o.description}\nchunks {o.chunks}\ndigest {o.digest}")
    for name, values in (o.headers or {}).items():
        print("header", name, *(values if isinstance(values, list) else [values]))
    for name, value in (getattr(o, "metadata", None) or {}).items():
        print("metadata", name, value)


async def watch(store, count):
    watcher = await store.watch(include_history=True)
    while count > 0:
        o = await watcher.updates(timeout=20)
        if o is not None:
            print("deleted" if o.deleted else "put", o.name, flush=True)
            count -= 1


async def run(store, verb, words):
    if verb == "put":
        meta = api.ObjectMeta(description=words[2], headers={"Color": ["red", "blue"]})
        with open(words[1], "rb") as file:
            await store.put(words[0], file, meta=meta)
    elif verb == "get":
        result = await store.get(words[0])
        sys.stdout.buffer.write(result.data)
    elif verb == "info":
        await info(store, words[0])
    elif verb == "list":
        print("\n".join(sorted(o.name for o in await store.list(ignore_deletes=True))))
    elif verb == "delete":
        await store.delete(words[0])
    elif verb == "seal":
        await store.seal()
    elif verb == "watch":
        await watch(store, int(words[0]))
    else:
        sys.exit(2)


async def main():
    url, verb, bucket, *words = sys.argv[1:]
    nc = await nats.connect(url)
    js = nc.jetstream()
    if verb == "create":
        await js.create_object_store(bucket)
    else:
        await run(await js.object_store(bucket), verb, words)
    await nc.close()


asyncio.run(main())
