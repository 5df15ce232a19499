// SPDX-License-Identifier: Apache-2.0
// Makes programs from a tutorial's code blocks.  usage: node extract.js DOCUMENT FOLDER
//
// Neighbouring blocks of one language make one program: FOLDER/1.js, FOLDER/2.py and so on, to be run in this order.
// js: a script for mongosh.  Blocks are split at empty lines; a part that ends in "// → RESULT" is one expression whose value must
// equal RESULT ("..." in an object: further fields may follow; "error N": it must fail with code N, "error any": with any).
// python: the blocks as a doctest.
'use strict';
const fs = require('fs');
const path = require('path');

const suffixes = { js: 'js', python: 'py' };

function blocks(text) {
  const out = [];
  let current = null;
  text.split('\n').forEach((line, index) => {
    const fence = /^```(\w*)$/.exec(line);
    if (current && line === '```') {
      out.push(current);
      current = null;
    } else if (current) current.lines.push(line);
    else if (fence) current = { language: fence[1], first: index + 2, lines: [] };
  });
  if (current) throw new Error(`the block at line ${current.first} does not end`);
  return out.filter((block) => block.language in suffixes);
}

// The parts of a block: { line, code, result }, result undefined for plain statements.
function parts(block) {
  const out = [];
  let part = null;
  block.lines.forEach((line, index) => {
    const arrow = /^\/\/ → (.*)$/.exec(line);
    if (line.trim() === '') part = null;
    else if (arrow) {
      if (!part) throw new Error(`line ${block.first + index}: a result without an expression`);
      part.result = arrow[1];
      part = null;
    } else {
      if (!part) out.push((part = { line: block.first + index, code: [] }));
      part.code.push(line);
    }
  });
  return out;
}

function statement({ line, code, result }) {
  const text = code.join('\n');
  if (result === undefined) return `tutorial.at(${line});\n${text};\n`;
  const failure = /^error (\w+)$/.exec(result);
  const expected = failure ? `tutorial.failure(${JSON.stringify(failure[1])})` : result.replace(/\.\.\.(?=\s*})/g, '"...": 1');
  return `tutorial.at(${line});
try { tutorial.got = await (${text}); } catch (error) { tutorial.got = tutorial.failed(error); }
tutorial.compare(tutorial.got && tutorial.got.toArray ? tutorial.got.toArray() : tutorial.got, ${expected});
`;
}

function program(language, group) {
  if (language === 'python') return group.map((block) => block.lines.join('\n') + '\n').join('\n');
  // The shell shows what a promise resolves to; a file has to await it.
  const code = group.flatMap(parts).map(statement).join('\n');
  return `${fs.readFileSync(path.join(__dirname, 'compare.js'), 'utf8')}
(async function () {
${code}
tutorial.done();
})();
`;
}

const [document, folder] = process.argv.slice(2);
const groups = [];
for (const block of blocks(fs.readFileSync(document, 'utf8'))) {
  const last = groups[groups.length - 1];
  if (last && last[0].language === block.language) last.push(block);
  else groups.push([block]);
}
if (groups.length === 0) throw new Error(`no code in ${document}`);
groups.forEach((group, index) => {
  const { language } = group[0];
  fs.writeFileSync(path.join(folder, `${index + 1}.${suffixes[language]}`), program(language, group));
});
