// SPDX-License-Identifier: Apache-2.0
// What a folder's page can do beyond looking and fetching.  The list is there without it (page.c);
// everything here goes through the API of trees, WebDAV's PUT, and resumable uploads.
const reserved = '/.ashlar';
// Names are taken from addresses: what is shown has no control characters.
const namesOf = address => address.split('/').filter(Boolean).map(decodeURIComponent);
const folder = namesOf(location.pathname).map(name => '/' + name).join('');
const tools = document.getElementById('tools'), list = document.getElementById('list');
const body = list?.tBodies[0];

// ---- small things ----

function make(tag, properties = {}, ...children) {
  const node = Object.assign(document.createElement(tag), properties);
  node.append(...children);
  return node;
}
const button = (text, run, properties = {}) => make('button', {type: 'button', textContent: text, onclick: run, ...properties});
const href = path => path.split('/').map(encodeURIComponent).join('/');
const baseName = path => path.slice(path.lastIndexOf('/') + 1);
const child = name => folder + '/' + name;

function sizeText(bytes) {
  const units = ['B', 'KB', 'MB', 'GB', 'TB'];
  let n = bytes, unit = 0;
  for (; n >= 999.5 && unit < 4; unit++) n /= 1000;
  return (unit ? n.toPrecision(3).replace(/\.0+$/, '') : n) + ' ' + units[unit];
}
const timeText = iso => iso ? new Date(iso).toLocaleString() : '';

const status = make('div', {id: 'status'});
status.setAttribute('role', 'status');
document.body.append(status);
let statusTimer;
function say(text, action, run) {
  clearTimeout(statusTimer);
  // Behind a dialog nobody could hear or use it.
  ([...document.querySelectorAll('dialog[open]')].pop() ?? document.body).append(status);
  status.replaceChildren(...(text ? [make('span', {textContent: text})] : []), ...(action ? [button(action, run)] : []));
  statusTimer = setTimeout(() => status.replaceChildren(), action ? 15000 : 6000);
}

// WebDAV's failures are XML with a sentence in it.
const reasonOf = text => (text.startsWith('<?xml') ? new DOMParser().parseFromString(text, 'text/xml').documentElement.textContent : text).trim();

async function call(name, parameters, post) {
  const url = reserved + '/tree/' + name;
  const answer = await fetch(post ? url : url + '?' + new URLSearchParams(parameters), post ?
    {method: 'POST', headers: {'Content-Type': 'application/json'}, body: JSON.stringify(parameters)} : {});
  if (answer.status === 401) location.reload();
  const data = await answer.json();
  if (!answer.ok) throw new Error(data.error?.text ?? answer.statusText);
  return data;
}
const change = (name, parameters) => call(name, parameters, true);
async function attempt(run) {
  try {
    return await run();
  } catch (why) {
    say(why.message);
  }
}

// ---- dialogs ----

function show(title, ...content) {
  const box = make('dialog', {}, make('h2', {textContent: title}), ...content);
  box.setAttribute('aria-label', title);
  box.append(make('div', {className: 'row'}, button('Close', () => box.close())));
  document.body.append(box);
  box.addEventListener('close', () => {
    if (box.contains(status)) document.body.append(status);
    box.remove();
  });
  box.showModal();
  return box;
}

// Stays open when it cannot be done.
function ask(title, value, run, label = 'Name') {
  const input = make('input', {type: 'text', value, ariaLabel: label});
  const form = make('form', {}, input, make('div', {className: 'row'}, make('button', {className: 'main', textContent: 'OK'})));
  const box = show(title, form);
  form.onsubmit = event => {
    event.preventDefault();
    attempt(async () => {
      await run(input.value);
      box.close();
    });
  };
  input.focus();
  input.select();
}

// ---- the list ----

