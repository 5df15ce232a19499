// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

func everyday(c *mongo.Collection) {
	check(c.Drop(ctx))
	_, err := c.InsertOne(ctx, bson.D{{"_id", 1}, {"n", 1}})
	check(err)
	_, err = c.InsertMany(ctx, []any{bson.D{{"_id", 2}, {"n", 2}}, bson.D{{"_id", 3}, {"n", 3}}})
	check(err)
	_, err = c.InsertOne(ctx, bson.D{{"_id", 1}})
	same(mongo.IsDuplicateKeyError(err), true)
	updated, err := c.UpdateMany(ctx, bson.D{{"n", bson.D{{"$gte", 2}}}}, bson.D{{"$inc", bson.D{{"n", 10}}}})
	check(err)
	same(updated.ModifiedCount, 2)
	upserted, err := c.UpdateOne(ctx, bson.D{{"_id", 4}}, bson.D{{"$set", bson.D{{"n", 4}}}}, upserting)
	check(err)
	same(upserted.UpsertedID, 4)
	same(all(c.Find(ctx, bson.D{}, options.Find().SetSort(bson.D{{"n", -1}}).SetLimit(2).SetProjection(bson.D{{"n", 1}}))),
		[]bson.D{{{"_id", 3}, {"n", 13}}, {{"_id", 2}, {"n", 12}}})
	var before bson.D
	check(c.FindOneAndUpdate(ctx, bson.D{{"_id", 4}}, bson.D{{"$set", bson.D{{"n", 5}}}}).Decode(&before))
	same(before, bson.D{{"_id", 4}, {"n", 4}})
	same(errors.Is(c.FindOne(ctx, bson.D{{"_id", 99}}).Err(), mongo.ErrNoDocuments), true)
	count, err := c.CountDocuments(ctx, bson.D{{"n", bson.D{{"$gt", 1}}}})
	check(err)
	same(count, 3)
	same(distinct(c, "n"), 4)
	sums := all(c.Aggregate(ctx, mongo.Pipeline{{{"$group", bson.D{{"_id", nil}, {"sum", bson.D{{"$sum", "$n"}}}}}}}))
	same(sums, []bson.D{{{"_id", nil}, {"sum", 31}}})
	deleted, err := c.DeleteMany(ctx, bson.D{{"_id", bson.D{{"$in", bson.A{3, 4}}}}})
	check(err)
	same(deleted.DeletedCount, 2)
}

func bulk(c *mongo.Collection) {
	check(c.Drop(ctx))
	result, err := c.BulkWrite(ctx, []mongo.WriteModel{
		mongo.NewInsertOneModel().SetDocument(bson.D{{"_id", 1}}),
		mongo.NewInsertOneModel().SetDocument(bson.D{{"_id", 1}}),
		mongo.NewUpdateOneModel().SetFilter(bson.D{{"_id", 1}}).SetUpdate(bson.D{{"$set", bson.D{{"a", 1}}}}),
		mongo.NewReplaceOneModel().SetFilter(bson.D{{"_id", 2}}).SetReplacement(bson.D{{"a", 2}}).SetUpsert(true),
		mongo.NewDeleteOneModel().SetFilter(bson.D{{"_id", 3}}),
	}, options.BulkWrite().SetOrdered(false))
	var failure mongo.BulkWriteException
	same(errors.As(err, &failure), true)
	same(len(failure.WriteErrors), 1)
	same(failure.WriteErrors[0].Index, 1)
	same(failure.WriteErrors[0].Code, 11000)
	same([]int64{result.InsertedCount, result.ModifiedCount, result.UpsertedCount}, []int64{1, 1, 1})
}

func manyBatches(c *mongo.Collection) {
	check(c.Drop(ctx))
	many := []any{}
	for i := 0; i < 5000; i++ {
		many = append(many, bson.D{{"_id", i}})
	}
	_, err := c.InsertMany(ctx, many)
	check(err)
	read := all(c.Find(ctx, bson.D{}, options.Find().SetSort(bson.D{{"_id", 1}}).SetBatchSize(100)))
	same(read, many)
}

