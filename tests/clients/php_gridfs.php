<?php
// SPDX-License-Identifier: Apache-2.0
// GridFS by the commands of PHP's mongodb extension against a server: Debian has the extension alone, without the library that brings
// a bucket class, so files and chunks are written as the specification says.
// usage: php php_gridfs.php URI upload|verify|all NAME SIZE   (the same bytes as pymongo_gridfs.py makes)
use MongoDB\BSON\{Binary, ObjectId, UTCDateTime};
use MongoDB\Driver\{BulkWrite, Command, Manager, Query};

const CHUNK_SIZE = 261120;
const FILES = 'test.fs.files';
const CHUNKS = 'test.fs.chunks';

function content(string $name, int $size): string
{
    $block = '';
    for ($i = 0; $i < 2048; $i++) {
        $block .= hash('sha256', "$name $i", true);
    }
    return substr(str_repeat($block, intdiv($size, strlen($block)) + 1), 0, $size);
}

function ensure(bool $holds, string $what): void
{
    if (!$holds) {
        throw new Exception($what);
    }
}

function upload(Manager $m, string $name, string $data, array $metadata): ObjectId
{
    $id = new ObjectId();
    $m->executeCommand('test', new Command(['createIndexes' => 'fs.chunks', 'indexes' => [
        ['key' => ['files_id' => 1, 'n' => 1], 'name' => 'files_id_1_n_1', 'unique' => true]]]));
    for ($n = 0, $at = 0; $at < strlen($data); $n++, $at += CHUNK_SIZE) {
        $piece = new Binary(substr($data, $at, CHUNK_SIZE), Binary::TYPE_GENERIC);
        $write = new BulkWrite();
        $write->insert(['files_id' => $id, 'n' => $n, 'data' => $piece]);
        $m->executeBulkWrite(CHUNKS, $write);
    }
    $write = new BulkWrite();
    $write->insert(['_id' => $id, 'length' => strlen($data), 'chunkSize' => CHUNK_SIZE,
        'uploadDate' => new UTCDateTime(), 'filename' => $name, 'metadata' => $metadata]);
    $m->executeBulkWrite(FILES, $write);
    return $id;
}

function find(Manager $m, string $namespace, array $filter, array $options = []): array
{
    return $m->executeQuery($namespace, new Query($filter, $options))->toArray();
}

function download(Manager $m, ObjectId $id): string
{
    $data = '';
    foreach ($m->executeQuery(CHUNKS, new Query(['files_id' => $id], ['sort' => ['n' => 1]])) as $chunk) {
        $data .= $chunk->data->getData();
    }
    return $data;
}

function remove(Manager $m, ObjectId $id): void
{
    foreach ([FILES => '_id', CHUNKS => 'files_id'] as $namespace => $field) {
        $write = new BulkWrite();
        $write->delete([$field => $id]);
        ensure($m->executeBulkWrite($namespace, $write)->getDeletedCount() > 0, "nothing deleted from $namespace");
    }
}

function ids(array $documents): array
{
    return array_map(fn ($document) => (string) $document->_id, $documents);
}

function everything(Manager $m, string $name, string $data): void
{
    $backwards = strrev($data);
    $first = upload($m, $name, $data, ['color' => 'red', 'n' => 1]);
    usleep(2000); // for another uploadDate
    $second = upload($m, $name, $backwards, ['color' => 'blue', 'n' => 2]);
    ensure(download($m, $first) === $data, 'wrong bytes');
    ensure(download($m, $second) === $backwards, 'wrong bytes of the second');
    ensure(ids(find($m, FILES, ['filename' => $name, 'metadata.color' => 'blue'])) === [(string) $second], 'find by metadata');
    $revisions = find($m, FILES, ['filename' => $name], ['sort' => ['uploadDate' => -1]]);
    ensure(ids($revisions) === [(string) $second, (string) $first], 'revisions');
    $write = new BulkWrite();
    $write->update(['_id' => $first], ['$set' => ['filename' => "$name renamed"]]);
    ensure($m->executeBulkWrite(FILES, $write)->getModifiedCount() === 1, 'rename');
    ensure(ids(find($m, FILES, ['filename' => $name])) === [(string) $second], 'revisions after the rename');
    remove($m, $first);
    remove($m, $second);
    ensure(find($m, FILES, ['_id' => ['$in' => [$first, $second]]]) === [], 'files remain');
    ensure(find($m, CHUNKS, ['files_id' => ['$in' => [$first, $second]]]) === [], 'chunks remain');
}

[, $uri, $action, $name, $size] = $argv;
$manager = new Manager($uri);
$data = content($name, (int) $size);
if ($action === 'upload') {
    upload($manager, $name, $data, ['made' => 'by php']);
} elseif ($action === 'verify') {
    [$newest] = find($manager, FILES, ['filename' => $name], ['sort' => ['uploadDate' => -1], 'limit' => 1]);
    $digest = hash('sha256', download($manager, $newest->_id));
    ensure($digest === hash('sha256', $data), 'wrong bytes');
    echo "$digest\n";
} else {
    everything($manager, $name, $data);
}
