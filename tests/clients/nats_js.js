// SPDX-License-Identifier: Apache-2.0
// objects_peer.c's words, by @nats-io/obj.  usage: node nats_js.js URL VERB ARGUMENT…
'use strict';
const fs = require('fs');
const { connect, headers } = require('@nats-io/transport-node');
const { Objm } = require('@nats-io/obj');

function stream(file) {
  const data = fs.readFileSync(file);
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      if (at >= data.length) return controller.close();
      controller.enqueue(new Uint8Array(data.subarray(at, at + 50000)));
      at += 50000;
    },
  });
}

async function info(store, name) {
  const o = await store.info(name);
  if (!o || o.deleted) throw new Error('not found');
  console.log(`name ${o.name}\nsize ${o.size ?? 0}`);
  if (o.options?.link) return console.log(`link ${o.options.link.name ?? ''}`);
  console.log(`description ${o.description}\nchunks ${o.chunks}\ndigest ${o.digest}`);
  for (const [name, values] of o.headers ?? []) console.log(`header ${name} ${values.join(' ')}`);
  for (const name in o.metadata ?? {}) console.log(`metadata ${name} ${o.metadata[name]}`);
}

async function get(store, name) {
  const result = await store.get(name);
  if (!result) throw new Error('not found');
  for await (const part of result.data) fs.writeSync(1, part);
  const error = await result.error;
  if (error) throw error;
}

async function watch(store, count) {
  const iterator = await store.watch({ includeHistory: true });
  for await (const o of iterator) {
    console.log(`${o.deleted ? 'deleted' : 'put'} ${o.name}`);
    if (--count === 0) break;
  }
}

async function main() {
  const [url, verb, bucket, ...words] = process.argv.slice(2);
  const nc = await connect({ servers: url.replace('nats://', '') });
  const objm = new Objm(nc);
  const store = verb === 'create' ? await objm.create(bucket) : await objm.open(bucket);
  const color = headers();
  color.append('Color', 'red');
  color.append('Color', 'blue');
  const verbs = {
    create: () => {},
    put: () => store.put({ name: words[0], description: words[2], headers: color, metadata: { owner: 'me' } }, stream(words[1])),
    get: () => get(store, words[0]),
    info: () => info(store, words[0]),
    list: async () => (await store.list()).map((o) => o.name).sort().forEach((name) => console.log(name)),
    delete: () => store.delete(words[0]),
    rename: async () => {
      const { description, metadata, options, headers: own } = await store.info(words[0]);
      await store.update(words[0], { name: words[1], description, metadata, options, headers: own });
    },
    link: async () => store.link(words[0], await store.info(words[1])),
    seal: () => store.seal(),
    watch: () => watch(store, Number(words[0])),
  };
  await verbs[verb]();
  await nc.close();
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
