// SPDX-License-Identifier: Apache-2.0
// The work of locks.c with the npm package gridfs-locks, unmodified: it polls, every 5 s unless told otherwise.
// usage: node locks_npm.js URI PEER SCALE [POLLING_SECONDS]
'use strict';
const { MongoClient } = require('mongodb');
const { Lock, LockCollection } = require('gridfs-locks');

const [uri, peer, scaleText, polling] = process.argv.slice(2);
const scale = Number(scaleText);
const FILES = 10000, READERS = 5000, WRITERS = 50, AT_ONCE = 8, CROWD_S = 20, WAKINGS = 5;
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const nowUs = () => Number(process.hrtime.bigint() / 1000n);
const figure = (name, value, unit) => console.log(`${name},${peer},${value.toFixed(1)},${unit}`);

function collection(db, root) {
  return new Promise((resolve, reject) => {
    const c = LockCollection(db, { root, timeOut: 3600, pollingInterval: Number(polling || 5) });
    c.on('ready', () => resolve(c)).on('error', reject);
  });
}

function once(lock, verb, event) {
  return new Promise((resolve, reject) => {
    lock.removeAllListeners();
    lock.on(event, resolve).on('error', reject);
    lock[verb]();
  });
}
const read = (lock) => once(lock, 'obtainReadLock', 'locked');
const write = (lock) => once(lock, 'obtainWriteLock', 'locked');
const release = (lock) => once(lock, 'releaseLock', 'released');

async function measureFiles(locks, name) {
  const count = Math.floor(FILES * scale), start = nowUs();
  let next = 0;
  await Promise.all(Array.from({ length: AT_ONCE }, async () => {
    while (next < count) {
      next += 1;
      const lock = Lock(next, locks, {});
      await write(lock);
      await release(lock);
    }
  }));
  figure(name, count * 1e6 / (nowUs() - start), 'grants/s');
}

async function measureWake(locks) {
  const took = [];
  for (let i = 0; i < WAKINGS; i++) {
    const held = Lock(-1, locks, {}), waits = Lock(-1, locks, {});
    await read(held);
    const inside = write(waits).then(nowUs);
    // Anywhere between two of its polls.
    await sleep(50 + 1000 * Number(polling || 5) * (i + 0.5) / WAKINGS);
    const start = nowUs();
    await release(held);
    took.push(await inside - start);
    await release(waits);
  }
  took.sort((one, other) => one - other);
  figure('locks_wake_p50', took[Math.floor(WAKINGS / 2)], 'us');
  figure('locks_wake_max', took[WAKINGS - 1], 'us');
}

async function measureCrowd(locks) {
  const count = Math.floor((READERS + WRITERS) * Math.min(scale, 1)), start = nowUs();
  let over = false, reads = 0, writes = 0, waited = 0;
  for (let i = 0; i < count; i++) {
    const isWriter = i % ((READERS + WRITERS) / WRITERS) === 0;
    (async () => {
      while (!over) {
        const lock = Lock(0, locks, {}), asked = nowUs();
        await (isWriter ? write(lock) : read(lock));
        if (over) return;
        if (isWriter) { writes += 1; waited += nowUs() - asked; } else { reads += 1; }
        await release(lock);
      }
    })().catch((error) => { if (!over) { console.error(error.message); process.exit(1); } });
  }
  await sleep(CROWD_S * 1000);
  const seconds = (nowUs() - start) / 1e6;
  figure('locks_crowd_reads', reads / seconds, 'grants/s');
  figure('locks_crowd_writes', writes / seconds, 'grants/s');
  if (writes > 0) figure('locks_crowd_wait', waited / writes, 'us');
  over = true;
}

async function main() {
  const db = await MongoClient.connect(`${uri}?maxPoolSize=${AT_ONCE}`);
  const locks = await collection(db, `npm${nowUs()}`);
  await measureFiles(locks, 'locks_files_first');
  await measureFiles(locks, 'locks_files_again');
  await measureWake(locks);
  await measureCrowd(locks);
  process.exit(0);
}

main().catch((error) => {
  console.error(error.stack);
  process.exit(1);
});