const rows = new Map(); // by name
function adopt(row) {
  const link = row.querySelector('a');
  const isFolder = row.classList.contains('folder');
  const name = namesOf(link.getAttribute('href')).pop();
  const pick = make('input', {type: 'checkbox', ariaLabel: 'Select ' + name, onchange: saySelected});
  row.cells[0].prepend(make('label', {}, pick), ' ');
  const item = {name, isFolder, row, link, pick, length: +(row.querySelector('data')?.value ?? 0)};
  rows.set(name, item);
  if (!isFolder) link.addEventListener('click', event => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    event.preventDefault();
    preview(item);
  });
  row.append(make('td', {}, button('…', event => menu(item, event), {ariaLabel: 'More for ' + name})));
}

const selection = () => [...rows.values()].filter(item => item.pick.checked);
function selectionChanged() {
  const picked = selection();
  for (const item of rows.values()) item.row.setAttribute('aria-selected', item.pick.checked);
  for (const node of document.querySelectorAll('.for-selection')) node.disabled = !picked.length;
  pickAll.checked = picked.length > 0 && picked.length === rows.size;
  return picked.length;
}
const saySelected = () => say(selectionChanged() + ' selected');
const pickAll = make('input', {type: 'checkbox', ariaLabel: 'Select all', onchange: () => {
  for (const item of rows.values()) item.pick.checked = pickAll.checked;
  saySelected();
}});

// The same page again, without losing what is selected or where one is.
let refreshing;
async function refresh() {
  clearTimeout(refreshing);
  if (searched) return search(searched, true);
  const answer = await fetch(location.href, {headers: {Accept: 'text/html'}});
  if (!answer.ok || searched) return;
  const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
  const picked = new Set(selection().map(item => item.name)), focus = document.activeElement?.closest('tr');
  const before = [...rows.values()], at = before.findIndex(item => item.row === focus);
  rows.clear();
  body.replaceChildren(...page.getElementById('list').tBodies[0].rows);
  [...body.rows].forEach(adopt);
  for (const item of rows.values()) item.pick.checked = picked.has(item.name);
  selectionChanged();
  // Who was at an entry that is gone is at its neighbour.
  if (at >= 0) (rows.get(before[at].name) ?? [...rows.values()][Math.min(at, rows.size - 1)])?.link.focus();
  document.getElementById('empty')?.remove();
  const empty = page.getElementById('empty');
  if (empty) list.after(empty);
  showLocks();
}
const refreshSoon = () => { clearTimeout(refreshing); refreshing = setTimeout(refresh, 200); };

async function showLocks() {
  const {locks} = await call('locks', {path: folder || '/'});
  for (const lock of locks) {
    const name = lock.path.slice(folder.length + 1).split('/')[0];
    const item = rows.get(name);
    if (item && !item.row.querySelector('.lock'))
      item.link.after(make('span', {className: 'lock', textContent: 'locked', title: lock.owner + ', until ' + timeText(lock.expires)}));
  }
}

// ---- what can be done with one ----

function menu(item) {
  const path = child(item.name);
  const box = show(item.name);
  const add = (text, run, properties) => box.querySelector('.row').before(make('p', {}, button(text, () => { box.close(); attempt(run); }, properties)));
  if (!item.isFolder) {
    add('Preview', () => preview(item));
    add('Download', () => { location.href = href(path) + '?download'; });
    add('Versions', () => versions(item));
  } else {
    add('Download as zip', () => { location.href = reserved + '/archive' + href(path) + '/?format=zip'; });
    add('Download as tar', () => { location.href = reserved + '/archive' + href(path) + '/?format=tar'; });
    add('What it takes', () => usage(path));
  }
  add('Rename or move', () => rename(item));
  add('Copy', () => ask('Copy “' + item.name + '” to', path, to => change('copy', {path, to}).then(refresh), 'Path'));
  add('Share', () => share(item));
  if (item.row.querySelector('.lock')) add('Break the lock', () => breakLock(item));
  add('Delete', () => remove([item]));
}

