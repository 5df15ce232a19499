// SPDX-License-Identifier: Apache-2.0
// The npm driver's everyday operations against a server.
// usage: node node_crud.js URI all|mark|resume|follow FILE   (see crud.sh; FILE keeps a resume token between two runs)
// MONGODB_PACKAGE names the package: drivers from 6 on.
'use strict';
const assert = require('assert');
const fs = require('fs');
const { BSON, MongoClient, Long, Decimal128 } = require(process.env.MONGODB_PACKAGE || 'mongodb');

const code = (number) => (error) => error.code === number;

async function everyday(c) {
  await c.drop().catch(() => {});
  assert.strictEqual((await c.insertOne({ _id: 1, n: 1, tags: ['a', 'b'] })).insertedId, 1);
  assert.strictEqual((await c.insertMany([{ _id: 2, n: 2 }, { _id: 3, n: 3 }])).insertedCount, 2);
  await assert.rejects(c.insertOne({ _id: 1 }), code(11000));
  assert.strictEqual((await c.updateMany({ n: { $gte: 2 } }, { $inc: { n: 10 } })).modifiedCount, 2);
  const upserted = await c.updateOne({ _id: 4 }, { $set: { n: 4 } }, { upsert: true });
  assert.deepStrictEqual([upserted.matchedCount, upserted.upsertedCount, upserted.upsertedId], [0, 1, 4]);
  assert.deepStrictEqual(await c.find().sort({ n: -1 }).skip(1).limit(2).project({ n: 1 }).toArray(), [{ _id: 2, n: 12 }, { _id: 4, n: 4 }]);
  assert.deepStrictEqual(await c.findOneAndUpdate({ _id: 4 }, { $set: { n: 5 } }, { returnDocument: 'after' }), { _id: 4, n: 5 });
  assert.strictEqual(await c.findOneAndUpdate({ _id: 99 }, { $set: { n: 5 } }), null);
  assert.deepStrictEqual(await c.findOneAndDelete({ _id: 4 }), { _id: 4, n: 5 });
  const filters = { arrayFilters: [{ tag: 'b' }] };
  await c.updateOne({ _id: 1 }, { $set: { 'tags.$[tag]': 'c' } }, filters);
  assert.deepStrictEqual((await c.findOne({ _id: 1 })).tags, ['a', 'c']);
  assert.strictEqual(await c.countDocuments({ n: { $gt: 1 } }), 2);
  assert.strictEqual(await c.estimatedDocumentCount(), 3);
  assert.deepStrictEqual(await c.distinct('tags'), ['a', 'c']);
  assert.strictEqual((await c.deleteMany({})).deletedCount, 3);
}

async function manyBatches(c) {
  await c.drop().catch(() => {});
  await c.insertMany(Array.from({ length: 5000 }, (_, i) => ({ _id: i, text: 'x'.repeat(1000) })));
  let seen = 0;
  for await (const doc of c.find().sort({ _id: 1 }).batchSize(100)) assert.strictEqual(doc._id, seen++);
  assert.strictEqual(seen, 5000);
  const cursor = c.find().batchSize(10);
  await cursor.next();
  await cursor.close();
}

async function bulk(c) {
  await c.drop().catch(() => {});
  const operations = [
    { insertOne: { document: { _id: 1, a: 1 } } },
    { updateOne: { filter: { _id: 1 }, update: { $set: { a: 2 } } } },
    { replaceOne: { filter: { _id: 2 }, replacement: { a: 3 }, upsert: true } },
    { insertOne: { document: { _id: 1 } } },
    { deleteOne: { filter: { _id: 2 } } },
  ];
  const ordered = await c.bulkWrite(operations).catch((error) => error);
  assert.deepStrictEqual([ordered.code, ordered.writeErrors[0].index, ordered.result.deletedCount], [11000, 3, 0]);
  await c.deleteMany({});
  const unordered = await c.bulkWrite(operations, { ordered: false }).catch((error) => error);
  assert.deepStrictEqual([unordered.writeErrors.length, unordered.result.deletedCount], [1, 1]);
}

