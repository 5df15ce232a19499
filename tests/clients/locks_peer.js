// SPDX-License-Identifier: Apache-2.0
// One holder that uses the npm package gridfs-locks, in a process of its own: it can be stopped, and have another clock.
// usage: node locks_peer.js URI write|read ID EXPIRATION [FILE]
//
// Says "locked", "timed-out", "released", a line each.  It releases when a line comes in; with FILE it does nothing at
// all, not even hear its own timers, until that file exists, and then releases first of all.
'use strict';
const fs = require('fs');
const { MongoClient, ObjectID } = require('mongodb');
const { Lock, LockCollection } = require('gridfs-locks');

const [uri, verb, id, expiration, file] = process.argv.slice(2);

function say(word) {
  fs.writeSync(1, `${word}\n`);
}

function ready(db) {
  return new Promise((resolve, reject) => {
    const c = LockCollection(db, { root: 'fs', pollingInterval: 0.2, timeOut: 20, lockExpiration: Number(expiration) });
    c.on('ready', () => resolve(c)).on('error', reject);
  });
}

function doNothing() {
  const cell = new Int32Array(new SharedArrayBuffer(4));
  while (!fs.existsSync(file)) Atomics.wait(cell, 0, 0, 10);
}

async function main() {
  const db = await MongoClient.connect(uri);
  const lock = Lock(new ObjectID(id), await ready(db), {});
  lock.on('error', (error) => say(`error ${error.message}`));
  lock.on('timed-out', () => say('timed-out'));
  lock.on('released', () => say('released'));
  lock.on('locked', () => {
    say('locked');
    if (file) {
      doNothing();
      lock.releaseLock();
    } else {
      process.stdin.once('data', () => lock.releaseLock());
    }
  });
  lock[verb === 'read' ? 'obtainReadLock' : 'obtainWriteLock']();
}

main().catch((error) => {
  console.error(`# ${error.stack}`);
  process.exit(1);
});