const rename = item => ask('Rename or move “' + item.name + '”', item.name, async to => {
  if (!to || to === item.name) return;
  const target = to.startsWith('/') ? to : child(to);
  await change('move', {path: child(item.name), to: target});
  await refresh();
  say('Moved', 'Undo', () => attempt(() => change('move', {path: target, to: child(item.name)}).then(refresh)));
}, 'New name, or a whole path');

async function remove(items) {
  const gone = [];
  let failure;
  for (const item of items) {
    try {
      gone.push(await change('delete', {path: child(item.name), recursive: true}));
    } catch (why) {
      failure = why;
      break;
    }
  }
  await refresh();
  if (!gone.length) throw failure;
  say((gone.length === 1 ? '“' + items[0].name + '”' : gone.length + ' entries') + ' deleted' + (failure ? '. ' + failure.message : ''), 'Undo', () => attempt(async () => {
    for (const entry of gone) await change('undelete', {path: folder || '/', id: entry.id});
    await refresh();
    say('Brought back');
  }));
}

async function breakLock(item) {
  const {locks} = await call('locks', {path: child(item.name)});
  const lock = locks[0];
  if (!lock) return refresh();
  const box = show('Break the lock?', make('p', {textContent: lock.owner + ' has “' + baseName(lock.path) + '” locked since ' + timeText(lock.since) +
    ', until ' + timeText(lock.expires) + '. If they still work on it, what they save next is refused.'}));
  box.querySelector('.row').prepend(button('Break it', () => { box.close(); attempt(() => change('unlock', {path: lock.path}).then(refresh)); }, {className: 'main'}));
}

// ---- links for others ----

function share(item) {
  const days = make('select', {ariaLabel: 'Good for'}, ...[['a day', 1], ['a week', 7], ['a month', 30], ['ever', 0]].map(([text, value]) => new Option(text, value, value === 7)));
  const result = make('p');
  const link = right => attempt(async () => {
    const expires = +days.value ? new Date(Date.now() + days.value * 864e5).toISOString() : 'never';
    const {url} = await change('share', {path: child(item.name), right, expires});
    const input = make('input', {type: 'text', readOnly: true, value: location.origin + url, ariaLabel: 'Link'});
    result.replaceChildren(input, ' ', button('Copy', () => attempt(() => navigator.clipboard.writeText(input.value).then(() => say('Copied')))),
      make('span', {className: 'dim', textContent: ' It is shown only now.'}));
    input.select();
  });
  show('Share “' + item.name + '”', make('p', {textContent: 'Whoever has the link needs nothing else.'}), make('p', {}, 'Good for ', days), make('p', {}, button('Link to look and fetch', () => link('read'), {className: 'main'}),
    ...(item.isFolder ? [' ', button('Link to send files here', () => link('upload'))] : [])), result);
}

// What has come, and how much may; without a bound, only what has come.
const bounds = one => sizeText(one.usedBytes) + (one.maxBytes ? ' of ' + sizeText(one.maxBytes) : '') + ' and ' + one.usedFiles + (one.maxFiles ? ' of ' + one.maxFiles : '') + ' files came';

async function links() {
  const {shares} = await call('shares', {path: folder || '/'});
  const box = show('Links', make('p', {className: 'dim', textContent: shares.length ? 'What is shared of all files here, and until when.' : 'Nothing is shared.'}));
  for (const one of shares) {
    const line = make('p', {}, button('Take back', () => attempt(async () => { await change('unshare', {id: one.id}); line.remove(); }), {ariaLabel: 'Take back the link to ' + one.path}), ' ',
      make('bdi', {textContent: one.path ?? '(deleted)'}), make('span', {className: 'dim', textContent: (one.right === 'upload' ? ' to send files (' + bounds(one) + ')' : '') + (one.expires ? ' until ' + timeText(one.expires) : '')}));
    box.querySelector('.row').before(line);
  }
}

// ---- looking at files ----

