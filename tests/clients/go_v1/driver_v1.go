// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"io"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/bson/primitive"
	"go.mongodb.org/mongo-driver/mongo"
	"go.mongodb.org/mongo-driver/mongo/gridfs"
	"go.mongodb.org/mongo-driver/mongo/options"
)

const version = "v1"

func connect(uri string) *mongo.Client {
	client, err := mongo.Connect(ctx, options.Client().ApplyURI(uri))
	check(err)
	return client
}

var upserting = options.Update().SetUpsert(true)

// distinct gives the number of a field's values.
func distinct(c *mongo.Collection, field string) int {
	values, err := c.Distinct(ctx, field, bson.D{})
	check(err)
	return len(values)
}

func dropIndex(c *mongo.Collection, name string) {
	_, err := c.Indexes().DropOne(ctx, name)
	check(err)
}

func sessions(client *mongo.Client, c *mongo.Collection) {
	check(c.Drop(ctx))
	check(client.UseSession(ctx, func(session mongo.SessionContext) error {
		for i := 100; i < 110; i++ {
			if _, err := c.InsertOne(session, bson.D{{"_id", i}}); err != nil {
				return err
			}
		}
		count, err := c.CountDocuments(session, bson.D{{"_id", bson.D{{"$gte", 100}}}})
		same(count, 10)
		same(session.OperationTime() != nil, true)
		return err
	}))
}

type objectID = primitive.ObjectID

var errFileNotFound = gridfs.ErrFileNotFound

// bucket has the methods of version 2's, which take a context each.
type bucket struct{ *gridfs.Bucket }

func openBucket(db *mongo.Database, opts *options.BucketOptions) *bucket {
	b, err := gridfs.NewBucket(db, opts)
	check(err)
	return &bucket{b}
}

func (b *bucket) UploadFromStream(_ context.Context, name string, from io.Reader, opts *options.UploadOptions) (objectID, error) {
	return b.Bucket.UploadFromStream(name, from, opts)
}

func (b *bucket) OpenUploadStream(_ context.Context, name string) (*gridfs.UploadStream, error) {
	return b.Bucket.OpenUploadStream(name)
}

func (b *bucket) DownloadToStream(_ context.Context, id objectID, to io.Writer) (int64, error) {
	return b.Bucket.DownloadToStream(id, to)
}

func (b *bucket) DownloadToStreamByName(_ context.Context, name string, to io.Writer, opts *options.NameOptions) (int64, error) {
	return b.Bucket.DownloadToStreamByName(name, to, opts)
}

func (b *bucket) OpenDownloadStream(_ context.Context, id objectID) (*gridfs.DownloadStream, error) {
	return b.Bucket.OpenDownloadStream(id)
}

func (b *bucket) OpenDownloadStreamByName(_ context.Context, name string) (*gridfs.DownloadStream, error) {
	return b.Bucket.OpenDownloadStreamByName(name)
}

func (b *bucket) Find(_ context.Context, filter bson.D, opts *options.GridFSFindOptions) (*mongo.Cursor, error) {
	return b.Bucket.Find(filter, opts)
}

func (b *bucket) Rename(_ context.Context, id objectID, name string) error {
	return b.Bucket.Rename(id, name)
}

func (b *bucket) Delete(_ context.Context, id objectID) error {
	return b.Bucket.Delete(id)
}

func (b *bucket) Drop(_ context.Context) error {
	return b.Bucket.Drop()
}
