// SPDX-License-Identifier: Apache-2.0
// The npm package gridfs-locks, unmodified, and `ashlar lock` on the same server.
// usage: node locks_npm.js URI CASE        (ASHLAR: the command)
// A peer with another clock is this script again: node locks_npm.js URI peer write|read ID EXPIRATION, a line a state.
'use strict';
const assert = require('assert');
const { spawn } = require('child_process');
const { MongoClient, ObjectID } = require('mongodb');
const { Lock, LockCollection } = require('gridfs-locks');

const [uri, name, ...rest] = process.argv.slice(2);
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

function collection(db, options) {
  return new Promise((resolve, reject) => {
    const c = LockCollection(db, Object.assign({ root: 'fs', pollingInterval: 0.2 }, options));
    c.on('ready', () => resolve(c)).on('error', reject);
  });
}

// The events of one attempt: resolves to 'locked' or 'timed-out'.
function attempt(lock, verb) {
  return new Promise((resolve, reject) => {
    lock.removeAllListeners();
    lock.on('locked', () => resolve('locked')).on('timed-out', () => resolve('timed-out')).on('error', reject);
    lock[verb]();
  });
}

function finish(lock, verb, event) {
  return new Promise((resolve, reject) => {
    lock.removeAllListeners();
    lock.on(event, resolve).on('error', reject);
    lock[verb]();
  });
}

const read = (lock) => attempt(lock, 'obtainReadLock');
const write = (lock) => attempt(lock, 'obtainWriteLock');
const release = (lock) => finish(lock, 'releaseLock', 'released');

// `ashlar lock`: held until release() or kill().  in: resolves to the token when it got in; over: to the exit status.
function ours(id, ...options) {
  const child = spawn(process.env.ASHLAR, ['-s', uri, 'lock', ...options, `id:${id}`, '--', 'sh', '-c',
    'echo $ASHLAR_LOCK_TOKEN; read line'], { stdio: ['pipe', 'pipe', 'inherit'] });
  const held = { since: Date.now() };
  held.over = new Promise((resolve) => child.on('exit', (code, signal) => resolve(signal || code)));
  held.in = new Promise((resolve, reject) => {
    child.stdout.once('data', (data) => { held.at = Date.now(); resolve(Number(data)); });
    held.over.then((status) => reject(new Error(`ashlar lock ended with ${status} before it got in`)));
  });
  held.in.catch(() => {});
  held.release = () => { child.stdin.end('\n'); return held.over; };
  held.kill = (signal) => child.kill(signal);
  return held;
}

async function soon(promise, ms, what) {
  const late = sleep(ms).then(() => { throw new Error(`${what} took over ${ms} ms`); });
  return Promise.race([promise, late]);
}