async function preview(item) {
  const path = child(item.name), url = href(path);
  const entry = await attempt(() => call('stat', {path}));
  if (!entry) return;
  const type = entry.type.split('/')[0];
  const text = type === 'text' || /json|xml|yaml|javascript/.test(entry.type) && !/svg/.test(entry.type);
  const node = type === 'image' ? make('img', {src: url, alt: item.name})
    : type === 'video' ? make('video', {src: url, controls: true})
    : type === 'audio' ? make('audio', {src: url, controls: true})
    : entry.type === 'application/pdf' ? make('iframe', {src: url, title: item.name})
    : text && entry.length < 1e6 ? await textOf(path) : make('p', {textContent: 'There is no preview of ' + entry.type + '.'});
  const box = show(item.name, node, make('p', {className: 'dim', textContent:
    sizeText(entry.length) + ', changed ' + timeText(entry.modified) + ', version ' + entry.version + ', ' +
    (entry.digest.length === 64 ? 'SHA-256 ' : 'SHA-1 ') + entry.digest}));
  const row = box.querySelector('.row');
  row.prepend(make('a', {className: 'button', href: url + '?download', textContent: 'Download'}),
    button('Versions', () => { box.close(); versions(item); }));
  if (text && entry.length < 1e6) row.prepend(button('Edit', () => attempt(async () => { await edit(item); box.close(); })));
}

async function textOf(path, version) {
  const url = version ? reserved + '/tree/content?' + new URLSearchParams({path, version}) : href(path);
  const answer = await fetch(url);
  if (!answer.ok) throw new Error(await answer.text());
  return make('pre', {textContent: await answer.text(), tabIndex: 0});
}

// Saved only onto the version that was read; and what was not edited stays as it was.
async function edit(item) {
  const url = href(child(item.name)), answer = await fetch(url);
  if (!answer.ok) throw new Error(await answer.text());
  let text;
  try {
    text = new TextDecoder('utf-8', {fatal: true, ignoreBOM: true}).decode(await answer.arrayBuffer());
  } catch {
    throw new Error('This is no UTF-8: the page would damage it.');
  }
  const ends = [...new Set(text.match(/\r\n|\r|\n/g))];
  if (ends.length > 1) throw new Error('Its lines end in more than one way: the page would change them.');
  const etag = answer.headers.get('ETag'), area = make('textarea', {value: text, ariaLabel: 'Text of ' + item.name});
  const box = show('Edit ' + item.name, area);
  box.querySelector('.row').prepend(button('Save', () => attempt(async () => {
    const saved = await fetch(url, {method: 'PUT', body: area.value.replaceAll('\n', ends[0] ?? '\n'), headers: {'If-Match': etag, 'Content-Type': answer.headers.get('Content-Type')}});
    if (saved.status === 412) throw new Error('Somebody has changed the file since you opened it. Copy your text, and open it again.');
    if (!saved.ok) throw new Error(reasonOf(await saved.text()) || saved.statusText);
    box.close();
    say('Saved as a new version');
    refresh();
  }), {className: 'main'}));
  area.focus();
}

// ---- the past ----

