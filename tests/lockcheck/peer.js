// SPDX-License-Identifier: Apache-2.0
// One of the processes that check.py torments: a program that uses the npm package gridfs-locks, unmodified, on the
// file that worker.c uses, and appends what it did to the same history.
//
// usage: node peer.js URI HISTORY NUMBER SEED
//
// The package checks nothing when a holder is late, so its program does (docs/LOCKS.md, Beside the package): it takes
// back what others announced before it trusts its lock, and announces its own changes.  A reader counts what it saw
// only if the lock document shows afterwards that no writer was granted meanwhile.
'use strict';
const fs = require('fs');
const { MongoClient, ObjectID } = require('mongodb');
const { Lock, LockCollection } = require('gridfs-locks');

const LIFE_S = 0.6, POLL_S = 0.1, TIME_OUT_S = 2;
const [uri, path, number, seed] = process.argv.slice(2);
const history = fs.openSync(path, 'a');
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const now = () => Math.floor(Number(process.hrtime.bigint() / 1000000n));

function tell(what) {
  fs.writeSync(history, `${JSON.stringify(Object.assign({ p: Number(number), at: now() }, what))}\n`);
}

// 0 … below - 1 (mulberry32).
let state = Number(seed) >>> 0;
function random(below) {
  state = (state + 0x6d2b79f5) >>> 0;
  let t = Math.imul(state ^ (state >>> 15), 1 | state);
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
  return ((t ^ (t >>> 14)) >>> 0) % below;
}

// Mostly short; now and then longer than a lock lives.
const pauseSomewhat = () => sleep(random(8) === 0 ? LIFE_S * 1000 + 200 : random(20));

async function readVersion(db) {
  const [file] = await db.collection('fs.files').find({ filename: 'file' }).sort({ uploadDate: -1 }).limit(1).toArray();
  if (!file) return 0;
  const chunk = await db.collection('fs.chunks').findOne({ files_id: file._id, n: 0 });
  if (!chunk) return -1; // deleted between the two: a newer one is there
  return Number(chunk.data.buffer.toString());
}

const readSettled = async (db) => {
  for (;;) {
    const version = await readVersion(db);
    if (version >= 0) return version;
  }
};

// Before it counts: no change that an earlier holder announced happens from now on.
async function takeBack(db, doc) {
  for (const { files, id, mark, makes } of doc.pending || []) {
    const marked = { _id: id, 'ashlar_intent.mark': mark };
    if (makes) await db.collection(files).deleteOne(marked);
    else await db.collection(files).updateOne(marked, { $unset: { ashlar_intent: '' } });
    await db.collection('fs.locks').updateOne({ _id: doc._id }, { $pull: { pending: { mark } } });
  }
}

// The steps of docs/LOCKS.md, Without transactions.  False: refused.
async function commit(db, doc, version) {
  const id = new ObjectID(), mark = new ObjectID();
  const data = Buffer.from(String(version));
  const old = await db.collection('fs.files').find({ filename: 'file' }).project({ _id: 1 }).toArray();
  await db.collection('fs.chunks').insertOne({ files_id: id, n: 0, data });
  const newest = await db.collection('fs.files').find({ filename: 'file' }).sort({ uploadDate: -1 }).limit(1).toArray();
  const date = Math.max(Date.now(), newest.length ? newest[0].uploadDate.getTime() + 1 : 0);
  const file = { _id: id, length: data.length, chunkSize: 261120, uploadDate: new Date(date) };
  const marked = { _id: id, 'ashlar_intent.mark': mark };
  await db.collection('fs.files').insertOne(Object.assign({ ashlar_intent: { mark, makes: true } }, file));
  const announced = await db.collection('fs.locks').updateOne(
    { _id: doc._id, write_lock: true, writes: doc.writes },
    { $push: { pending: { files: 'fs.files', id, mark, makes: true } } });
  const changed = announced.matchedCount > 0 &&
    (await db.collection('fs.files').replaceOne(marked, Object.assign({ filename: 'file' }, file))).matchedCount > 0;
  if (!changed) {
    await db.collection('fs.files').deleteOne(marked);
    await db.collection('fs.chunks').deleteMany({ files_id: id });
    return false;
  }
  await db.collection('fs.locks').updateOne({ _id: doc._id }, { $pull: { pending: { mark } } });
  const gone = { $in: old.map((each) => each._id) };
  await db.collection('fs.files').deleteMany({ _id: gone });
  await db.collection('fs.chunks').deleteMany({ files_id: gone });
  return true;
}

async function update(db, doc) {
  const version = await readSettled(db) + 1;
  await pauseSomewhat();
  if (await commit(db, doc, version)) {
    const token = typeof doc.base === 'undefined' ? null : Number(doc.base) + doc.reads + doc.writes;
    tell({ op: 'commit', version, token });
  } else {
    tell({ op: 'refused', version });
  }
}

async function lookTwice(db, doc) {
  const first = await readSettled(db);
  await pauseSomewhat();
  const second = await readSettled(db);
  const after = await db.collection('fs.locks').findOne({ _id: doc._id, write_lock: false, writes: doc.writes });
  tell({ op: 'read', held: after !== null, first, second });
}

// Resolves to the lock document, or null.
function obtain(lock, verb) {
  const start = now();
  const end = (got) => tell({ op: 'wait', start, end: now(), limit: TIME_OUT_S * 1000, got });
  return new Promise((resolve, reject) => {
    lock.on('locked', (doc) => { end(true); resolve(doc); });
    lock.on('timed-out', () => { end(false); resolve(null); });
    lock.on('error', reject);
    lock[verb]();
  });
}

// A holder that expired here has nothing to release; one that was taken over frees whatever it meets.
function release(lock) {
  return new Promise((resolve) => {
    lock.removeAllListeners();
    lock.on('released', resolve).on('error', resolve);
    lock.releaseLock();
  });
}

async function turn(db, locks) {
  const write = random(3) !== 0;
  const lock = Lock(1, locks, {});
  const doc = await obtain(lock, write ? 'obtainWriteLock' : 'obtainReadLock');
  if (doc) {
    await takeBack(db, doc);
    await (write ? update(db, doc) : lookTwice(db, doc));
    await release(lock);
  }
  await sleep(random(30));
}

async function main() {
  const db = await MongoClient.connect(uri);
  const locks = await new Promise((resolve, reject) => {
    LockCollection(db, { lockExpiration: LIFE_S, pollingInterval: POLL_S, timeOut: TIME_OUT_S })
      .on('ready', function ready() { resolve(this); }).on('error', reject);
  });
  tell({ op: 'begins' });
  for (;;) {
    try {
      await turn(db, locks);
    } catch (error) {
      tell({ op: 'failed', what: 'peer', why: String(error.message) });
      await sleep(200);
    }
  }
}

main().catch((error) => {
  tell({ op: 'failed', what: 'open', why: String(error.stack) });
  process.exit(2);
});
