// SPDX-License-Identifier: Apache-2.0

// Go's gridfs.Bucket against a server.  usage: go_gridfs URI upload|verify|all NAME SIZE
// (the same bytes as pymongo_gridfs.py makes)
package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"strconv"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/bson/primitive"
	"go.mongodb.org/mongo-driver/mongo"
	"go.mongodb.org/mongo-driver/mongo/gridfs"
	"go.mongodb.org/mongo-driver/mongo/options"
)

func content(name string, size int) []byte {
	var block []byte
	for i := 0; i < 2048; i++ {
		sum := sha256.Sum256([]byte(fmt.Sprintf("%s %d", name, i)))
		block = append(block, sum[:]...)
	}
	return bytes.Repeat(block, size/len(block)+1)[:size]
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func ensure(holds bool, what string) {
	if !holds {
		panic(what)
	}
}

func upload(b *gridfs.Bucket, name string, data []byte, metadata bson.D) primitive.ObjectID {
	id, err := b.UploadFromStream(name, bytes.NewReader(data), options.GridFSUpload().SetMetadata(metadata))
	must(err)
	return id
}

func byName(b *gridfs.Bucket, name string, revision int32) []byte {
	var out bytes.Buffer
	_, err := b.DownloadToStreamByName(name, &out, options.GridFSName().SetRevision(revision))
	must(err)
	return out.Bytes()
}

func find(b *gridfs.Bucket, filter bson.D) []primitive.ObjectID {
	cursor, err := b.Find(filter, options.GridFSFind().SetSort(bson.D{{Key: "uploadDate", Value: -1}}))
	must(err)
	var files []struct {
		ID primitive.ObjectID `bson:"_id"`
	}
	must(cursor.All(context.Background(), &files))
	var ids []primitive.ObjectID
	for _, file := range files {
		ids = append(ids, file.ID)
	}
	return ids
}

func only(ids []primitive.ObjectID, id primitive.ObjectID) bool {
	return len(ids) == 1 && ids[0] == id
}

func readParts(b *gridfs.Bucket, id primitive.ObjectID, data []byte) {
	var out bytes.Buffer
	_, err := b.DownloadToStream(id, &out)
	must(err)
	ensure(bytes.Equal(out.Bytes(), data), "wrong bytes")
	stream, err := b.OpenDownloadStream(id)
	must(err)
	_, err = stream.Skip(300000)
	must(err)
	part := make([]byte, 1000)
	_, err = stream.Read(part)
	must(err)
	ensure(bytes.Equal(part, data[300000:301000]), "wrong bytes behind a skip")
	must(stream.Close())
}

func everything(db *mongo.Database, b *gridfs.Bucket, name string, data []byte) {
	backwards := make([]byte, len(data))
	for i, c := range data {
		backwards[len(data)-1-i] = c
	}
	first := upload(b, name, data, bson.D{{Key: "color", Value: "red"}})
	second := upload(b, name, backwards, bson.D{{Key: "color", Value: "blue"}})
	readParts(b, first, data)
	ensure(bytes.Equal(byName(b, name, -1), backwards), "newest revision")
	ensure(bytes.Equal(byName(b, name, 0), data), "first revision")
	ensure(only(find(b, bson.D{{Key: "filename", Value: name}, {Key: "metadata.color", Value: "blue"}}), second), "find by metadata")
	must(b.Rename(first, name+" renamed"))
	ensure(only(find(b, bson.D{{Key: "filename", Value: name + " renamed"}}), first), "rename")
	ensure(only(find(b, bson.D{{Key: "filename", Value: name}}), second), "revisions after the rename")
	must(b.Delete(first))
	must(b.Delete(second))
	ensure(b.Delete(first) == gridfs.ErrFileNotFound, "a deleted file is deleted again")
	_, err := b.OpenDownloadStream(first)
	ensure(err == gridfs.ErrFileNotFound, "a deleted file opens")
	_, err = b.OpenDownloadStreamByName(name + " renamed")
	ensure(err == gridfs.ErrFileNotFound, "a deleted name opens")
	left := bson.D{{Key: "files_id", Value: bson.D{{Key: "$in", Value: bson.A{first, second}}}}}
	count, err := b.GetChunksCollection().CountDocuments(context.Background(), left)
	must(err)
	ensure(count == 0, "chunks remain")
	other, err := gridfs.NewBucket(db, options.GridFSBucket().SetName("go").SetChunkSizeBytes(1000))
	must(err)
	upload(other, "small chunks", data[:12345], bson.D{})
	ensure(bytes.Equal(byName(other, "small chunks", -1), data[:12345]), "small chunks")
	must(other.Drop())
	ensure(len(find(other, bson.D{})) == 0, "a dropped bucket has files")
}

func main() {
	uri, action, name := os.Args[1], os.Args[2], os.Args[3]
	size, err := strconv.Atoi(os.Args[4])
	must(err)
	client, err := mongo.Connect(context.Background(), options.Client().ApplyURI(uri))
	must(err)
	db := client.Database("test")
	b, err := gridfs.NewBucket(db)
	must(err)
	data := content(name, size)
	switch action {
	case "upload":
		upload(b, name, data, bson.D{{Key: "made", Value: "by go"}})
	case "verify":
		got := byName(b, name, -1)
		ensure(bytes.Equal(got, data), "wrong bytes")
		fmt.Printf("%x\n", sha256.Sum256(got))
	default:
		everything(db, b, name, data)
	}
	must(client.Disconnect(context.Background()))
}