async function versions(item) {
  const path = child(item.name);
  const {entries} = await call('history', {path});
  const table = make('table', {}, make('thead', {}, make('tr', {}, ...['Version', 'Size', 'Changed', ''].map(text => make('th', {scope: 'col', textContent: text})))));
  const rest = table.createTBody();
  const box = show('Versions of ' + item.name, table);
  for (const [i, entry] of entries.entries()) {
    if (entry.deleted) continue;
    const view = button('View', () => attempt(async () => show('Version ' + entry.version, await textOf(path, entry.version))));
    const compare = button('Compare', () => attempt(() => compareTexts(path, entry.version, entries[0].version)), {disabled: !i});
    const restore = button('Restore', () => attempt(async () => {
      await change('restore', {path, version: entry.version});
      box.close();
      refresh();
      say('Version ' + entry.version + ' is back, as a new version');
    }), {disabled: !i});
    const tags = (entry.tags ?? []).join(', ');
    const forget = button('Delete', () => {
      const sure = show('Delete version ' + entry.version + ' of ' + item.name, make('p', {textContent: 'Nothing brings it back. The file stays as it is.'}));
      sure.querySelector('.row').prepend(button('Delete it', () => attempt(async () => {
        await change('forget', {path, version: entry.version});
        sure.close();
        line.remove();
        say('Version ' + entry.version + ' is gone');
      }), {className: 'main'}));
    }, {disabled: !i || tags !== '', ariaLabel: 'Delete version ' + entry.version, title: tags && 'It is tagged'});
    const save = make('a', {className: 'button', textContent: 'Download', href: reserved + '/tree/content?' + new URLSearchParams({path, version: entry.version, download: 1})});
    const line = make('tr', {}, make('td', {textContent: entry.version + (tags && ' (' + tags + ')')}),
      make('td', {textContent: sizeText(entry.length)}), make('td', {textContent: timeText(entry.changed) + (entry.changedBy ? ', ' + entry.changedBy : '')}),
      make('td', {}, view, compare, restore, save, forget));
    rest.append(line);
  }
}

async function compareTexts(path, from, to) {
  const answer = await fetch(reserved + '/tree/diff?' + new URLSearchParams({path, from, to}));
  if (!answer.ok) throw new Error((await answer.json()).error.text);
  const pre = make('pre', {tabIndex: 0}), lines = (await answer.text()).split('\n').slice(2, -1);
  for (const line of lines)
    pre.append(/^[-+]/.test(line) ? make(line[0] === '+' ? 'ins' : 'del', {textContent: line[0] + ' ' + line.slice(1)}) : line + '\n');
  show(`Version ${from} and version ${to}`, lines.length ? pre : make('p', {textContent: 'Both are the same.'}));
}

async function trash() {
  const {entries} = await call('trash', {path: folder || '/'});
  const box = show('Trash', make('p', {className: 'dim', textContent: entries.length ? 'What was deleted here and below, the latest first.' : 'Nothing was deleted here.'}));
  for (const entry of entries)
    box.querySelector('.row').before(make('p', {}, button('Restore', () => attempt(async () => {
      await change('undelete', {path: folder || '/', id: entry.id});
      box.close();
      refresh();
      say('“' + entry.name + '” is back');
    }), {ariaLabel: 'Restore ' + entry.name}), ' ', make('bdi', {textContent: entry.path + (entry.folder ? '/' : '')}), make('span', {className: 'dim', textContent: ' ' + timeText(entry.ended ?? entry.changed)})));
}

function asItWas() {
  const input = make('input', {type: 'datetime-local', ariaLabel: 'When', step: 1});
  const result = make('div');
  const look = () => attempt(async () => {
    const at = new Date(input.value).toISOString();
    const {entries} = await call('list', {path: folder || '/', at});
    result.replaceChildren(make('p', {className: 'dim', textContent: entries.length + ' entries then'}),
      ...entries.map(entry => make('p', {}, entry.folder ? entry.name + '/' :
        make('a', {textContent: entry.name, href: reserved + '/tree/content?' + new URLSearchParams({path: child(entry.name), at, download: 1})}))),
      make('p', {}, make('a', {className: 'button', textContent: 'Download all of it', href: reserved + '/archive' + href(folder) + '/?' + new URLSearchParams({format: 'zip', at})}), ' ',
        button('Make the folder so again', () => attempt(async () => {
          const r = await change('restore', {path: folder || '/', at});
          box.close();
          refresh();
          say(`${r.created} came back, ${r.changed} changed, ${r.moved} moved, ${r.deleted} deleted`);
        }))));
  });
  const box = show('This folder as it was', make('p', {}, input, ' ', button('Look', look, {className: 'main'})), result);
}

