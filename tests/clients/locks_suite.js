// SPDX-License-Identifier: Apache-2.0
// Loaded before the package's own tests: they name a server at localhost:27017; theirs is at ASH_ADDRESS.
'use strict';
const { MongoClient } = require('mongodb');

const connect = MongoClient.connect;
MongoClient.connect = (uri, ...rest) => {
  const ours = uri.replace('localhost:27017', process.env.ASH_ADDRESS);
  if (ours === uri) throw new Error(`the tests connect to ${uri}, not to localhost:27017`);
  return connect.call(MongoClient, ours, ...rest);
};
