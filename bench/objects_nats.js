// SPDX-License-Identifier: Apache-2.0
// The work of objects.c by @nats-io/obj, unmodified.  usage: node objects_nats.js URI PEER MIB SMALL
'use strict';
const { connect } = require('@nats-io/transport-node');
const { Objm } = require('@nats-io/obj');

const [uri, peer, mib, smallText] = process.argv.slice(2);
const SMALL_BYTES = 4096;
const WRITERS = 16;
const MOST_GETS = 500; // each leaves a consumer for a while, and a server has a limit of those
const small = Number(smallText);
const figure = (name, value, unit) => console.log(`${name},${peer},${value.toFixed(1)},${unit}`);
const seconds = (from) => Number(process.hrtime.bigint() - from) / 1e9;
const now = () => process.hrtime.bigint();

function stream(data) {
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      if (at >= data.length) return controller.close();
      controller.enqueue(data.subarray(at, at + 1048576));
      at += 1048576;
    },
  });
}

async function main() {
  const data = new Uint8Array(Number(mib) * 1048576);
  for (let i = 0, x = 1; i < data.length; i++) data[i] = (x = (x * 1664525 + 1013904223) >>> 0) >>> 24;
  const nc = await connect({ servers: uri.replace('nats://', '') });
  const store = await new Objm(nc).create('bench');
  let from = now();
  await store.put({ name: 'large' }, stream(data), { timeout: 60000 });
  figure('objects_put', data.length / 1e6 / seconds(from), 'MB/s');
  from = now();
  const result = await store.get('large');
  let total = 0;
  for await (const part of result.data) total += part.length;
  if ((await result.error) || total !== data.length) throw new Error('get');
  figure('objects_get', data.length / 1e6 / seconds(from), 'MB/s');
  from = now();
  for (let i = 0; i < small; i++) await store.putBlob({ name: `small/${i}` }, data.subarray(i, i + SMALL_BYTES));
  figure('objects_put_small', small / seconds(from), '/s');
  from = now();
  const gets = Math.min(small, MOST_GETS);
  for (let i = 0; i < gets; i++) await store.getBlob(`small/${i}`);
  figure('objects_get_small', gets / seconds(from), '/s');
  from = now();
  await Promise.all(
    Array.from({ length: WRITERS }, async (_, w) => {
      const end = Math.floor((small * (w + 1)) / WRITERS);
      for (let i = Math.floor((small * w) / WRITERS); i < end; i++)
        await store.putBlob({ name: `many/${i}` }, data.subarray(i, i + SMALL_BYTES));
    })
  );
  figure('objects_put_small_16', small / seconds(from), '/s');
  await store.destroy();
  await nc.close();
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