async function aggregation(c) {
  await c.drop().catch(() => {});
  await c.insertMany([1, 2, 3, 4].map((n) => ({ _id: n, even: n % 2 === 0, n, list: [n, n * 10] })));
  const sums = [{ $group: { _id: '$even', sum: { $sum: '$n' }, last: { $last: '$n' } } }, { $sort: { _id: 1 } }];
  assert.deepStrictEqual(await c.aggregate(sums).toArray(), [{ _id: false, sum: 4, last: 3 }, { _id: true, sum: 6, last: 4 }]);
  const unwound = [{ $unwind: '$list' }, { $match: { list: { $gt: 9 } } }, { $count: 'n' }];
  assert.deepStrictEqual(await c.aggregate(unwound).toArray(), [{ n: 4 }]);
  await c.aggregate([{ $match: { even: true } }, { $out: 'evens' }]).toArray();
  await c.updateMany({}, [{ $set: { double: { $multiply: ['$n', 2] } } }]);
  assert.strictEqual((await c.findOne({ _id: 4 })).double, 8);
  await assert.rejects(c.aggregate([{ $noSuchStage: {} }]).toArray(), code(40324));
}

async function indexes(db, c) {
  await c.drop().catch(() => {});
  assert.strictEqual(await c.createIndex({ a: 1, b: -1 }, { unique: true }), 'a_1_b_-1');
  assert.strictEqual(await c.createIndex({ a: 1, b: -1 }, { unique: true }), 'a_1_b_-1');
  await assert.rejects(c.createIndex({ a: 1, b: -1 }, { name: 'other', unique: true }), code(85));
  await assert.rejects(c.createIndex({ a: 1, b: -1 }, { name: 'a_1_b_-1' }), code(86));
  await c.insertMany([{ a: 1, b: 1 }, { a: 1, b: 2 }]);
  await assert.rejects(c.insertOne({ a: 1, b: 2 }), (error) => error.code === 11000 && error.keyPattern.a === 1 && error.keyValue.b === 2);
  await assert.rejects(c.createIndex({ a: 1 }, { unique: true }), code(11000));
  await assert.rejects(db.collection('missing').indexes(), code(26));
  await assert.rejects(c.dropIndex('missing'), code(27));
  await c.dropIndexes();
  assert.deepStrictEqual((await c.indexes()).map((index) => index.name), ['_id_']);
}

async function sessions(client, db, c) {
  await c.drop().catch(() => {});
  await client.withSession(async (session) => {
    await c.insertMany([{ _id: 1 }, { _id: 2 }], { session });
    assert.strictEqual((await c.find({}, { session }).toArray()).length, 2);
    assert(session.operationTime);
  });
  const session = client.startSession();
  session.startTransaction();
  await assert.rejects(c.insertOne({ _id: 3 }, { session }));
  await session.abortTransaction().catch(() => {});
  await session.endSession();
  assert.strictEqual(await c.countDocuments({}), 2);
}

// The connection closes after the write was applied or before: either way it happens once.
async function retries(client, c) {
  await c.drop().catch(() => {});
  await c.insertOne({ _id: 0, n: 0 });
  const fail = (data) =>
    client.db('admin').command({ configureFailPoint: 'failCommand', mode: { times: 1 }, data: { failCommands: ['update', 'insert'], ...data } });
  await fail({ closeConnection: true });
  await c.updateOne({ _id: 0 }, { $inc: { n: 1 } });
  await fail({ errorCode: 11600, errorLabels: ['RetryableWriteError'] });
  await c.updateOne({ _id: 0 }, { $inc: { n: 1 } });
  await fail({ writeConcernError: { code: 91, errmsg: 'going down', errorLabels: ['RetryableWriteError'] } });
  await c.updateOne({ _id: 0 }, { $inc: { n: 1 } });
  assert.strictEqual((await c.findOne()).n, 3);
  await fail({ closeConnection: true });
  await c.insertMany([{ _id: 1 }, { _id: 2 }]);
  assert.strictEqual(await c.countDocuments({}), 3);
}