async function usage(path = folder || '/') {
  const u = await call('usage', {path}), all = u.bytes + u.versionBytes, rows_ = [
    ['Files', u.files], ['Folders', u.folders], ['Bytes in them', sizeText(u.bytes)], ['Earlier versions', u.versions],
    ['Bytes in those', sizeText(u.versionBytes)], ['Different contents in the store', u.contents], ['What they take on disk', sizeText(u.storedBytes)]];
  if (path === '/' && all > u.storedBytes) rows_.push(['Saved by keeping equal contents once, and by compression', sizeText(all - u.storedBytes) + ` (${Math.round(100 * (1 - u.storedBytes / all))} %)`]);
  if (u.quotaBytes !== undefined) rows_.push(['Quota here: so much may be', sizeText(u.quotaBytes)], ['of which is there', sizeText(u.quotaUsedBytes)]);
  show('What it takes', make('table', {}, ...rows_.map(([name, value]) => make('tr', {}, make('td', {textContent: name}), make('td', {className: 'n', textContent: value})))));
}

// ---- search ----

let searching = 0, searched = '';
async function search(text, quietly) {
  const turn = ++searching;
  searched = text;
  if (!text) return refresh();
  const {entries, more} = await call('search', {path: folder || '/', q: text, limit: 200});
  if (turn !== searching) return;
  rows.clear();
  body.replaceChildren(...entries.map(entry => {
    const link = make('a', {href: href(entry.path) + (entry.folder ? '/' : '')}, make('bdi', {textContent: entry.path.slice(folder.length + 1) + (entry.folder ? '/' : '')}));
    return make('tr', {className: entry.folder ? 'folder' : ''}, make('td', {}, link),
      make('td', {className: 'n', textContent: entry.folder ? '' : sizeText(entry.length)}), make('td', {textContent: timeText(entry.modified)}), make('td'));
  }));
  selectionChanged();
  if (!quietly) say(entries.length + (more ? ' or more found' : ' found'));
}

// ---- live changes ----

function listenToChanges() {
  const events = new EventSource(reserved + '/events' + href(folder));
  const isHere = path => path && path.slice(0, path.lastIndexOf('/')) === folder;
  let opened = false;
  events.addEventListener('change', ({data}) => {
    const change = JSON.parse(data);
    if ((isHere(change.path) || isHere(change.from)) && !running) refreshSoon();
  });
  events.addEventListener('reload', refreshSoon);
  events.addEventListener('open', ({data}) => {
    // Of a second one: something may have been missed.
    if (data && opened) refreshSoon();
    opened ||= !!data;
  });
  addEventListener('pagehide', () => events.close());
}

// ---- uploads: each file is one PUT, or, when large, a resumable upload ----

const queue = make('section', {id: 'uploads', ariaLabel: 'Uploads'});
let running = 0;
const waiting = [];
addEventListener('beforeunload', event => { if (running || waiting.length) event.preventDefault(); });

async function filesOf(entry, path = '') {
  if (entry.isFile) return [[path + entry.name, await new Promise((done, failed) => entry.file(done, failed))]];
  const reader = entry.createReader(), all = [];
  for (;;) {
    const some = await new Promise((done, failed) => reader.readEntries(done, failed));
    if (!some.length) break;
    for (const inner of some) all.push(...await filesOf(inner, path + entry.name + '/'));
  }
  return all.length ? all : [[path + entry.name + '/', null]];
}

function enqueue(pairs) {
  for (const [name, file] of pairs) waiting.push({name, file});
  for (let n = running; n < 3; n++) work();
}

// Several files wait for one folder.
const madeFolders = new Map();
async function makeFolders(path) {
  const parts = path.split('/').slice(0, -1);
  for (let i = 1; i <= parts.length; i++) {
    const name = parts.slice(0, i).join('/');
    if (!madeFolders.has(name)) madeFolders.set(name, change('mkdir', {path: child(name)}).catch(() => {}));
    await madeFolders.get(name);
  }
}

