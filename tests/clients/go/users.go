// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

// users does one thing as whom the URI names, and prints what was said of it.
func users(client *mongo.Client, action, name string) {
	var err error
	files := client.Database("files")
	switch action {
	case "insert":
		_, err = files.Collection("c").InsertOne(ctx, bson.D{{"by", name}})
	case "read":
		err = files.Collection("c").FindOne(ctx, bson.D{{"by", name}}).Err()
	case "create":
		err = files.RunCommand(ctx, bson.D{{"createUser", name}, {"pwd", "crayon"}, {"roles", bson.A{"read"}}}).Err()
	}
	if err != nil {
		fmt.Println(err)
	} else {
		fmt.Println("done")
	}
}
