// SPDX-License-Identifier: Apache-2.0
// The head of the script that extract.js makes: compares what mongosh computed with what the tutorial says.
const tutorial = {
  line: 0,
  checks: 0,
  got: undefined,

  at(line) {
    this.line = line;
  },

  failed(error) {
    return { tutorialError: true, code: error.code, text: String(error) };
  },

  failure(code) {
    return { tutorialFailure: code };
  },

  // null, or the path of the first difference.
  difference(got, expected, path) {
    if (expected && expected.tutorialFailure) {
      const same = got && got.tutorialError && (expected.tutorialFailure === 'any' || String(got.code) === expected.tutorialFailure);
      return same ? null : path;
    }
    if (got && got.tutorialError) return path;
    const plain = (v) => v !== null && typeof v === 'object' && (Array.isArray(v) || v._bsontype === undefined) && !(v instanceof Date);
    if (!plain(got) || !plain(expected)) return EJSON.stringify(got) === EJSON.stringify(expected) ? null : path;
    if (Array.isArray(got) !== Array.isArray(expected)) return path;
    const names = Object.keys(expected).filter((name) => name !== '...');
    if (!('...' in expected) && String(Object.keys(got)) !== String(names)) return path;
    for (const name of names) {
      const inner = name in got ? this.difference(got[name], expected[name], `${path}.${name}`) : `${path}.${name}`;
      if (inner !== null) return inner;
    }
    return null;
  },

  compare(got, expected) {
    this.checks++;
    const where = this.difference(got, expected, 'result');
    if (where === null) return;
    print(`# line ${this.line}: ${where} is not what the tutorial says`);
    print(`# got      ${EJSON.stringify(got)}`);
    print(`# expected ${EJSON.stringify(expected)}`);
    this.wrong = (this.wrong || 0) + 1;
  },

  done() {
    print(`# ${this.checks} results compared, ${this.wrong || 0} wrong`);
    if (this.wrong || this.checks === 0) throw new Error('the tutorial is wrong');
  },
};
