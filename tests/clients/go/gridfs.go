// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

func content(name string, size int) []byte {
	var block []byte
	for i := 0; i < 2048; i++ {
		sum := sha256.Sum256([]byte(fmt.Sprintf("%s %d", name, i)))
		block = append(block, sum[:]...)
	}
	return bytes.Repeat(block, size/len(block)+1)[:size]
}

func ensure(holds bool, what string) {
	if !holds {
		panic(what)
	}
}

func upload(b *bucket, name string, data []byte, metadata bson.D) objectID {
	id, err := b.UploadFromStream(ctx, name, bytes.NewReader(data), options.GridFSUpload().SetMetadata(metadata))
	check(err)
	return id
}

func byName(b *bucket, name string, revision int32) []byte {
	var out bytes.Buffer
	_, err := b.DownloadToStreamByName(ctx, name, &out, options.GridFSName().SetRevision(revision))
	check(err)
	return out.Bytes()
}

func find(b *bucket, filter bson.D) []objectID {
	cursor, err := b.Find(ctx, filter, options.GridFSFind().SetSort(bson.D{{"uploadDate", -1}}))
	var ids []objectID
	for _, file := range all(cursor, err) {
		ids = append(ids, file[0].Value.(objectID))
	}
	return ids
}

func only(ids []objectID, id objectID) bool {
	return len(ids) == 1 && ids[0] == id
}

func readParts(b *bucket, id objectID, data []byte) {
	var out bytes.Buffer
	_, err := b.DownloadToStream(ctx, id, &out)
	check(err)
	ensure(bytes.Equal(out.Bytes(), data), "wrong bytes")
	stream, err := b.OpenDownloadStream(ctx, id)
	check(err)
	_, err = stream.Skip(300000)
	check(err)
	part := make([]byte, 1000)
	_, err = io.ReadFull(stream, part)
	check(err)
	ensure(bytes.Equal(part, data[300000:301000]), "wrong bytes behind a skip")
	check(stream.Close())
}

func missing(b *bucket, id objectID, name string) {
	ensure(errors.Is(b.Delete(ctx, id), errFileNotFound), "a deleted file is deleted again")
	_, err := b.OpenDownloadStream(ctx, id)
	ensure(errors.Is(err, errFileNotFound), "a deleted file opens")
	_, err = b.OpenDownloadStreamByName(ctx, name)
	ensure(errors.Is(err, errFileNotFound), "a deleted name opens")
}

func otherBucket(db *mongo.Database, data []byte) {
	other := openBucket(db, options.GridFSBucket().SetName("go").SetChunkSizeBytes(1000))
	upload(other, "small chunks", data[:12345], bson.D{})
	ensure(bytes.Equal(byName(other, "small chunks", -1), data[:12345]), "small chunks")
	aborted, err := other.OpenUploadStream(ctx, "aborted")
	check(err)
	_, err = aborted.Write(data[:5000])
	check(err)
	check(aborted.Abort())
	ensure(len(find(other, bson.D{{"filename", "aborted"}})) == 0, "an aborted upload is a file")
	check(other.Drop(ctx))
	ensure(len(find(other, bson.D{})) == 0, "a dropped bucket has files")
}

func everyFile(db *mongo.Database, b *bucket, name string, data []byte) {
	backwards := make([]byte, len(data))
	for i, c := range data {
		backwards[len(data)-1-i] = c
	}
	first := upload(b, name, data, bson.D{{"color", "red"}})
	second := upload(b, name, backwards, bson.D{{"color", "blue"}})
	readParts(b, first, data)
	ensure(bytes.Equal(byName(b, name, -1), backwards), "newest revision")
	ensure(bytes.Equal(byName(b, name, 0), data), "first revision")
	ensure(only(find(b, bson.D{{"filename", name}, {"metadata.color", "blue"}}), second), "find by metadata")
	check(b.Rename(ctx, first, name+" renamed"))
	ensure(only(find(b, bson.D{{"filename", name + " renamed"}}), first), "rename")
	ensure(only(find(b, bson.D{{"filename", name}}), second), "revisions after the rename")
	check(b.Delete(ctx, first))
	check(b.Delete(ctx, second))
	missing(b, first, name+" renamed")
	left := bson.D{{"files_id", bson.D{{"$in", bson.A{first, second}}}}}
	count, err := b.GetChunksCollection().CountDocuments(ctx, left)
	check(err)
	ensure(count == 0, "chunks remain")
	otherBucket(db, data)
}

func gridFS(db *mongo.Database, action, name string, size int) {
	b := openBucket(db, options.GridFSBucket())
	data := content(name, size)
	switch action {
	case "upload":
		upload(b, name, data, bson.D{{"made", "by go"}})
	case "verify":
		got := byName(b, name, -1)
		ensure(bytes.Equal(got, data), "wrong bytes")
		fmt.Printf("%x\n", sha256.Sum256(got))
	default:
		everyFile(db, b, name, data)
	}
}