async function work() {
  running++;
  for (let job; (job = waiting.shift());) await attempt(() => upload(job));
  if (--running || waiting.length) return;
  madeFolders.clear();
  refresh();
}

function send(method, url, blob, headers, progress, control) {
  return new Promise((done, failed) => {
    const request = new XMLHttpRequest();
    request.open(method, url);
    for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
    request.upload.onprogress = event => progress(event.loaded);
    request.onload = () => done(request);
    request.onerror = () => failed(new Error('the connection was lost'));
    request.onabort = () => failed(new Error('cancelled'));
    control.cancel = () => request.abort();
    request.send(blob);
  });
}

// Goes on where it stopped, also after this page was closed: the server knows how far it came, and this browser which one it is.
const base64 = text => btoa(String.fromCharCode(...new TextEncoder().encode(text)));
async function sendInParts(name, file, progress, control, standsAt) {
  const key = ['upload', child(name), file.size, file.lastModified].join('|'), tus = {'Tus-Resumable': '1.0.0'};
  let url = localStorage.getItem(key), offset;
  const look = async () => {
    const answer = url && await fetch(url, {method: 'HEAD', headers: tus});
    return answer?.ok ? +answer.headers.get('Upload-Offset') : undefined;
  };
  const cancel = () => fetch(url, {method: 'DELETE', headers: tus});
  offset = await look();
  if (offset === undefined) {
    const answer = await fetch(reserved + '/uploads/', {method: 'POST', headers: {...tus, 'Upload-Length': file.size,
      'Upload-Metadata': 'path ' + base64(child(name)) + ',filetype ' + base64(file.type) + ',modified ' + base64(String(file.lastModified))}});
    if (!answer.ok) throw new Error(name + ': ' + await answer.text());
    url = answer.headers.get('Location');
    localStorage.setItem(key, url);
    offset = 0;
  }
  for (let failures = 0; ;) {
    standsAt(offset);
    try {
      const answer = await send('PATCH', url, file.slice(offset), {...tus, 'Upload-Offset': offset, 'Content-Type': 'application/offset+octet-stream'}, progress, control);
      if (answer.status < 300) break;
      if ((answer.status < 500 && answer.status !== 409) || answer.status === 507) failures = 9;
      throw new Error(name + ': ' + reasonOf(answer.responseText));
    } catch (why) {
      if (why.message === 'cancelled') {
        localStorage.removeItem(key);
        cancel();
      }
      if (why.message === 'cancelled' || ++failures > 8) throw why;
      await new Promise(done => setTimeout(done, 250 << failures));
      offset = await look().catch(() => offset) ?? offset;
    }
  }
  localStorage.removeItem(key);
}

async function upload({name, file}) {
  await makeFolders(name);
  if (!file) return;
  const control = {}, begun = Date.now();
  const bar = make('progress', {max: file.size || 1, value: 0, ariaLabel: 'Upload of ' + name}), text = make('span', {className: 'dim'});
  const line = make('p', {}, make('span', {className: 'name', textContent: name}), bar, text, button('Cancel', () => control.cancel?.(), {ariaLabel: 'Cancel ' + name}));
  queue.append(line);
  let from = 0;
  const progress = loaded => {
    bar.value = from + loaded;
    const rate = loaded / Math.max(1, Date.now() - begun) * 1000;
    text.textContent = sizeText(from + loaded) + ' of ' + sizeText(file.size) + (loaded ? ', ' + sizeText(rate) + '/s' : '');
  };
  try {
    if (file.size > 8e6) await sendInParts(name, file, progress, control, offset => { from = offset; });
    else {
      const answer = await send('PUT', href(child(name)), file, {'X-OC-Mtime': String(file.lastModified / 1000)}, progress, control);
      if (answer.status >= 300) throw new Error(name + ': ' + (reasonOf(answer.responseText) || answer.statusText));
    }
    line.remove();
  } catch (why) {
    text.className = 'bad';
    text.textContent = why.message;
    line.append(button('Again', () => { line.remove(); enqueue([[name, file]]); }), button('Dismiss', () => line.remove()));
  }
}