async function changes(client, db, c) {
  await c.drop().catch(() => {});
  await db.createCollection(c.collectionName);
  const streams = [client.watch(), db.watch(), c.watch([], { fullDocument: 'updateLookup' })];
  for (const stream of streams) await stream.tryNext();
  await c.insertOne({ _id: 1, a: 1 });
  await c.updateOne({ _id: 1 }, { $set: { b: 2 }, $unset: { a: '' } });
  await c.replaceOne({ _id: 1 }, { c: 3 });
  await c.deleteOne({ _id: 1 });
  for (const stream of streams) {
    const events = [];
    while (events.length < 4) {
      const event = await stream.next();
      if (event.ns.coll === c.collectionName) events.push(event);
    }
    assert.deepStrictEqual(events.map((event) => event.operationType), ['insert', 'update', 'replace', 'delete']);
    assert.deepStrictEqual(events[1].updateDescription.updatedFields, { b: 2 });
    assert.deepStrictEqual(events[1].updateDescription.removedFields, ['a']);
  }
  await c.drop();
  assert.deepStrictEqual([(await streams[2].next()).operationType, (await streams[2].next()).operationType], ['drop', 'invalidate']);
  for (const stream of streams) await stream.close();
}

// An error of a fail point has the labels that it was given and no others; with this one the driver resumes by itself.
async function labels(client, db, c) {
  await c.drop().catch(() => {});
  await db.createCollection(c.collectionName);
  for (const given of [{}, { errorLabels: ['ResumableChangeStreamError'] }]) {
    const stream = c.watch();
    await stream.tryNext();
    const data = { failCommands: ['getMore'], errorCode: 6, ...given };
    await client.db('admin').command({ configureFailPoint: 'failCommand', mode: { times: 1 }, data });
    await c.insertOne({});
    if (given.errorLabels) assert.strictEqual((await stream.next()).operationType, 'insert');
    else await assert.rejects(stream.next(), code(6));
    await stream.close();
  }
}

async function mark(c, path) {
  const stream = c.watch();
  await stream.tryNext();
  await c.insertOne({ step: 'before' });
  await stream.next();
  fs.writeFileSync(path, BSON.EJSON.stringify(stream.resumeToken, { relaxed: false }));
  await c.insertOne({ step: 'missed' });
  await stream.close();
}

async function resume(c, path) {
  const stream = c.watch([], { resumeAfter: BSON.EJSON.parse(fs.readFileSync(path, 'utf8')) });
  await c.insertOne({ step: 'after' });
  const steps = [(await stream.next()).fullDocument.step, (await stream.next()).fullDocument.step];
  assert.deepStrictEqual(steps, ['missed', 'after']);
  await stream.close();
}

// One stream that stays open while the server goes and comes back: every insert up to n = 19 once, in order.
async function follow(c, path) {
  const stream = c.watch();
  await stream.tryNext();
  fs.writeFileSync(path, 'watching');
  for (let n = 0; n < 20; n++) assert.strictEqual((await stream.next()).fullDocument.n, n);
  await stream.close();
}

async function values(c) {
  await c.drop().catch(() => {});
  const doc = { _id: 'values', long: Long.fromString('9223372036854775807'), decimal: Decimal128.fromString('-0E-6176'), date: new Date(-1), zero: -0 };
  await c.insertOne(doc);
  const got = await c.findOne({}, { promoteLongs: false });
  assert(got.long.equals(doc.long) && String(got.decimal) === String(doc.decimal) && got.date.getTime() === -1 && Object.is(got.zero, -0));
}

async function main() {
  const [uri, action, path] = process.argv.slice(2);
  const client = new MongoClient(uri, { serverSelectionTimeoutMS: 15000 });
  await client.connect();
  const db = client.db('node');
  if (action === 'mark') await mark(db.collection('followed'), path);
  else if (action === 'resume') await resume(db.collection('followed'), path);
  else if (action === 'follow') await follow(db.collection('stayed'), path);
  else {
    await everyday(db.collection('everyday'));
    await manyBatches(db.collection('batches'));
    await bulk(db.collection('bulk'));
    await aggregation(db.collection('aggregation'));
    await indexes(db, db.collection('indexes'));
    await sessions(client, db, db.collection('sessions'));
    await retries(client, db.collection('retries'));
    await changes(client, db, db.collection('changes'));
    await labels(client, db, db.collection('labels'));
    await values(db.collection('values'));
  }
  await client.close();
}

// The driver's own timers would keep the process for seconds.
main().then(() => process.exit(0)).catch((error) => {
  console.error(error);
  process.exit(1);
});
