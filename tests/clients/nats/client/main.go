// SPDX-License-Identifier: Apache-2.0

// objects_peer.c's words, by nats.go.  usage: client URL VERB ARGUMENT…
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

var ctx = context.Background()

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func put(store jetstream.ObjectStore, name, path, description string) {
	file, err := os.Open(path)
	check(err)
	_, err = store.Put(ctx, jetstream.ObjectMeta{
		Name:        name,
		Description: description,
		Headers:     nats.Header{"Color": {"red", "blue"}},
		Metadata:    map[string]string{"owner": "me"},
	}, file)
	check(err)
}

func info(store jetstream.ObjectStore, name string) {
	o, err := store.GetInfo(ctx, name)
	check(err)
	fmt.Printf("name %s\nsize %d\n", o.Name, o.Size)
	if o.Opts != nil && o.Opts.Link != nil {
		fmt.Printf("link %s\n", o.Opts.Link.Name)
		return
	}
	fmt.Printf("description %s\nchunks %d\ndigest %s\n", o.Description, o.Chunks, o.Digest)
	for name, values := range o.Headers {
		fmt.Printf("header %s %s\n", name, strings.Join(values, " "))
	}
	for name, value := range o.Metadata {
		fmt.Printf("metadata %s %s\n", name, value)
	}
}

func list(store jetstream.ObjectStore) {
	infos, err := store.List(ctx)
	if err == jetstream.ErrNoObjectsFound {
		return
	}
	check(err)
	names := []string{}
	for _, o := range infos {
		names = append(names, o.Name)
	}
	sort.Strings(names)
	for _, name := range names {
		fmt.Println(name)
	}
}

func watch(store jetstream.ObjectStore, count int) {
	w, err := store.Watch(ctx, jetstream.IncludeHistory())
	check(err)
	for count > 0 {
		select {
		case o := <-w.Updates():
			if o == nil {
				continue
			}
			what := "put"
			if o.Deleted {
				what = "deleted"
			}
			fmt.Println(what, o.Name)
			count--
		case <-time.After(20 * time.Second):
			os.Exit(1)
		}
	}
}

func main() {
	nc, err := nats.Connect(os.Args[1])
	check(err)
	js, err := jetstream.New(nc)
	check(err)
	verb, words := os.Args[2], os.Args[3:]
	if verb == "create" {
		_, err = js.CreateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: words[0]})
		check(err)
		return
	}
	store, err := js.ObjectStore(ctx, words[0])
	check(err)
	switch verb {
	case "put":
		put(store, words[1], words[2], words[3])
	case "get":
		result, err := store.Get(ctx, words[1])
		check(err)
		_, err = io.Copy(os.Stdout, result)
		check(err)
	case "info":
		info(store, words[1])
	case "list":
		list(store)
	case "delete":
		check(store.Delete(ctx, words[1]))
	case "rename":
		o, err := store.GetInfo(ctx, words[1])
		check(err)
		meta := o.ObjectMeta
		meta.Name = words[2]
		check(store.UpdateMeta(ctx, words[1], meta))
	case "link":
		o, err := store.GetInfo(ctx, words[2])
		check(err)
		_, err = store.AddLink(ctx, words[1], o)
		check(err)
	case "seal":
		check(store.Seal(ctx))
	case "watch":
		count, _ := strconv.Atoi(words[1])
		watch(store, count)
	default:
		os.Exit(2)
	}
	nc.Close()
}
