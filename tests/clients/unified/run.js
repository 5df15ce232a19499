// SPDX-License-Identifier: Apache-2.0
// Runs test files of the unified test format by npm mongodb against a server: TAP on standard output.
// usage: node run.js [--expected FILE] URI FILE…
// The file names tests that differ, one a line: "file: description # why", with "*" for the rest of a name.
'use strict';
const fs = require('fs');
const path = require('path');
const { MongoClient } = require('./driver');
const { EJSON } = require('./driver').BSON;
const { match, Mismatch, show } = require('./match');
const { Entities } = require('./entities');
const { operations, runner, bulkResult, Unknown } = require('./operations');

const args = process.argv.slice(2);
const expected = args[0] === '--expected' ? readExpected(args.splice(0, 2)[1]) : [];
const [uri, ...files] = args;
const counts = { passed: 0, failed: 0, skipped: 0, different: 0 };
let number = 0;

class Skip extends Error {}

function readExpected(file) {
  return fs.readFileSync(file, 'utf8').split('\n').filter(line => line !== '' && !line.startsWith('#')).map(line => {
    const [name, why] = line.split(' # ');
    return { name, why, used: false };
  });
}

function expectedDifference(name) {
  const found = expected.find(e => e.name === name || (e.name.endsWith('*') && name.startsWith(e.name.slice(0, -1))));
  if (found) found.used = true;
  return found;
}

function compareVersions(a, b) {
  const [x, y] = [a, b].map(v => v.split('.').map(Number));
  for (let i = 0; i < 3; i++) if ((x[i] ?? 0) !== (y[i] ?? 0)) return (x[i] ?? 0) - (y[i] ?? 0);
  return 0;
}

function meets(server, r) {
  if (r.minServerVersion && compareVersions(server.version, r.minServerVersion) < 0) return false;
  if (r.maxServerVersion && compareVersions(server.version, r.maxServerVersion) > 0) return false;
  if (r.topologies && !r.topologies.includes(server.topology)) return false;
  return !(r.auth || r.csfle || r.serverless === 'require');
}

function require_(server, requirements) {
  if (requirements && !requirements.some(r => meets(server, r))) throw new Skip('its requirements are not met');
}

function expectError(expected, e, entities) {
  const label = name => e.hasErrorLabel?.(name) ?? false;
  const server = e.code !== undefined || e.result !== undefined;
  if (expected.isClientError !== undefined && expected.isClientError === server && !/Network|Timeout/.test(e.name))
    throw new Mismatch(`${e.name}: ${e.message} is ${server ? 'not ' : ''}a client's error`);
  if (expected.errorContains && !e.message.toLowerCase().includes(expected.errorContains.toLowerCase()))
    throw new Mismatch(`"${e.message}" does not contain "${expected.errorContains}"`);
  if (expected.errorCode !== undefined && e.code !== expected.errorCode)
    throw new Mismatch(`code ${e.code} instead of ${expected.errorCode}: ${e.message}`);
  if (expected.errorCodeName !== undefined && e.codeName !== expected.errorCodeName)
    throw new Mismatch(`${e.codeName} instead of ${expected.errorCodeName}: ${e.message}`);
  for (const name of expected.errorLabelsContain ?? []) if (!label(name)) throw new Mismatch(`no label ${name}: ${e.message}`);
  for (const name of expected.errorLabelsOmit ?? []) if (label(name)) throw new Mismatch(`label ${name}: ${e.message}`);
  if (expected.expectResult) match('result', expected.expectResult, bulkResult(e.result), entities, true);
  if (expected.errorResponse)
    match('response', expected.errorResponse, e.errorResponse ?? e.result ?? {}, entities, true);
}

function withSession(entities, args = {}) {
  return typeof args.session === 'string' ? { ...args, session: entities.get(args.session) } : args;
}

async function call(entities, op) {
  if (op.object === 'testRunner') {
    if (!(op.name in runner)) throw new Skip(`the runner cannot ${op.name}`);
    return runner[op.name](entities, op.arguments ?? {});
  }
  if (!(op.name in operations)) throw new Skip(`there is no operation ${op.name} here`);
  return operations[op.name](entities.get(op.object), withSession(entities, op.arguments));
}

async function operate(entities, op) {
  let result, error;
  try {
    result = await call(entities, op);
  } catch (e) {
    if (e instanceof Skip || e instanceof Unknown) throw new Skip(e.message);
    if (op.object === 'testRunner') throw e;
    error = e;
  }
  if (op.ignoreResultAndError) return;
  if (op.expectError) {
    if (!error) throw new Mismatch(`${op.name} succeeded: ${show(result)}`);
    return expectError(op.expectError, error, entities);
  }
  if (error) throw error;
  if ('expectResult' in op) match(op.name, op.expectResult, result === undefined ? null : result, entities, true);
  if (op.saveResultAsEntity) entities.set(op.saveResultAsEntity, result);
}