func indexes(c *mongo.Collection) {
	check(c.Drop(ctx))
	name, err := c.Indexes().CreateOne(ctx, mongo.IndexModel{Keys: bson.D{{"a", 1}, {"b", -1}}, Options: options.Index().SetUnique(true)})
	check(err)
	same(name, "a_1_b_-1")
	same(len(all(c.Indexes().List(ctx))), 2)
	_, err = c.Indexes().CreateOne(ctx, mongo.IndexModel{Keys: bson.D{{"a", 1}, {"b", -1}}, Options: options.Index().SetName("other").SetUnique(true)})
	var conflict mongo.CommandError
	same(errors.As(err, &conflict), true)
	same(conflict.Code, 85)
	dropIndex(c, name)
	same(len(all(c.Indexes().List(ctx))), 1)
}

func next(stream *mongo.ChangeStream) bson.D {
	if !stream.Next(ctx) {
		panic(fmt.Sprintf("no event: %v", stream.Err()))
	}
	event := bson.D{}
	check(stream.Decode(&event))
	return event
}

// field gives the value of a field, nil when there is none.
func field(d bson.D, name string) any {
	for _, e := range d {
		if e.Key == name {
			return e.Value
		}
	}
	return nil
}

func changes(c *mongo.Collection) {
	stream, err := c.Watch(ctx, mongo.Pipeline{}, options.ChangeStream().SetFullDocument(options.UpdateLookup))
	check(err)
	defer func() { check(stream.Close(ctx)) }()
	_, err = c.InsertOne(ctx, bson.D{{"_id", "watched"}, {"a", 1}})
	check(err)
	_, err = c.UpdateOne(ctx, bson.D{{"_id", "watched"}}, bson.D{{"$set", bson.D{{"b", 2}}}, {"$unset", bson.D{{"a", ""}}}})
	check(err)
	same(field(next(stream), "operationType"), "insert")
	update := next(stream)
	same(field(update, "operationType"), "update")
	same(field(update, "fullDocument"), bson.D{{"_id", "watched"}, {"b", 2}})
	same(field(field(update, "updateDescription").(bson.D), "removedFields"), bson.A{"a"})
	_, err = c.DeleteOne(ctx, bson.D{{"_id", "watched"}})
	check(err)
	same(field(next(stream), "operationType"), "delete")
}

func mark(c *mongo.Collection, path string) {
	stream, err := c.Watch(ctx, mongo.Pipeline{})
	check(err)
	_, err = c.InsertOne(ctx, bson.D{{"step", "before"}})
	check(err)
	next(stream)
	token, err := bson.MarshalExtJSON(stream.ResumeToken(), true, false)
	check(err)
	check(os.WriteFile(path, token, 0o600))
	_, err = c.InsertOne(ctx, bson.D{{"step", "missed"}})
	check(err)
	check(stream.Close(ctx))
}

func resume(c *mongo.Collection, path string) {
	text, err := os.ReadFile(path)
	check(err)
	var token bson.D
	check(bson.UnmarshalExtJSON(text, true, &token))
	stream, err := c.Watch(ctx, mongo.Pipeline{}, options.ChangeStream().SetResumeAfter(token))
	check(err)
	_, err = c.InsertOne(ctx, bson.D{{"step", "after"}})
	check(err)
	for _, step := range []string{"missed", "after"} {
		same(field(field(next(stream), "fullDocument").(bson.D), "step"), step)
	}
	check(stream.Close(ctx))
}

func crud(client *mongo.Client, action, path string) {
	db := client.Database("go_" + version)
	switch action {
	case "mark":
		mark(db.Collection("followed"), path)
	case "resume":
		resume(db.Collection("followed"), path)
	default:
		everyday(db.Collection("everyday"))
		bulk(db.Collection("bulk"))
		manyBatches(db.Collection("batches"))
		indexes(db.Collection("indexes"))
		sessions(client, db.Collection("sessions"))
		changes(db.Collection("changes"))
	}
}
