// SPDX-License-Identifier: Apache-2.0
// tus-js-client, unmodified.
// usage: tus.js ADDRESS FILE METADATA-AS-JSON whole|pieces|with-creation|resumed|parallel
const fs = require('fs');
const tus = require('tus-js-client');
const [, , address, file, metadata, how] = process.argv;
const options = {
    whole: {},
    pieces: {chunkSize: 1 << 20},
    'with-creation': {uploadDataDuringCreation: true},
    resumed: {chunkSize: 1 << 20},
    parallel: {parallelUploads: 2},
}[how];

function start(more) {
    return new Promise((done, failed) => {
        const upload = new tus.Upload(fs.createReadStream(file), {
            endpoint: `${address}/.ashlar/uploads/`,
            metadata: JSON.parse(metadata),
            retryDelays: null,
            ...options,
            ...more,
            onSuccess: () => done(upload.url),
            onError: failed,
            onChunkComplete: (size, sent, all) => {
                if (how === 'resumed' && more.uploadUrl === undefined && sent < all)
                    upload.abort().then(() => done(upload.url));
            },
        });
        upload.start();
    });
}

async function run() {
    const url = await start({});
    if (how === 'resumed')
        await start({uploadUrl: url});
}

run().catch(error => {
    console.error(error.message);
    process.exit(1);
});
