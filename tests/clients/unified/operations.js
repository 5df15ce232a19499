// SPDX-License-Identifier: Apache-2.0
// The operations of the unified test format, by npm mongodb's methods.
'use strict';
const assert = require('assert');
const { once } = require('events');
const { MongoClient } = require('./driver');
const { ObjectId } = require('./driver').BSON;
const { options } = require('./entities');

class Unknown extends Error {}

// filter, update, … are arguments of their own; what is left are options.
function split(args, ...names) {
  const rest = options(args);
  const own = names.map(name => {
    const value = rest[name];
    delete rest[name];
    return value;
  });
  return [...own, rest];
}

function oneAndOptions(args) {
  const rest = { ...args, includeResultMetadata: false };
  if (rest.returnDocument) rest.returnDocument = rest.returnDocument.toLowerCase();
  return rest;
}

function bulkModel(request) {
  const [[name, spec]] = Object.entries(request);
  return { [name]: name.startsWith('replace') ? { ...spec } : spec };
}

async function all(cursor) {
  const docs = await cursor.toArray();
  return docs;
}

function bulkResult(r) {
  const upserted = r.upsertedIds ?? {};
  return { insertedCount: r.insertedCount, insertedIds: r.insertedIds, matchedCount: r.matchedCount,
    modifiedCount: r.modifiedCount, deletedCount: r.deletedCount, upsertedCount: r.upsertedCount, upsertedIds: upserted };
}

function bytes(source) {
  return Buffer.from(source.$$hexBytes, 'hex');
}

async function readAll(stream) {
  const parts = [];
  for await (const part of stream) parts.push(part);
  return Buffer.concat(parts);
}

async function upload(bucket, args) {
  const [filename, source, id, rest] = split(args, 'filename', 'source', 'id');
  const stream = bucket.openUploadStreamWithId(id ?? new ObjectId(), filename, rest);
  stream.end(bytes(source));
  await once(stream, 'finish');
  return stream.id;
}

async function iterate(cursor) {
  for (;;) {
    const doc = await cursor.tryNext();
    if (doc !== null) return doc;
    if (cursor.closed) throw new Error('the cursor ended');
  }
}

async function openStream(target, args) {
  const [pipeline, rest] = split(args, 'pipeline');
  const stream = target.watch(pipeline ?? [], rest);
  await stream.tryNext(); // so that it is open before the next operation
  return stream;
}

async function openFind(collection, args) {
  const [filter, rest] = split(args, 'filter');
  const cursor = collection.find(filter, rest);
  await cursor.hasNext();
  return cursor;
}

async function drop(db, args) {
  const [name, rest] = split(args, 'collection');
  try {
    return await db.dropCollection(name, rest);
  } catch (e) {
    if (e.code !== 26) throw e;
    return false;
  }
}

