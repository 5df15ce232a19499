// SPDX-License-Identifier: Apache-2.0
// The page in a browser: every function of it used once, as a person would.  usage: page.js URL CASE...
// PICTURES=FOLDER keeps screenshots.
'use strict';
const fs = require('fs');
const os = require('os');
const path = require('path');
const {chromium} = require('playwright-core');
const axe = require.resolve('axe-core/axe.min.js');

const url = process.argv[2];
const flags = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync'];

const put = async (name, body, headers = {}) => {
  const answer = await fetch(url + name, {method: 'PUT', body, headers});
  if (!answer.ok) throw new Error(`PUT ${name}: ${answer.status}`);
};
const mkcol = name => fetch(url + name, {method: 'MKCOL'});
const text = async name => (await fetch(url + name)).text();
const there = async name => (await fetch(url + name, {method: 'HEAD'})).ok;

function ok(what, value) {
  if (!value) throw new Error(what);
}
async function until(what, test) {
  for (let i = 0; i < 100; i++) {
    if (await test()) return;
    await new Promise(done => setTimeout(done, 50));
  }
  throw new Error(what);
}
const row = (page, name) => page.locator('#list tbody tr', {has: page.locator(`bdi:text-is("${name}")`)});
async function choose(page, name, what) {
  await row(page, name).getByRole('button').click();
  await page.getByRole('dialog').getByRole('button', {name: what, exact: true}).click();
}
async function accessible(page, where) {
  await page.addScriptTag({path: axe}).catch(() => page.evaluate(fs.readFileSync(axe, 'utf8')));
  const found = await page.evaluate(() => window.axe.run());
  ok(where + ': ' + JSON.stringify(found.violations.map(v => [v.id, v.nodes.map(n => n.target)])), !found.violations.length);
}