// ---- starting ----

function chooser(properties) {
  const input = make('input', {type: 'file', multiple: true, className: 'hidden', tabIndex: -1, ariaHidden: 'true', ...properties});
  input.onchange = () => { enqueue([...input.files].map(file => [file.webkitRelativePath || file.name, file])); input.value = ''; };
  document.body.append(input);
  return input;
}

function addTools() {
  const files = chooser({}), folders = chooser({webkitdirectory: true});
  const find = make('input', {type: 'search', placeholder: 'Search names', ariaLabel: 'Search names here and below', oninput: () => attempt(() => search(find.value.trim()))});
  tools.append(button('Upload files', () => files.click(), {className: 'main'}), button('Upload folder', () => folders.click()),
    button('New folder', () => ask('New folder', '', async name => { if (name) { await change('mkdir', {path: child(name)}); refresh(); } })),
    button('Delete', () => attempt(() => remove(selection())), {className: 'for-selection', disabled: true}),
    button('Move', () => ask('Move to the folder', folder || '/', async to => {
      try {
        for (const item of selection()) await change('move', {path: child(item.name), to: to.replace(/\/$/, '') + '/' + item.name});
      } finally {
        refresh();
      }
    }, 'Folder'), {className: 'for-selection', disabled: true}),
    button('Links', () => attempt(links)), button('Trash', () => attempt(trash)), button('As it was', asItWas), button('Space', () => attempt(() => usage())), find);
  return find;
}

function listenToKeys(find) {
  addEventListener('keydown', event => {
    if (document.querySelector('dialog[open]') || /INPUT|TEXTAREA/.test(event.target.tagName) && event.target.type !== 'checkbox' || event.ctrlKey || event.metaKey || event.altKey) return;
    const items = [...rows.values()], at = items.findIndex(item => item.row.contains(document.activeElement));
    const go = n => { event.preventDefault(); items[Math.max(0, Math.min(items.length - 1, n))]?.link.focus(); };
    if (event.key === 'ArrowDown') go(at + 1);
    else if (event.key === 'ArrowUp') go(at - 1);
    else if (event.key === '/') event.preventDefault(), find.focus();
    else if (event.key === 'Delete') { const chosen = selection().length ? selection() : at >= 0 ? [items[at]] : []; if (chosen.length) attempt(() => remove(chosen)); }
    else if (event.key === 'F2' && at >= 0) rename(items[at]);
    else if (event.key === ' ' && at >= 0 && document.activeElement === items[at].link) event.preventDefault(), items[at].pick.click();
    else if (event.key === '?') show('Keys', make('p', {textContent: 'Arrows: go up and down. Enter: open. Space: select. F2: rename. Delete: delete. /: search.'}));
  });
}

function listenToDrops() {
  addEventListener('dragover', event => { event.preventDefault(); document.body.classList.add('drop'); });
  addEventListener('dragleave', event => { if (!event.relatedTarget) document.body.classList.remove('drop'); });
  addEventListener('drop', event => {
    event.preventDefault();
    document.body.classList.remove('drop');
    const entries = [...event.dataTransfer.items].map(item => item.webkitGetAsEntry()).filter(Boolean);
    attempt(async () => { for (const entry of entries) enqueue(await filesOf(entry)); });
  });
}

if (list) {
  list.tHead.rows[0].append(make('th', {scope: 'col'}, make('span', {className: 'hidden', textContent: 'More'})));
  list.tHead.rows[0].cells[0].prepend(make('label', {}, pickAll), ' ');
  [...body.rows].forEach(adopt);
  const find = addTools();
  tools.after(queue);
  listenToKeys(find);
  listenToDrops();
  listenToChanges();
  attempt(showLocks);
}