function checkEvent(where, [type, expected], seen, entities) {
  if (seen.type !== type) throw new Mismatch(`${where}: ${seen.type} instead of ${type}`);
  for (const name of ['commandName', 'databaseName'])
    if (expected[name] !== undefined && seen.event[name] !== undefined) match(`${where}.${name}`, expected[name],
      seen.event[name], entities, false);
  if (expected.command) match(`${where}.command`, expected.command, seen.event.command, entities, true);
  if (expected.reply) match(`${where}.reply`, expected.reply, seen.event.reply, entities, true);
}

function checkEvents(entities, expectations) {
  for (const list of expectations ?? []) {
    const kind = list.eventType === 'cmap' ? /^pool|^connection/ : /^command/;
    const seen = entities.get(list.client).seen.filter(e => kind.test(e.type));
    const names = seen.map(e => e.event.commandName ?? e.type).join(' ');
    if (seen.length < list.events.length || (seen.length > list.events.length && !list.ignoreExtraEvents))
      throw new Mismatch(`${list.events.length} events expected, got ${seen.length}: ${names}`);
    list.events.forEach((e, i) => checkEvent(`event ${i}`, Object.entries(e)[0], seen[i], entities));
  }
}

async function prepare(client, data) {
  for (const c of data ?? []) {
    const db = client.db(c.databaseName, { writeConcern: { w: 'majority' } });
    await db.dropCollection(c.collectionName).catch(e => { if (e.code !== 26) throw e; });
    if (c.documents.length === 0 || c.createOptions) await db.createCollection(c.collectionName, c.createOptions ?? {});
    if (c.documents.length > 0) await db.collection(c.collectionName).insertMany(c.documents);
  }
}

async function checkOutcome(client, outcome) {
  for (const c of outcome ?? []) {
    const docs = await client.db(c.databaseName).collection(c.collectionName).find().sort({ _id: 1 }).toArray();
    match(`outcome ${c.collectionName}`, c.documents, docs, new Entities(uri), false);
  }
}

async function runTest(admin, server, file, test) {
  require_(server, file.runOnRequirements);
  require_(server, test.runOnRequirements);
  if (test.skipReason) throw new Skip(test.skipReason);
  const entities = new Entities(uri);
  entities.failPoints = new Set();
  try {
    await prepare(admin, file.initialData);
    for (const entity of file.createEntities ?? []) await entities.make(entity);
    for (const op of test.operations) await operate(entities, op);
    checkEvents(entities, test.expectEvents);
    await checkOutcome(admin, test.outcome);
  } finally {
    for (const name of entities.failPoints)
      await admin.db('admin').command({ configureFailPoint: name, mode: 'off' }).catch(() => {});
    await entities.close();
  }
}

async function report(name, run) {
  number++;
  try {
    await run();
    counts.passed++;
    console.log(`ok ${number} - ${name}`);
  } catch (e) {
    if (e instanceof Skip) {
      counts.skipped++;
      console.log(`ok ${number} - ${name} # SKIP ${e.message}`);
      return;
    }
    const difference = expectedDifference(name);
    counts[difference ? 'different' : 'failed']++;
    const todo = difference ? ` # TODO ${difference.why}` : '';
    console.log(`not ok ${number} - ${name}${todo}\n# ${(e instanceof Mismatch ? e.message : e.stack).replace(/\n/g, '\n# ')}`);
  }
}

async function main() {
  const admin = new MongoClient(uri);
  const hello = await admin.db('admin').command({ hello: 1 });
  const build = await admin.db('admin').command({ buildInfo: 1 });
  const server = { version: build.version, topology: hello.setName ? 'replicaset' : 'single' };
  console.log('TAP version 13');
  for (const name of files) {
    const file = EJSON.parse(fs.readFileSync(name, 'utf8'));
    for (const test of file.tests)
      await report(`${path.basename(name, '.json')}: ${test.description}`, () => runTest(admin, server, file, test));
  }
  await admin.close();
  console.log(`1..${number}\n# ${server.topology}: ${counts.passed} passed, ${counts.failed} failed, ` +
    `${counts.different} known to differ, ${counts.skipped} skipped`);
  process.exitCode = counts.failed > 0 ? 1 : 0;
}

main().catch(e => {
  console.log(`Bail out! ${e.stack}`);
  process.exit(1);
});