const cases = {
  async looks_and_sorts(page) {
    await put('sort/', '').catch(() => {});
    await mkcol('sort');
    await put('sort/b.txt', 'bb');
    await put('sort/a.txt', 'aaaa');
    await mkcol('sort/folder');
    await page.goto(url + 'sort/');
    const names = () => page.locator('#list tbody bdi').allTextContents();
    ok('by name: ' + await names(), String(await names()) === 'folder/,a.txt,b.txt');
    await page.getByRole('link', {name: 'Size'}).click();
    ok('by size: ' + await names(), String(await names()) === 'folder/,b.txt,a.txt');
    await page.getByRole('link', {name: 'Size'}).click();
    ok('by size, down: ' + await names(), String(await names()) === 'folder/,a.txt,b.txt');
    await page.getByRole('link', {name: 'folder/'}).click();
    await page.getByRole('navigation', {name: 'Path'}).getByRole('link', {name: 'sort'}).click();
    ok('back', page.url() === url + 'sort/');
  },
  async uploads(page, scratch) {
    await mkcol('up');
    fs.mkdirSync(path.join(scratch, 'in/deep'), {recursive: true});
    fs.writeFileSync(path.join(scratch, 'one.txt'), 'one');
    fs.writeFileSync(path.join(scratch, 'large.bin'), Buffer.alloc(20e6, 7));
    for (let i = 0; i < 20; i++) fs.writeFileSync(path.join(scratch, `in/deep/${i}.txt`), String(i));
    await page.goto(url + 'up/');
    await page.locator('input[type=file]').first().setInputFiles([path.join(scratch, 'one.txt'), path.join(scratch, 'large.bin')]);
    await row(page, 'large.bin').waitFor();
    ok('one', await text('up/one.txt') === 'one');
    ok('large', (await (await fetch(url + 'up/large.bin')).arrayBuffer()).byteLength === 20e6);
    await page.locator('input[type=file]').nth(1).setInputFiles(path.join(scratch, 'in'));
    await row(page, 'in/').waitFor();
    for (let i = 0; i < 20; i++) await until('in a folder', async () => await text(`up/in/deep/${i}.txt`) === String(i));
    ok('none failed', !await page.locator('#uploads .bad').count());
  },
  async shares(page, scratch, browser) {
    await mkcol('party');
    await put('party/photo.txt', 'mine');
    await page.goto(url);
    // A guest, who has the links and nothing else.
    const guest = await (await browser.newContext()).newPage();
    const linkOf = async what => {
      await choose(page, 'party/', 'Share');
      await page.getByRole('button', {name: what}).click();
      const link = await page.getByLabel('Link', {exact: true}).inputValue();
      await accessible(page, 'share');
      await page.getByRole('button', {name: 'Close'}).click();
      return link;
    };
    const read = await linkOf('Link to look and fetch'), send = await linkOf('Link to send files here');
    await guest.goto(read);
    ok('fetched', await (await guest.request.get(await guest.getByRole('link', {name: 'photo.txt'}).evaluate(a => a.href))).text() === 'mine');
    await accessible(guest, 'a shared folder');
    fs.writeFileSync(path.join(scratch, 'photo.txt'), 'theirs');
    fs.writeFileSync(path.join(scratch, 'new.txt'), 'new');
    await guest.goto(send);
    await accessible(guest, 'the form');
    await guest.locator('input[type=file]').setInputFiles([path.join(scratch, 'photo.txt'), path.join(scratch, 'new.txt')]);
    await guest.getByRole('button', {name: 'Send'}).click();
    await guest.getByText('new.txt').waitFor();
    ok('came', await text('party/new.txt') === 'new' && await text('party/photo%20(2).txt') === 'theirs' && await text('party/photo.txt') === 'mine');
    await page.getByRole('button', {name: 'Links'}).click();
    const taken = page.getByRole('button', {name: 'Take back the link to /party'});
    await until('two links', async () => await taken.count() === 2);
    await page.getByText('to send files (9 B of 10.7 GB and 2 of 1000 files came) until').waitFor();
    await taken.first().click();
    await until('taken back', async () => await taken.count() === 1);
    ok('gone', (await guest.request.get(read)).status() === 404);
    await guest.context().close();
  },
  async goes_on_with_an_upload_after_the_page_was_left(page, scratch) {
    await mkcol('left');
    const file = path.join(scratch, 'long.bin'), bytes = require('crypto').randomBytes(24e6), offsets = [];
    fs.writeFileSync(file, bytes);
    page.on('request', request => request.method() === 'PATCH' && offsets.push(+request.headers()['upload-offset']));
    await page.goto(url + 'left/');
    const session = await page.context().newCDPSession(page), throughput = 4e6;
    await session.send('Network.enable');
    await session.send('Network.emulateNetworkConditions', {offline: false, latency: 0, downloadThroughput: -1, uploadThroughput: throughput});
    await page.locator('input[type=file]').first().setInputFiles(file);
    const bar = page.getByRole('progressbar', {name: 'Upload of long.bin'});
    await until('a third is on its way', async () => await bar.getAttribute('value') > 8e6);
    // Who leaves is asked, and stays; asked again, goes.
    const asked = [];
    page.on('dialog', dialog => { asked.push(dialog.type()); return asked.length > 1 ? dialog.accept() : dialog.dismiss(); });
    await page.mouse.click(5, 5);
    await page.evaluate(() => { location.reload(); }).catch(() => {});
    await until('asked', () => asked.length === 1);
    ok('still sending', await bar.count() === 1 && !await there('left/long.bin'));
    await page.reload().catch(() => {});
    ok('asked twice: ' + asked, String(asked) === 'beforeunload,beforeunload');
    await session.send('Network.emulateNetworkConditions', {offline: false, latency: 0, downloadThroughput: -1, uploadThroughput: -1});
    await page.locator('input[type=file]').first().setInputFiles(file);
    await row(page, 'long.bin').waitFor();
    ok('went on: ' + offsets, offsets.length >= 2 && offsets[0] === 0 && offsets.at(-1) > 1e6);
    ok('the same bytes', bytes.equals(Buffer.from(await (await fetch(url + 'left/long.bin')).arrayBuffer())));
  },
  async new_folder_rename_move_copy_delete_undo(page) {
    await mkcol('w');
    await put('w/a.txt', 'a');
    await page.goto(url + 'w/');
    await page.getByRole('button', {name: 'New folder'}).click();
    await page.getByRole('dialog').getByRole('textbox').fill('sub');
    await page.keyboard.press('Enter');
    await row(page, 'sub/').waitFor();
    await choose(page, 'a.txt', 'Rename or move');
    await page.getByRole('dialog').getByRole('textbox').fill('b & <b>.txt');
    await page.keyboard.press('Enter');
    await row(page, 'b & <b>.txt').waitFor();
    ok('renamed', await text('w/b%20%26%20%3Cb%3E.txt') === 'a');
    await page.getByRole('button', {name: 'Undo'}).click();
    await row(page, 'a.txt').waitFor();
    await choose(page, 'a.txt', 'Copy');
    await page.getByRole('dialog').getByRole('textbox').fill('/w/sub/c.txt');
    await page.keyboard.press('Enter');
    await until('copied', () => there('w/sub/c.txt'));
    await page.getByRole('checkbox', {name: 'Select a.txt'}).check();
    await page.getByRole('button', {name: 'Move', exact: true}).click();
    await page.getByRole('dialog').getByRole('textbox').fill('/w/sub');
    await page.keyboard.press('Enter');
    await until('moved', () => there('w/sub/a.txt'));
    await row(page, 'a.txt').waitFor({state: 'detached'});
    await choose(page, 'sub/', 'Delete');
    await row(page, 'sub/').waitFor({state: 'detached'});
    ok('deleted', !await there('w/sub/a.txt'));
    await page.getByRole('button', {name: 'Undo'}).click();
    await row(page, 'sub/').waitFor();
    ok('undone', await there('w/sub/a.txt') && await there('w/sub/c.txt'));
  },
  async versions(page) {
    await mkcol('v');
    for (const body of ['one\ntwo\n', 'one\nthree\n', 'one\nthree\nfour\n']) await put('v/t.txt', body);
    await page.goto(url + 'v/');
    await choose(page, 't.txt', 'Versions');
    const dialog = page.getByRole('dialog', {name: 'Versions of t.txt'});
    await dialog.getByRole('button', {name: 'View'}).last().click();
    ok('viewed', await page.getByRole('dialog', {name: 'Version 1'}).locator('pre').textContent() === 'one\ntwo\n');
    await page.getByRole('dialog', {name: 'Version 1'}).getByRole('button', {name: 'Close'}).click();
    await dialog.getByRole('button', {name: 'Compare'}).last().click();
    const pre = page.getByRole('dialog', {name: 'Version 1 and version 3'}).locator('pre');
    ok('compared', await pre.locator('del').allTextContents() == '- two' && String(await pre.locator('ins').allTextContents()) === '+ three,+ four');
    await page.getByRole('dialog', {name: 'Version 1 and version 3'}).getByRole('button', {name: 'Close'}).click();
    await dialog.getByRole('button', {name: 'Restore'}).last().click();
    await until('restored', async () => await text('v/t.txt') === 'one\ntwo\n');
    // One that goes for good is asked about, and only that one goes; the newest and what is tagged stay.
    await fetch(url + '.ashlar/tree/tag', {method: 'POST', headers: {'Content-Type': 'application/json'}, body: JSON.stringify({path: '/v/t.txt', version: 2, tag: 'kept'})});
    await choose(page, 't.txt', 'Versions');
    ok('not the newest, nor tagged', await dialog.getByRole('button', {name: 'Delete version 4'}).isDisabled() && await dialog.getByRole('button', {name: 'Delete version 2'}).isDisabled());
    await dialog.getByRole('button', {name: 'Delete version 1'}).click();
    const sure = page.getByRole('dialog', {name: 'Delete version 1 of t.txt'});
    await sure.getByRole('button', {name: 'Close'}).click();
    const numbers = async () => (await (await fetch(url + '.ashlar/tree/history?path=/v/t.txt')).json()).entries.map(entry => entry.version).join();
    ok('not sure', await numbers() === '4,3,2,1');
    await dialog.getByRole('button', {name: 'Delete version 1'}).click();
    await sure.getByRole('button', {name: 'Delete it'}).click();
    await dialog.getByRole('button', {name: 'Delete version 1'}).waitFor({state: 'detached'});
    ok('one version gone', await numbers() === '4,3,2' && await text('v/t.txt') === 'one\ntwo\n');
  },
  async trash_and_as_it_was(page) {
    await mkcol('z');
    await put('z/gone.txt', 'gone');
    await put('z/stays.txt', '1');
    await new Promise(done => setTimeout(done, 1500));
    const then = new Date();
    await new Promise(done => setTimeout(done, 1500));
    await put('z/stays.txt', '2');
    await fetch(url + 'z/gone.txt', {method: 'DELETE'});
    await page.goto(url + 'z/');
    await page.getByRole('button', {name: 'As it was'}).click();
    const local = new Date(then.getTime() - then.getTimezoneOffset() * 60000).toISOString().slice(0, 19);
    await page.getByLabel('When').fill(local);
    await page.getByRole('button', {name: 'Look'}).click();
    await page.getByRole('dialog').getByRole('link', {name: 'gone.txt'}).waitFor();
    await page.getByRole('dialog').getByRole('button', {name: 'Make the folder so again'}).click();
    await until('as it was', async () => await there('z/gone.txt') && await text('z/stays.txt') === '1');
    await fetch(url + 'z/gone.txt', {method: 'DELETE'});
    await page.getByRole('button', {name: 'Trash'}).click();
    await page.getByRole('dialog').getByRole('button', {name: 'Restore gone.txt'}).first().click();
    await until('from the trash', () => there('z/gone.txt'));
  },
  async search_preview_edit(page) {
    await mkcol('s');
    await mkcol('s/inner');
    await put('s/inner/Needle.txt', 'point');
    await put('s/picture.svg', '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><script>alert(1)</script><circle r="4"/></svg>', {'Content-Type': 'image/svg+xml'});
    await page.goto(url + 's/');
    await page.getByRole('searchbox').fill('needle');
    await page.locator('#list bdi:text-is("inner/Needle.txt")').waitFor();
    await page.goto(url + 's/inner/');
    await page.getByRole('link', {name: 'Needle.txt'}).click();
    await page.getByRole('dialog').locator('pre:text-is("point")').waitFor();
    await page.getByRole('dialog').getByRole('button', {name: 'Edit'}).click();
    await page.getByRole('dialog').getByRole('textbox').fill('eye');
    await page.getByRole('button', {name: 'Save'}).click();
    await until('saved', async () => await text('s/inner/Needle.txt') === 'eye');
    await row(page, 'Needle.txt').getByRole('link').click();
    await page.getByRole('dialog').getByRole('button', {name: 'Edit'}).click();
    await page.getByRole('dialog').getByRole('textbox').fill('mine');
    await put('s/inner/Needle.txt', 'theirs');
    await page.getByRole('button', {name: 'Save'}).click();
    await page.getByText('Somebody has changed the file').waitFor();
    ok('kept', await text('s/inner/Needle.txt') === 'theirs');
    await page.goto(url + 's/');
    await page.getByRole('link', {name: 'picture.svg'}).click();
    await page.getByRole('dialog').locator('img').waitFor();
  },
  async a_long_text(page) {
    await put('long.txt', 'a line\n'.repeat(5000));
    await page.goto(url);
    await row(page, 'long.txt').getByRole('link').click();
    await page.getByRole('dialog').locator('pre').waitFor();
    // What it is, and what can be done with it, is in sight, wherever one reads.
    const seen = part => part.evaluate(node => {
      const box = node.getBoundingClientRect();
      return box.top >= 0 && box.bottom <= innerHeight && document.elementFromPoint(box.left + 5, box.top + 5) === node;
    });
    for (const key of ['Home', 'End']) {
      await page.keyboard.press(key);
      ok(key, await seen(page.getByRole('heading', {name: 'long.txt'})) && await seen(page.getByRole('dialog').getByRole('button', {name: 'Close'})));
    }
  },
  async edit_changes_nothing_else(page) {
    await mkcol('e');
    await put('e/windows.txt', '\ufeffone\r\ntwo\r\n');
    await put('e/latin.txt', Buffer.from('caf\xe9\n', 'latin1'));
    await put('e/mixed.txt', 'one\r\ntwo\n');
    await page.goto(url + 'e/');
    const open = async name => {
      await row(page, name).getByRole('link').click();
      await page.getByRole('dialog').getByRole('button', {name: 'Edit'}).click();
    };
    await open('windows.txt');
    const area = page.getByRole('dialog').getByRole('textbox');
    await area.fill(await area.inputValue() + 'three\n');
    await page.getByRole('button', {name: 'Save'}).click();
    await until('saved', async () => Buffer.from(await (await fetch(url + 'e/windows.txt')).arrayBuffer()).toString('latin1') === '\xef\xbb\xbfone\r\ntwo\r\nthree\r\n');
    for (const [name, why] of [['latin.txt', 'no UTF-8'], ['mixed.txt', 'more than one way']]) {
      await open(name);
      await page.getByRole('dialog').getByText(why).waitFor();
      await page.getByRole('button', {name: 'Close'}).click();
    }
  },
  async several_at_once(page) {
    await mkcol('m');
    for (const name of ['a', 'b', 'c', 'd']) await put('m/' + name, name);
    await page.goto(url + 'm/');
    await page.getByRole('checkbox', {name: 'Select all'}).check();
    await page.getByRole('checkbox', {name: 'Select d'}).uncheck();
    await page.getByRole('button', {name: 'Delete', exact: true}).click();
    await page.getByText('3 entries deleted').waitFor();
    ok('the others', await there('m/d') && !await there('m/a'));
    ok('nothing is selected', await page.getByRole('button', {name: 'Delete', exact: true}).isDisabled());
    await page.getByRole('button', {name: 'Undo'}).click();
    await row(page, 'c').waitFor();
    await page.getByRole('checkbox', {name: 'Select all'}).check();
    await page.getByRole('button', {name: 'Move', exact: true}).click();
    await page.getByRole('dialog').getByRole('textbox').fill('/nowhere');
    await page.keyboard.press('Enter');
    // It says so where one is, and what was typed is still there.
    await page.getByRole('dialog').getByRole('status').getByText('nowhere').waitFor();
    ok('kept', await page.getByRole('dialog').getByRole('textbox').inputValue() === '/nowhere');
    ok('all there', await there('m/a') && await there('m/d'));
  },
  async locks(page) {
    await mkcol('l');
    await put('l/held.txt', 'x');
    const answer = await fetch(url + 'l/held.txt', {method: 'LOCK', headers: {Timeout: 'Second-600'}, body:
      '<lockinfo xmlns="DAV:"><lockscope><exclusive/></lockscope><locktype><write/></locktype><owner>desk</owner></lockinfo>'});
    ok('locked', answer.status === 200);
    await page.goto(url + 'l/');
    await row(page, 'held.txt').locator('.lock').waitFor();
    await choose(page, 'held.txt', 'Delete');
    await page.getByText('is locked').first().waitFor();
    ok('still there', await there('l/held.txt'));
    await choose(page, 'held.txt', 'Break the lock');
    await page.getByRole('dialog').getByText('desk has').waitFor();
    await page.getByRole('button', {name: 'Break it'}).click();
    await row(page, 'held.txt').locator('.lock').waitFor({state: 'detached'});
    await put('l/held.txt', 'y');
  },
  async live_changes(page) {
    await mkcol('live');
    await page.goto(url + 'live/');
    await page.waitForTimeout(500);
    await put('live/new.txt', 'n');
    await row(page, 'new.txt').waitFor({timeout: 5000});
    await fetch(url + 'live/new.txt', {method: 'DELETE'});
    await row(page, 'new.txt').waitFor({state: 'detached', timeout: 5000});
  },
  async keys(page) {
    await mkcol('k');
    await put('k/a.txt', 'a');
    await put('k/b.txt', 'b');
    await page.goto(url + 'k/');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    ok('at b', await page.evaluate(() => document.activeElement.textContent) === 'b.txt');
    await page.keyboard.press('Delete');
    await row(page, 'b.txt').waitFor({state: 'detached'});
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('F2');
    await page.getByRole('dialog').getByRole('textbox').fill('c.txt');
    await page.keyboard.press('Enter');
    await row(page, 'c.txt').waitFor();
    await page.keyboard.press('/');
    ok('search', await page.evaluate(() => document.activeElement.type) === 'search');
  },
  async names_that_mean_no_good(page) {
    await mkcol('n');
    let alerts = 0;
    page.on('dialog', dialog => { alerts++; dialog.dismiss(); });
    for (const name of ['<img src=x onerror=alert(1)>.txt', '"><script>alert(1)', 'a\u202etxt.exe', "it's & 100%.txt", 'line\u0007bell'])
      await put('n/' + encodeURIComponent(name), name);
    await page.goto(url + 'n/');
    await page.waitForTimeout(300);
    ok('all are there', await page.locator('#list tbody tr').count() === 5);
    for (const link of await page.locator('#list tbody a').all()) ok('leads somewhere', await there((await link.getAttribute('href')).slice(1)));
    const bell = page.getByRole('row', {name: 'bell'});
    await bell.getByRole('button').click();
    await page.getByRole('dialog').getByRole('button', {name: 'Rename or move'}).click();
    await page.getByRole('dialog').getByRole('textbox').fill('plain');
    await page.keyboard.press('Enter');
    await row(page, 'plain').waitFor();
    ok('nothing ran', !alerts);
    await mkcol('n/' + encodeURIComponent('a\u0007&<b>'));
    await put('n/' + encodeURIComponent('a\u0007&<b>') + '/x', 'x');
    await page.goto(url + 'n/' + encodeURIComponent('a\u0007&<b>') + '/');
    await row(page, 'x').getByRole('button').click();
    await page.getByRole('dialog').getByRole('button', {name: 'Delete'}).click();
    await page.getByText('deleted').waitFor();
  },
  async space(page) {
    await page.goto(url);
    await page.getByRole('button', {name: 'Space'}).click();
    await page.getByRole('dialog').getByText('What they take on disk').waitFor();
  },
  async without_scripts(page, scratch, browser) {
    const plain = await (await browser.newContext({javaScriptEnabled: false})).newPage();
    await mkcol('plain');
    await put('plain/a.txt', 'a');
    await plain.goto(url);
    await plain.getByRole('link', {name: 'plain/'}).click();
    await plain.getByRole('link', {name: 'a.txt'}).click();
    ok('read', (await plain.textContent('body')).trim() === 'a');
    // Versions, and back.
    await plain.goto(url + 'plain/');
    await plain.getByRole('link', {name: 'all versions'}).click();
    await plain.getByRole('link', {name: 'a.txt/'}).click();
    await plain.getByRole('link', {name: 'v1-a.txt'}).waitFor();
    await plain.getByRole('navigation', {name: 'Path'}).getByRole('link', {name: 'Files'}).click();
    await plain.getByRole('link', {name: 'plain/'}).waitFor();
    await plain.context().close();
  },
  async screen_readers_and_pictures(page, scratch, browser) {
    const folder = process.env.PICTURES ?? scratch;
    await mkcol('pictures');
    for (const [name, size] of [['Budget 2026.ods', 48213], ['Meeting notes.md', 1920], ['Roof.jpg', 2400000], ['Contract.pdf', 311000]]) await put('pictures/' + encodeURIComponent(name), Buffer.alloc(size, name));
    for (const name of ['Invoices', 'Photos', 'Plans']) await mkcol('pictures/' + name);
    for (const [name, options] of [['light', {colorScheme: 'light', viewport: {width: 1000, height: 560}}], ['dark', {colorScheme: 'dark', viewport: {width: 1000, height: 560}}],
      ['phone', {colorScheme: 'light', viewport: {width: 390, height: 700}, isMobile: true, hasTouch: true}]]) {
      const one = await (await browser.newContext({...options, bypassCSP: true})).newPage();
      await one.goto(url + 'pictures/');
      await one.getByRole('button', {name: 'Upload files'}).waitFor();
      await accessible(one, name);
      await one.screenshot({path: path.join(folder, `page-${name}.png`)});
      ok('fits', await one.evaluate(() => document.documentElement.scrollWidth <= innerWidth + 1));
      await row(one, 'Meeting notes.md').getByRole('button').click();
      await accessible(one, name + ', a dialog');
      await one.context().close();
    }
  },
};

async function main() {
  const scratch = fs.mkdtempSync(path.join(os.tmpdir(), 'page-'));
  const browser = await chromium.launch({executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: flags});
  const wanted = process.argv.slice(3);
  const names = wanted.length ? wanted : Object.keys(cases);
  let number = 0, failed = 0;
  console.log(`1..${names.length}`);
  for (const name of names) {
    const context = await browser.newContext();
    const page = await context.newPage();
    page.setDefaultTimeout(15000);
    const errors = [];
    page.on('pageerror', error => errors.push(error.message));
    try {
      await cases[name](page, scratch, browser);
      if (errors.length) throw new Error(errors.join('; '));
      console.log(`ok ${++number} - ${name}`);
    } catch (why) {
      failed++;
      console.log(`not ok ${++number} - ${name}`);
      console.log(String(why.message).replace(/^/gm, '# ') + (errors.length ? '\n# ' + errors.join('; ') : ''));
    }
    await context.close();
  }
  await browser.close();
  fs.rmSync(scratch, {recursive: true});
  process.exit(failed ? 1 : 0);
}
main();
