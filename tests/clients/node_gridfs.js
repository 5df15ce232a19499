// SPDX-License-Identifier: Apache-2.0
// The npm driver's GridFSBucket against a server.  usage: node node_gridfs.js URI upload|verify|all NAME SIZE
// (the same bytes as pymongo_gridfs.py makes).  MONGODB_PACKAGE names the package: drivers from 2.2 on.
'use strict';
const assert = require('assert');
const crypto = require('crypto');
const mongodbPackage = process.env.MONGODB_PACKAGE || 'mongodb';
const { MongoClient, GridFSBucket } = require(mongodbPackage);
const major = Number(require(`${mongodbPackage}/package.json`).version.split('.')[0]);

function content(name, size) {
  const parts = [];
  for (let i = 0; i < 2048; i++) parts.push(crypto.createHash('sha256').update(`${name} ${i}`).digest());
  const block = Buffer.concat(parts);
  const out = Buffer.alloc(size);
  for (let at = 0; at < size; at += block.length) block.copy(out, at);
  return out;
}

const upload = (bucket, name, data, options) =>
  new Promise((resolve, reject) => {
    const stream = bucket.openUploadStream(name, options);
    stream.on('error', reject).on('finish', () => resolve(stream.id));
    stream.end(data);
  });

const collect = (stream) =>
  new Promise((resolve, reject) => {
    const parts = [];
    stream.on('data', (part) => parts.push(part)).on('error', reject).on('end', () => resolve(Buffer.concat(parts)));
  });

const sha256 = (data) => crypto.createHash('sha256').update(data).digest('hex');

async function everything(db, bucket, name, data) {
  const backwards = Buffer.from(data).reverse();
  const first = await upload(bucket, name, data, { metadata: { color: 'red', n: 1 } });
  const second = await upload(bucket, name, backwards, { metadata: { color: 'blue', n: 2 } });
  assert.strictEqual(sha256(await collect(bucket.openDownloadStream(first))), sha256(data));
  assert.strictEqual(sha256(await collect(bucket.openDownloadStreamByName(name))), sha256(backwards));
  assert.strictEqual(sha256(await collect(bucket.openDownloadStreamByName(name, { revision: 0 }))), sha256(data));
  const found = await bucket.find({ filename: name, 'metadata.color': 'blue' }).toArray();
  assert.deepStrictEqual(found.map((f) => String(f._id)), [String(second)]);
  const middle = Math.floor(data.length / 2);
  const range = await collect(bucket.openDownloadStream(first, { start: middle, end: middle + 1000 }));
  if (major > 2) assert.strictEqual(range.length, 1000); // driver 2 goes on to the end of the chunk
  assert(range.subarray(0, 1000).equals(data.subarray(middle, middle + 1000)));
  await bucket.rename(first, `${name} renamed`);
  assert.strictEqual((await bucket.find({ _id: first }).toArray())[0].filename, `${name} renamed`);
  const revisions = await bucket.find({ filename: name }).sort({ uploadDate: -1 }).toArray();
  assert.deepStrictEqual(revisions.map((f) => String(f._id)), [String(second)]);
  await bucket.delete(first);
  await bucket.delete(second);
  await assert.rejects(bucket.delete(first), /FileNotFound|not found/i);
  await assert.rejects(collect(bucket.openDownloadStream(first)), /FileNotFound|not found/i);
  const chunks = await db.collection('fs.chunks').find({ files_id: { $in: [first, second] } }).toArray();
  assert.strictEqual(chunks.length, 0);
  const other = new GridFSBucket(db, { bucketName: 'other', chunkSizeBytes: 1000 });
  await upload(other, 'small chunks', data.subarray(0, 12345));
  assert.strictEqual((await collect(other.openDownloadStreamByName('small chunks'))).length, 12345);
  await other.drop();
  assert.strictEqual((await other.find().toArray()).length, 0);
}

// Driver 2 connects to a database; 3 has the topology of 4 and later on request.
async function connect(uri) {
  if (major === 2) {
    const db = await MongoClient.connect(`${uri}test`);
    return [db, db];
  }
  const options = major === 3 ? { useUnifiedTopology: true } : {};
  const client = new MongoClient(uri, { serverSelectionTimeoutMS: 10000, ...options });
  await client.connect();
  return [client, client.db('test')];
}

async function main() {
  const [uri, action, name, size] = process.argv.slice(2);
  const [client, db] = await connect(uri);
  const bucket = new GridFSBucket(db);
  const data = content(name, Number(size));
  if (action === 'upload') await upload(bucket, name, data, { metadata: { made: 'by node' } });
  else if (action === 'verify') {
    const digest = sha256(await collect(bucket.openDownloadStreamByName(name)));
    assert.strictEqual(digest, sha256(data));
    console.log(digest);
  } else await everything(db, bucket, name, data);
  await client.close();
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
