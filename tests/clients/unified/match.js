// SPDX-License-Identifier: Apache-2.0
// The rules of the unified test format by which a value matches an expectation.
'use strict';
const { EJSON, Long, Int32, Double, Timestamp, ObjectId, Binary, Decimal128, BSONRegExp } = require('./driver').BSON;

class Mismatch extends Error {}

function isDocument(v) {
  return v !== null && typeof v === 'object' && !Array.isArray(v) && v._bsontype === undefined && !(v instanceof Date) &&
    !(v instanceof RegExp) && !Buffer.isBuffer(v);
}

function number(v) {
  if (typeof v === 'number') return v;
  if (v instanceof Int32 || v instanceof Double) return v.valueOf();
  if (Long.isLong(v) && !(v instanceof Timestamp)) return v.toNumber();
  if (typeof v === 'bigint') return Number(v);
  return undefined;
}

const types = {
  double: v => typeof v === 'number' || v instanceof Double,
  string: v => typeof v === 'string',
  object: isDocument,
  array: Array.isArray,
  binData: v => v instanceof Binary || Buffer.isBuffer(v),
  objectId: v => v instanceof ObjectId,
  bool: v => typeof v === 'boolean',
  date: v => v instanceof Date,
  null: v => v === null,
  regex: v => v instanceof RegExp || v instanceof BSONRegExp,
  int: v => v instanceof Int32 || (typeof v === 'number' && Number.isInteger(v) && Math.abs(v) < 2 ** 31),
  timestamp: v => v instanceof Timestamp,
  long: v => Long.isLong(v) || typeof v === 'bigint' || (typeof v === 'number' && Number.isInteger(v)),
  decimal: v => v instanceof Decimal128,
};
types.number = v => types.int(v) || types.long(v) || types.double(v) || types.decimal(v);

function show(v) {
  try {
    return EJSON.stringify(v).slice(0, 400);
  } catch (e) {
    return String(v);
  }
}

function fail(path, expected, actual) {
  throw new Mismatch(`${path}: expected ${show(expected)}, got ${actual === undefined ? 'nothing' : show(actual)}`);
}

// What {$$name: argument} demands; entities gives entities by name.
const operators = {
  $$exists(path, wanted, actual) {
    if ((actual !== undefined) !== wanted) fail(path, { $$exists: wanted }, actual);
  },
  $$type(path, wanted, actual) {
    if (![].concat(wanted).some(name => types[name](actual))) fail(path, { $$type: wanted }, actual);
  },
  $$unsetOrMatches(path, wanted, actual, entities, root) {
    if (actual !== undefined && actual !== null) match(path, wanted, actual, entities, root);
  },
  $$matchesEntity(path, wanted, actual, entities) {
    match(path, entities.get(wanted), actual, entities, false);
  },
  $$matchesHexBytes(path, wanted, actual) {
    if (actual.toString('hex') !== wanted) fail(path, wanted, actual.toString('hex'));
  },
  $$sessionLsid(path, wanted, actual, entities) {
    match(path, entities.lsid(wanted), actual, entities, false);
  },
  $$lte(path, wanted, actual) {
    if (!(number(actual) <= wanted)) fail(path, { $$lte: wanted }, actual);
  },
  $$matchAsDocument(path, wanted, actual, entities, root) {
    match(path, wanted, EJSON.parse(actual), entities, root);
  },
  $$matchAsRoot(path, wanted, actual, entities) {
    match(path, wanted, actual, entities, true);
  },
};

function matchFields(path, expected, actual, entities, root) {
  if (!isDocument(actual)) fail(path, expected, actual);
  for (const [name, value] of Object.entries(expected)) match(`${path}.${name}`, value, actual[name], entities, false);
  if (root) return;
  for (const name of Object.keys(actual))
    if (actual[name] !== undefined && !(name in expected)) fail(`${path}.${name}`, 'nothing', actual[name]);
}

// root: fields beyond the expected ones are allowed.
function match(path, expected, actual, entities, root) {
  if (actual instanceof Map) return match(path, expected, Object.fromEntries(actual), entities, root); // a driver's sort
  if (isDocument(expected)) {
    const [name, ...more] = Object.keys(expected);
    if (more.length === 0 && name in operators) return operators[name](path, expected[name], actual, entities, root);
    return matchFields(path, expected, actual, entities, root);
  }
  if (Array.isArray(expected)) {
    if (!Array.isArray(actual) || actual.length !== expected.length) fail(path, expected, actual);
    return expected.forEach((item, i) => match(`${path}[${i}]`, item, actual[i], entities, root));
  }
  const [x, y] = [number(expected), number(actual)];
  if (x !== undefined && y !== undefined ? x !== y : EJSON.stringify(expected) !== EJSON.stringify(actual ?? null))
    fail(path, expected, actual);
}

module.exports = { match, Mismatch, show };
