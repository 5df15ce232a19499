// SPDX-License-Identifier: Apache-2.0
// What a test of the unified format makes by createEntities: clients that record what they send, databases, collections,
// sessions, buckets, and saved results.
'use strict';
const { MongoClient, GridFSBucket, ReadConcern, ReadPreference, ServerApiVersion } = require('./driver');
const { UUID, Binary } = require('./driver').BSON;

const recorded = { commandStartedEvent: 'commandStarted', commandSucceededEvent: 'commandSucceeded',
  commandFailedEvent: 'commandFailed' };
const sensitive = ['saslStart', 'saslContinue', 'authenticate', 'getnonce', 'createUser', 'updateUser', 'copydbgetnonce',
  'copydbsaslstart', 'copydb', 'configureFailPoint', 'hello', 'isMaster', 'ismaster'];
const pools = { poolCreatedEvent: 'connectionPoolCreated', poolReadyEvent: 'connectionPoolReady',
  poolClearedEvent: 'connectionPoolCleared', poolClosedEvent: 'connectionPoolClosed',
  connectionCreatedEvent: 'connectionCreated', connectionReadyEvent: 'connectionReady',
  connectionClosedEvent: 'connectionClosed', connectionCheckOutStartedEvent: 'connectionCheckOutStarted',
  connectionCheckOutFailedEvent: 'connectionCheckOutFailed', connectionCheckedOutEvent: 'connectionCheckedOut',
  connectionCheckedInEvent: 'connectionCheckedIn' };

function options(given = {}) {
  const out = { ...given };
  if (out.readConcern) out.readConcern = new ReadConcern(out.readConcern.level);
  if (out.readPreference)
    out.readPreference = new ReadPreference(out.readPreference.mode, out.readPreference.tagSets, out.readPreference);
  return out;
}

class Entities {
  constructor(uri) {
    this.uri = uri;
    this.byName = new Map();
    this.clients = [];
    this.lsids = new Map();
  }

  get(name) {
    if (!this.byName.has(name)) throw new Error(`there is no entity ${name}`);
    return this.byName.get(name);
  }

  set(name, value) {
    this.byName.set(name, value);
  }

  lsid(name) {
    return this.lsids.get(name) ?? this.get(name).id;
  }

  async client(spec) {
    const names = spec.observeEvents ?? [];
    const given = { monitorCommands: true, heartbeatFrequencyMS: 500, minHeartbeatFrequencyMS: 50, ...spec.uriOptions };
    if (given.heartbeatFrequencyMS < 500) given.heartbeatFrequencyMS = 500;
    if (given.appName) [given.appname] = [given.appName];
    delete given.appName;
    if (spec.serverApi) given.serverApi = { ...spec.serverApi, version: ServerApiVersion.v1 };
    const client = new MongoClient(this.uri, given);
    const ignored = [...(spec.ignoreCommandMonitoringEvents ?? []), 'configureFailPoint', 'getParameter',
      ...(spec.observeSensitiveCommands ? [] : sensitive)];
    client.seen = [];
    client.lsids = [];
    for (const [type, event] of Object.entries(recorded))
      client.on(event, e => {
        if (event === 'commandStarted' && e.command.lsid) client.lsids.push(e.command.lsid);
        if (names.includes(type) && !ignored.includes(e.commandName)) client.seen.push({ type, event: e });
      });
    for (const [type, event] of Object.entries(pools))
      if (names.includes(type)) client.on(event, e => client.seen.push({ type, event: e }));
    this.clients.push(client);
    await client.connect();
    return client;
  }

  async session(spec) {
    const given = { ...spec.sessionOptions };
    if (typeof given.snapshotTime === 'string') given.snapshotTime = this.get(given.snapshotTime);
    if (given.defaultTransactionOptions) given.defaultTransactionOptions = options(given.defaultTransactionOptions);
    const session = this.get(spec.client).startSession(given);
    this.lsids.set(spec.id, session.id);
    return session;
  }

  async make(entity) {
    const [kind, spec] = Object.entries(entity)[0];
    const makers = {
      client: () => this.client(spec),
      database: () => this.get(spec.client).db(spec.databaseName, options(spec.databaseOptions)),
      collection: () => this.get(spec.database).collection(spec.collectionName, options(spec.collectionOptions)),
      session: () => this.session(spec),
      bucket: () => new GridFSBucket(this.get(spec.database), options(spec.bucketOptions)),
    };
    if (!(kind in makers)) throw new Error(`entities of kind ${kind} are not known here`);
    this.set(spec.id, await makers[kind]());
  }

  async close() {
    for (const value of this.byName.values()) {
      if (value?.endSession && !value.hasEnded) await value.endSession().catch(() => {});
      if (value?.resumeToken !== undefined && value?.close) await value.close().catch(() => {});
    }
    for (const client of this.clients) await client.close().catch(() => {});
  }
}

module.exports = { Entities, options, UUID, Binary };
