// SPDX-License-Identifier: Apache-2.0
// The driver under which the cases run: the newest one that package.json names, or $ASH_DRIVER.
'use strict';
module.exports = require(process.env.ASH_DRIVER ?? 'mongodb-7');
