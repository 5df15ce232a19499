// SPDX-License-Identifier: Apache-2.0
// gridfs-stream, on the GridStore of older drivers, against a server.
// usage: MONGODB_PACKAGE=mongodb-2|mongodb-3 node node_gridfs_stream.js URI upload|verify|all NAME SIZE
// (the same bytes as pymongo_gridfs.py makes)
'use strict';
const assert = require('assert');
const crypto = require('crypto');
const mongo = require(process.env.MONGODB_PACKAGE);
const Grid = require('gridfs-stream');

function content(name, size) {
  const parts = [];
  for (let i = 0; i < 2048; i++) parts.push(crypto.createHash('sha256').update(`${name} ${i}`).digest());
  const block = Buffer.concat(parts);
  const out = Buffer.alloc(size);
  for (let at = 0; at < size; at += block.length) block.copy(out, at);
  return out;
}

const write = (grid, data, options) =>
  new Promise((resolve, reject) => {
    const stream = grid.createWriteStream(options);
    // Node.js 14 and later destroy a stream that ended, which this package takes for a failure.
    stream._writableState.autoDestroy = false;
    stream.on('error', reject).on('close', resolve);
    for (let at = 0; at < data.length; at += 65536) stream.write(data.slice(at, at + 65536));
    stream.end();
  });

const read = (grid, options) =>
  new Promise((resolve, reject) => {
    const parts = [];
    const stream = grid.createReadStream(options);
    stream.on('data', (part) => parts.push(part)).on('error', reject).on('end', () => resolve(Buffer.concat(parts)));
  });

const call = (object, method, ...args) =>
  new Promise((resolve, reject) => {
    object[method](...args, (error, result) => (error ? reject(error) : resolve(result)));
  });

const sha256 = (data) => crypto.createHash('sha256').update(data).digest('hex');

async function everything(db, grid, name, data) {
  const backwards = Buffer.from(data).reverse();
  const first = await write(grid, data, { filename: name, mode: 'w', metadata: { color: 'red', n: 1 } });
  const second = await write(grid, backwards, { filename: name, mode: 'w', metadata: { color: 'blue', n: 2 } });
  assert.strictEqual(sha256(await read(grid, { _id: first._id })), sha256(data));
  assert.strictEqual(sha256(await read(grid, { _id: second._id })), sha256(backwards));
  const found = await grid.files.find({ filename: name, 'metadata.color': 'blue' }).toArray();
  assert.deepStrictEqual(found.map((f) => String(f._id)), [String(second._id)]);
  assert.strictEqual(found[0].length, data.length);
  const range = await read(grid, { _id: first._id, range: { startPos: 300000, endPos: 600000 } });
  assert(range.equals(data.slice(300000, 600001)));
  assert.strictEqual(await call(grid, 'exist', { _id: first._id }), true);
  await grid.files.updateOne({ _id: first._id }, { $set: { filename: `${name} renamed` } });
  const revisions = await grid.files.find({ filename: name }).sort({ uploadDate: -1 }).toArray();
  assert.deepStrictEqual(revisions.map((f) => String(f._id)), [String(second._id)]);
  await call(grid, 'remove', { _id: first._id });
  await call(grid, 'remove', { _id: second._id });
  assert.strictEqual(await call(grid, 'exist', { _id: first._id }), false);
  // GridStore takes an id that does not exist for a file to write.
  await assert.rejects(read(grid, { _id: first._id }), /not opened for writing/);
  const chunks = await db.collection('fs.chunks').find({ files_id: { $in: [first._id, second._id] } }).toArray();
  assert.strictEqual(chunks.length, 0);
}

async function main() {
  const [uri, action, name, size] = process.argv.slice(2);
  const client = await mongo.MongoClient.connect(`${uri}test`, {});
  // From driver 3 on, the client is no longer the database.
  const db = client.collection ? client : client.db('test');
  const grid = Grid(db, mongo);
  const data = content(name, Number(size));
  if (action === 'upload') await write(grid, data, { filename: name, mode: 'w', metadata: { made: 'by gridfs-stream' } });
  else if (action === 'verify') {
    const digest = sha256(await read(grid, { filename: name }));
    assert.strictEqual(digest, sha256(data));
    console.log(digest);
  } else await everything(db, grid, name, data);
  await client.close();
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
