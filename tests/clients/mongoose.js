// SPDX-License-Identifier: Apache-2.0
// Mongoose against a server: models, validation, documents and their versions, populate, queries, streams, and its GridFS bucket.
// usage: node mongoose.js URI   (MONGOOSE_PACKAGE names the package)
'use strict';
const assert = require('assert');
const mongoose = require(process.env.MONGOOSE_PACKAGE || 'mongoose');
const { Schema } = mongoose;

const author = mongoose.model('Author', new Schema({ name: { type: String, required: true, unique: true }, born: Date }, { timestamps: true }));
const book = mongoose.model(
  'Book',
  new Schema({
    title: { type: String, required: true, index: true },
    pages: { type: Number, min: 1 },
    tags: [String],
    author: { type: Schema.Types.ObjectId, ref: 'Author' },
    notes: [new Schema({ text: String, stars: Number })],
    extra: { type: Map, of: Number },
  })
);

const duplicate = (error) => error.code === 11000;

async function documents() {
  const ann = await author.create({ name: 'Ann', born: new Date('1970-01-02') });
  assert(ann.createdAt instanceof Date && ann._id);
  await assert.rejects(author.create({ name: 'Ann' }), duplicate);
  await assert.rejects(author.create({}), mongoose.Error.ValidationError);
  await assert.rejects(book.create({ title: 'none', pages: 0 }), mongoose.Error.ValidationError);
  const made = await book.create({ title: 'One', pages: 10, author: ann, tags: ['a', 'b'], extra: { x: 1 } });
  made.notes.push({ text: 'fine', stars: 4 });
  made.tags.pull('a');
  made.extra.set('y', 2);
  await made.save();
  const read = await book.findOne({ title: 'One' }).populate('author');
  assert.strictEqual(read.author.name, 'Ann');
  assert.deepStrictEqual([...read.tags], ['b']);
  assert.strictEqual(read.notes[0].stars, 4);
  assert.deepStrictEqual([...read.extra.entries()], [['x', 1], ['y', 2]]);
  return read;
}

// Two copies of a document change its list: the later one is refused by the version that it read.
async function versions(id) {
  const [mine, yours] = [await book.findById(id), await book.findById(id)];
  mine.notes.push({ text: 'first', stars: 1 });
  await mine.save();
  mine.notes.splice(0, 1);
  await mine.save();
  yours.notes[0].set('stars', 9);
  yours.markModified('notes');
  yours.notes.splice(0, 1);
  await assert.rejects(yours.save(), mongoose.Error.VersionError);
}

async function queries() {
  await book.insertMany(Array.from({ length: 500 }, (_, i) => ({ title: `T${i}`, pages: i + 1, tags: [i % 2 ? 'odd' : 'even'] })));
  assert.strictEqual(await book.countDocuments({ tags: 'odd' }), 250);
  const some = await book.find({ pages: { $gt: 490 }, tags: 'even' }).sort('-pages').select('title').lean();
  assert.deepStrictEqual(some.map((b) => b.title), ['T498', 'T496', 'T494', 'T492', 'T490']);
  const updated = await book.findOneAndUpdate({ title: 'T1' }, { $inc: { pages: 5 } }, { returnDocument: 'after' });
  assert.strictEqual(updated.pages, 7);
  const upserted = await book.updateOne({ title: 'new' }, { $set: { pages: 3 } }, { upsert: true });
  assert.strictEqual(upserted.upsertedCount, 1);
  const sums = await book.aggregate([{ $match: { tags: 'odd' } }, { $group: { _id: '$tags', n: { $sum: 1 } } }]);
  assert.deepStrictEqual(sums, [{ _id: ['odd'], n: 250 }]);
  const bulk = await book.bulkWrite([
    { insertOne: { document: { title: 'bulk', pages: 1 } } },
    { updateMany: { filter: { pages: { $lte: 3 } }, update: { $push: { tags: 'short' } } } },
    { deleteOne: { filter: { title: 'T2' } } },
  ]);
  assert.deepStrictEqual([bulk.insertedCount, bulk.deletedCount], [1, 1]);
  let seen = 0;
  for await (const one of book.find().sort('pages').cursor({ batchSize: 50 })) seen += one.title ? 1 : 0;
  assert.strictEqual(seen, await book.estimatedDocumentCount());
  assert((await book.listIndexes()).some((index) => index.key.title === 1));
  assert.strictEqual((await book.deleteMany({ tags: 'even' })).deletedCount, 249);
}

async function sessions() {
  await mongoose.connection.withSession(async (session) => {
    await author.create([{ name: 'Bob' }], { session });
    assert.strictEqual((await author.findOne({ name: 'Bob' }).session(session)).name, 'Bob');
  });
}

async function changes() {
  const stream = await author.collection.watch();
  await stream.tryNext();
  const eve = await author.create({ name: 'Eve' });
  eve.name = 'Eva';
  await eve.save();
  await author.deleteOne({ name: 'Eva' });
  const kinds = [];
  while (kinds.length < 3) kinds.push((await stream.next()).operationType);
  assert.deepStrictEqual(kinds, ['insert', 'update', 'delete']);
  await stream.close();
}

async function gridfs() {
  const bucket = new mongoose.mongo.GridFSBucket(mongoose.connection.db);
  const data = Buffer.alloc(1000000, 'mongoose');
  await new Promise((resolve, reject) => {
    bucket.openUploadStream('from mongoose').on('error', reject).on('finish', resolve).end(data);
  });
  const parts = [];
  for await (const part of bucket.openDownloadStreamByName('from mongoose')) parts.push(part);
  assert(Buffer.concat(parts).equals(data));
}

async function main() {
  await mongoose.connect(process.argv[2], { dbName: process.env.MONGOOSE_PACKAGE || 'mongoose', serverSelectionTimeoutMS: 15000 });
  await mongoose.connection.dropDatabase();
  await Promise.all([author.init(), book.init()]);
  const made = await documents();
  await versions(made._id);
  await queries();
  await sessions();
  await changes();
  await gridfs();
  await mongoose.disconnect();
}

main().then(() => process.exit(0)).catch((error) => {
  console.error(error);
  process.exit(1);
});
