// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

const version = "v2"

func connect(uri string) *mongo.Client {
	client, err := mongo.Connect(options.Client().ApplyURI(uri))
	check(err)
	return client
}

var upserting = options.UpdateOne().SetUpsert(true)

// distinct gives the number of a field's values, which are numbers.
func distinct(c *mongo.Collection, field string) int {
	var values []int
	check(c.Distinct(ctx, field, bson.D{}).Decode(&values))
	return len(values)
}

func dropIndex(c *mongo.Collection, name string) {
	check(c.Indexes().DropOne(ctx, name))
}

func sessions(client *mongo.Client, c *mongo.Collection) {
	check(c.Drop(ctx))
	check(client.UseSession(ctx, func(ctx context.Context) error {
		for i := 100; i < 110; i++ {
			if _, err := c.InsertOne(ctx, bson.D{{"_id", i}}); err != nil {
				return err
			}
		}
		count, err := c.CountDocuments(ctx, bson.D{{"_id", bson.D{{"$gte", 100}}}})
		same(count, 10)
		same(mongo.SessionFromContext(ctx).OperationTime() != nil, true)
		return err
	}))
}

type objectID = bson.ObjectID
type bucket = mongo.GridFSBucket

var errFileNotFound = mongo.ErrFileNotFound

func openBucket(db *mongo.Database, opts *options.BucketOptionsBuilder) *bucket {
	return db.GridFSBucket(opts)
}