const cases = {
  async its_reader_lets_our_writer_in(db, id) {
    const lock = Lock(id, await collection(db), {});
    assert.strictEqual(await read(lock), 'locked');
    const writer = ours(id, '--wait', '20');
    await sleep(500);
    assert.strictEqual(writer.at, undefined);
    // Our request keeps other readers out.
    const second = Lock(id, await collection(db), {});
    assert.strictEqual(await read(second), 'timed-out');
    const start = Date.now();
    await release(lock);
    await soon(writer.in, 2000, 'getting in after its release');
    console.log(`# in ${writer.at - start} ms after its release, starting a shell included`);
    assert.strictEqual(await writer.release(), 0);
  },

  async our_writer_blocks_it_and_its_time_out_hurts_nobody(db, id) {
    const first = ours(id);
    await first.in;
    const second = ours(id, '--wait', '20');
    const lock = Lock(id, await collection(db, { timeOut: 1 }), {});
    assert.strictEqual(await write(lock), 'timed-out');
    assert.strictEqual(await read(Lock(id, await collection(db), {})), 'timed-out');
    assert.strictEqual(await first.release(), 0);
    await soon(second.in, 3000, 'our second waiter');
    assert.strictEqual(await second.release(), 0);
    assert.strictEqual(await write(lock), 'locked');
    await release(lock);
  },

  async its_late_holder_is_taken_over_and_its_release_noticed(db, id) {
    const lock = Lock(id, await collection(db, { lockExpiration: 1 }), {});
    assert.strictEqual(await write(lock), 'locked');
    // A process that was stopped has not heard its timers.
    clearTimeout(lock.expiresSoonTimeout);
    clearTimeout(lock.expiredTimeout);
    const before = lock.heldLock.reads + lock.heldLock.writes;
    const writer = ours(id, '--wait', '20', '--grace', '0.5', '--lease', '1.5');
    const token = await soon(writer.in, 8000, 'taking over');
    assert.ok(token > before);
    assert.ok(Date.now() - writer.since >= 1000);
    await release(lock); // frees our lock: it does not look whose it is
    assert.strictEqual(await soon(writer.over, 5000, 'noticing'), 6);
  },

  async our_dead_holder_is_taken_over_by_it(db, id) {
    const writer = ours(id, '--lease', '1');
    await writer.in;
    writer.kill('SIGKILL');
    const lock = Lock(id, await collection(db, { timeOut: 10 }), {});
    assert.strictEqual(await soon(write(lock), 8000, 'its takeover'), 'locked');
    await release(lock);
  },

  async it_removes_the_lock_while_we_wait(db, id) {
    const lock = Lock(id, await collection(db), {});
    assert.strictEqual(await write(lock), 'locked');
    const writer = ours(id, '--wait', '20');
    const reader = ours(id, '--wait', '20', '--shared');
    await sleep(500);
    await finish(lock, 'removeLock', 'removed');
    const first = await soon(Promise.race([writer.in, reader.in]), 2000, 'getting in after its removal');
    const one = writer.at ? writer : reader, other = one === writer ? reader : writer;
    assert.strictEqual(await one.release(), 0);
    assert.ok(await soon(other.in, 3000, 'the other') > first);
    assert.strictEqual(await other.release(), 0);
    const again = ours(id);
    assert.ok(await again.in > first);
    assert.strictEqual(await again.release(), 0);
  },

  async readers_of_both_share(db, id) {
    const lock = Lock(id, await collection(db), {});
    const reader = ours(id, '--shared');
    await reader.in;
    assert.strictEqual(await read(lock), 'locked');
    assert.strictEqual(lock.heldLock.read_locks, 2);
    await reader.release();
    const writer = ours(id);
    await assert.rejects(writer.in);
    assert.strictEqual(await writer.over, 6);
    const doc = await release(lock);
    assert.strictEqual(doc.read_locks, 0);
    const after = ours(id);
    await after.in;
    assert.strictEqual(await after.release(), 0);
  },

  // Its clock is 30 s behind: our lease, good by the server's clock, is kept; its own lock is respected to its end.
  clock_behind: (db, id) => skewed(id, '-30s'),
  // 30 s ahead, it may take our lease too early: then we notice.
  async clock_ahead(db, id) {
    await skewed(id, '+30s');
    const writer = ours(id, '--lease', '3');
    await writer.in;
    const thief = peer('+30s', 'write', id, 60);
    await soon(thief.next('locked'), 5000, 'its early takeover');
    assert.strictEqual(await soon(writer.over, 5000, 'noticing'), 6);
    thief.child.kill();
  },
};

function peer(skew, verb, id, expiration) {
  const child = spawn('faketime', ['-f', skew, process.execPath, __filename, uri, 'peer', verb, id, expiration],
    { stdio: ['pipe', 'pipe', 'inherit'] });
  let text = '';
  child.stdout.on('data', (data) => { text += data; });
  const next = async (word) => { while (!text.includes(word)) await sleep(10); };
  return { child, next, said: (word) => text.includes(word) };
}

async function skewed(id, skew) {
  const theirs = peer(skew, 'read', id, 0);
  await soon(theirs.next('locked'), 5000, 'its lock');
  const writer = ours(id, '--wait', '20');
  await sleep(500);
  assert.strictEqual(writer.at, undefined);
  theirs.child.stdin.end('\n');
  await soon(theirs.next('released'), 3000, 'its release');
  await soon(writer.in, 3000, 'our turn');
  assert.strictEqual(await writer.release(), 0);
}

async function be_peer(db, [verb, id, expiration]) {
  const options = { timeOut: 20, lockExpiration: Number(expiration) };
  const lock = Lock(new ObjectID(id), await collection(db, options), {});
  console.log(await (verb === 'read' ? read(lock) : write(lock)));
  await new Promise((resolve) => process.stdin.once('data', resolve));
  await release(lock);
  console.log('released');
}

async function main() {
  const db = await MongoClient.connect(uri);
  if (name === 'peer') await be_peer(db, rest);
  else await cases[name](db, new ObjectID());
  await db.close();
  process.exit(0);
}

main().catch((error) => {
  console.error(`# ${error.stack}`);
  process.exit(1);
});