const operations = {
  aggregate: (o, a) => { const [p, rest] = split(a, 'pipeline'); return all(o.aggregate(p, rest)); },
  bulkWrite: async (o, a) => {
    const [requests, rest] = split(a, 'requests');
    return bulkResult(await o.bulkWrite(requests.map(bulkModel), rest));
  },
  abortTransaction: o => o.abortTransaction(),
  close: o => o.close(),
  commitTransaction: o => o.commitTransaction(),
  count: (o, a) => { const [f, rest] = split(a, 'filter'); return o.count(f, rest); },
  countDocuments: (o, a) => { const [f, rest] = split(a, 'filter'); return o.countDocuments(f, rest); },
  createChangeStream: openStream,
  createCollection: (o, a) => { const [c, rest] = split(a, 'collection'); return o.createCollection(c, rest); },
  createCommandCursor: () => { throw new Unknown('command cursors'); },
  createFindCursor: openFind,
  createIndex: (o, a) => { const [k, rest] = split(a, 'keys'); return o.createIndex(k, rest); },
  delete: (o, a) => o.delete(a.id),
  deleteMany: (o, a) => { const [f, rest] = split(a, 'filter'); return o.deleteMany(f, rest); },
  deleteOne: (o, a) => { const [f, rest] = split(a, 'filter'); return o.deleteOne(f, rest); },
  distinct: (o, a) => { const [k, f, rest] = split(a, 'fieldName', 'filter'); return o.distinct(k, f ?? {}, rest); },
  download: (o, a) => readAll(o.openDownloadStream(a.id)),
  downloadByName: (o, a) => { const [n, rest] = split(a, 'filename'); return readAll(o.openDownloadStreamByName(n, rest)); },
  dropCollection: drop,
  dropIndex: (o, a) => { const [n, rest] = split(a, 'name'); return o.dropIndex(n, rest); },
  dropIndexes: (o, a) => o.dropIndexes(options(a)),
  endSession: o => o.endSession(),
  estimatedDocumentCount: (o, a) => o.estimatedDocumentCount(options(a)),
  find: (o, a) => { const [f, rest] = split(a, 'filter'); return all(o.find(f, rest)); },
  findOne: (o, a) => { const [f, rest] = split(a, 'filter'); return o.findOne(f, rest); },
  findOneAndDelete: (o, a) => { const [f, rest] = split(a, 'filter'); return o.findOneAndDelete(f, oneAndOptions(rest)); },
  findOneAndReplace: (o, a) => {
    const [f, r, rest] = split(a, 'filter', 'replacement');
    return o.findOneAndReplace(f, r, oneAndOptions(rest));
  },
  findOneAndUpdate: (o, a) => {
    const [f, u, rest] = split(a, 'filter', 'update');
    return o.findOneAndUpdate(f, u, oneAndOptions(rest));
  },
  getSnapshotTime: o => o.snapshotTime,
  insertMany: (o, a) => { const [d, rest] = split(a, 'documents'); return o.insertMany(d, rest); },
  insertOne: (o, a) => { const [d, rest] = split(a, 'document'); return o.insertOne(d, rest); },
  iterateOnce: o => o.tryNext(),
  iterateUntilDocumentOrError: iterate,
  listCollections: (o, a) => { const [f, rest] = split(a, 'filter'); return all(o.listCollections(f ?? {}, rest)); },
  listCollectionNames: (o, a) => {
    const [f, rest] = split(a, 'filter');
    return all(o.listCollections(f ?? {}, { nameOnly: true, ...rest }));
  },
  listDatabases: (o, a) => o.db('admin').admin().listDatabases(options(a)).then(r => r.databases),
  listDatabaseNames: (o, a) => o.db('admin').admin().listDatabases({ nameOnly: true, ...options(a) }),
  listIndexes: (o, a) => all(o.listIndexes(options(a))),
  listIndexNames: (o, a) => all(o.listIndexes(options(a))).then(list => list.map(i => i.name)),
  modifyCollection: (o, a) => {
    const [c, rest] = split(a, 'collection');
    return o.command({ collMod: c, ...rest });
  },
  rename: (o, a) => { const [to, rest] = split(a, 'to'); return o.rename(to, rest); },
  replaceOne: (o, a) => { const [f, r, rest] = split(a, 'filter', 'replacement'); return o.replaceOne(f, r, rest); },
  runCommand: (o, a) => { const [c, , rest] = split(a, 'command', 'commandName'); return o.command(c, rest); },
  startTransaction: (o, a) => o.startTransaction(options(a)),
  updateMany: (o, a) => { const [f, u, rest] = split(a, 'filter', 'update'); return o.updateMany(f, u, rest); },
  updateOne: (o, a) => { const [f, u, rest] = split(a, 'filter', 'update'); return o.updateOne(f, u, rest); },
  upload,
};

function lastTwo(client) {
  return client.lsids.slice(-2).map(l => l.id.toString('hex'));
}

async function collectionThere(uri, a) {
  const client = new MongoClient(uri);
  const names = await client.db(a.databaseName).listCollections({ name: a.collectionName }).toArray();
  await client.close();
  return names.length === 1;
}

async function indexThere(uri, a) {
  const client = new MongoClient(uri);
  const names = await client.db(a.databaseName).collection(a.collectionName).listIndexes().toArray().catch(() => []);
  await client.close();
  return names.some(i => i.name === a.indexName);
}

const runner = {
  assertCollectionExists: async (e, a) => assert(await collectionThere(e.uri, a)),
  assertCollectionNotExists: async (e, a) => assert(!(await collectionThere(e.uri, a))),
  assertIndexExists: async (e, a) => assert(await indexThere(e.uri, a)),
  assertIndexNotExists: async (e, a) => assert(!(await indexThere(e.uri, a))),
  assertDifferentLsidOnLastTwoCommands: (e, a) => { const [x, y] = lastTwo(e.get(a.client)); assert.notEqual(x, y); },
  assertSameLsidOnLastTwoCommands: (e, a) => { const [x, y] = lastTwo(e.get(a.client)); assert.equal(x, y); },
  assertSessionDirty: (e, a) => assert(e.get(a.session).serverSession.isDirty),
  assertSessionNotDirty: (e, a) => assert(!e.get(a.session).serverSession.isDirty),
  assertNumberConnectionsCheckedOut: (e, a) => {
    for (const server of e.get(a.client).topology.s.servers.values())
      assert.equal(server.pool.currentCheckedOutCount, a.connections);
  },
  createEntities: async (e, a) => { for (const entity of a.entities) await e.make(entity); },
  failPoint: async (e, a) => {
    await e.get(a.client).db('admin').command(a.failPoint);
    e.failPoints.add(a.failPoint.configureFailPoint);
  },
  wait: (e, a) => new Promise(done => setTimeout(done, a.ms)),
  waitForEvent: async (e, a) => {
    const [type] = Object.keys(a.event);
    const until = Date.now() + 5000;
    while (e.get(a.client).seen.filter(s => s.type === type).length < a.count) {
      assert(Date.now() < until, `no ${a.count} events ${type}`);
      await new Promise(done => setTimeout(done, 20));
    }
  },
};

module.exports = { operations, runner, bulkResult, Unknown };
