// SPDX-License-Identifier: Apache-2.0

// The work of bench/objects.c by nats.go.  usage: bench URL PEER MIB SMALL
package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	smallBytes = 4096
	writers    = 16
)

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func figure(name string, value float64, unit string) {
	fmt.Printf("%s,%s,%.1f,%s\n", name, os.Args[2], value, unit)
}

func main() {
	mib, _ := strconv.Atoi(os.Args[3])
	small, _ := strconv.Atoi(os.Args[4])
	data := make([]byte, mib<<20)
	rand.New(rand.NewSource(1)).Read(data)
	ctx := context.Background()
	nc, err := nats.Connect(os.Args[1])
	check(err)
	js, err := jetstream.New(nc)
	check(err)
	store, err := js.CreateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: "bench"})
	check(err)

	from := time.Now()
	_, err = store.Put(ctx, jetstream.ObjectMeta{Name: "large"}, bytes.NewReader(data))
	check(err)
	figure("objects_put", float64(len(data))/1e6/time.Since(from).Seconds(), "MB/s")
	from = time.Now()
	result, err := store.Get(ctx, "large")
	check(err)
	total, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, result, make([]byte, 1<<20))
	check(err)
	if total != int64(len(data)) {
		check(fmt.Errorf("%d bytes", total))
	}
	figure("objects_get", float64(len(data))/1e6/time.Since(from).Seconds(), "MB/s")

	from = time.Now()
	for i := 0; i < small; i++ {
		_, err = store.PutBytes(ctx, fmt.Sprintf("small/%d", i), data[i:i+smallBytes])
		check(err)
	}
	figure("objects_put_small", float64(small)/time.Since(from).Seconds(), "/s")
	from = time.Now()
	for i := 0; i < small; i++ {
		_, err = store.GetBytes(ctx, fmt.Sprintf("small/%d", i))
		check(err)
	}
	figure("objects_get_small", float64(small)/time.Since(from).Seconds(), "/s")

	from = time.Now()
	var all sync.WaitGroup
	for w := 0; w < writers; w++ {
		all.Add(1)
		go func(first, end int) {
			defer all.Done()
			for i := first; i < end; i++ {
				_, err := store.PutBytes(ctx, fmt.Sprintf("many/%d", i), data[i:i+smallBytes])
				check(err)
			}
		}(small*w/writers, small*(w+1)/writers)
	}
	all.Wait()
	figure("objects_put_small_16", float64(small)/time.Since(from).Seconds(), "/s")
	check(js.DeleteObjectStore(ctx, "bench"))
	nc.Close()
}
