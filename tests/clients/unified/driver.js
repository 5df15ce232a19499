// SPDX-License-Identifier: Apache-2.0
// The driver under which the cases run: the newest one that package.json names and this Node.js can run, or $ASH_DRIVER.
'use strict';
const [major, minor] = process.versions.node.split('.').map(Number);
const newest = major > 20 || (major === 20 && minor >= 19) ? 'mongodb-7' : 'mongodb';
module.exports = require(process.env.ASH_DRIVER ?? newest);
