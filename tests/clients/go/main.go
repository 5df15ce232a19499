// SPDX-License-Identifier: Apache-2.0

// mongo-go-driver against a server: version 2 by driver_v2.go, and version 1 by go_v1/driver_v1.go, whose import paths lack "/v2".
// usage: client URI gridfs upload|verify|all NAME SIZE   (the same bytes as pymongo_gridfs.py makes)
//
//	client URI crud all|mark|resume FILE            (FILE keeps a resume token between two runs)
//	client URI users insert|read|create NAME        (prints "done", or the error)
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

var ctx, cancel = context.WithTimeout(context.Background(), 300*time.Second)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func same(got, expected any) {
	if fmt.Sprint(got) != fmt.Sprint(expected) {
		panic(fmt.Sprintf("got %v, expected %v", got, expected))
	}
}

func all(cursor *mongo.Cursor, err error) []bson.D {
	check(err)
	out := []bson.D{}
	check(cursor.All(ctx, &out))
	return out
}

func main() {
	uri, part, action, name := os.Args[1], os.Args[2], os.Args[3], os.Args[4]
	client := connect(uri)
	switch part {
	case "gridfs":
		size, err := strconv.Atoi(os.Args[5])
		check(err)
		gridFS(client.Database("test"), action, name, size)
	case "users":
		users(client, action, name)
	default:
		crud(client, action, name)
	}
	check(client.Disconnect(ctx))
	cancel()
}
