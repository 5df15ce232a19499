// SPDX-License-Identifier: Apache-2.0

// What nats.go's own tests ask for their servers, when TESTER_NATS_URL names it: a service on NATS subjects. This one's servers
// are `ashlar serve --nats`, each in a folder of its own.
//
// usage: tester ASHLAR FOLDER     says its address on a line of its own; ends with standard input
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

type instance struct {
	command *exec.Cmd
	folder  string
}

type tester struct {
	ashlar, folder string
	mutex          sync.Mutex
	instances      map[string]*instance
	count          int
}

type createRequest struct {
	Snippets map[string]string `json:"snippets"`
	Template string            `json:"template"`
	TLS      any               `json:"tls"`
}

type destroyRequest struct {
	ID string `json:"instance_id"`
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "tester:", err)
		os.Exit(1)
	}
}

func refuse(m *nats.Msg, why string) {
	answer := nats.NewMsg(m.Reply)
	answer.Header.Set("Nats-Service-Error", why)
	answer.Header.Set("Nats-Service-Error-Code", "500")
	_ = m.RespondMsg(answer)
}

func answer(m *nats.Msg, what any) {
	data, err := json.Marshal(what)
	check(err)
	_ = m.Respond(data)
}

// The address that a server says, once it listens.
func waitForAddress(out io.Reader) (string, error) {
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "nats://") {
			go func() { _, _ = io.Copy(io.Discard, out) }()
			return lines.Text(), nil
		}
	}
	return "", fmt.Errorf("the server did not start")
}

func (t *tester) start(folder string) (*instance, int, error) {
	command := exec.Command(t.ashlar, "-s", folder, "serve", "--nats", "127.0.0.1:0")
	command.Stderr = os.Stderr
	out, err := command.StdoutPipe()
	if err == nil {
		err = command.Start()
	}
	if err != nil {
		return nil, 0, err
	}
	made := &instance{command, folder}
	address, err := waitForAddress(out)
	if err != nil {
		made.end()
		return nil, 0, err
	}
	where, err := url.Parse(address)
	check(err)
	port, err := strconv.Atoi(where.Port())
	check(err)
	return made, port, nil
}

func (i *instance) end() {
	_ = i.command.Process.Signal(os.Interrupt)
	_ = i.command.Wait()
	_ = os.RemoveAll(i.folder)
}

func (t *tester) create(m *nats.Msg) {
	var asked createRequest
	if err := json.Unmarshal(m.Data, &asked); err != nil {
		refuse(m, err.Error())
		return
	}
	if len(asked.Snippets) > 0 || asked.Template != "" || asked.TLS != nil {
		refuse(m, "ashlar has no configuration of that kind")
		return
	}
	t.mutex.Lock()
	t.count++
	id := fmt.Sprintf("a%d", t.count)
	t.mutex.Unlock()
	made, port, err := t.start(t.folder + "/" + id)
	if err != nil {
		refuse(m, err.Error())
		return
	}
	t.mutex.Lock()
	t.instances[id] = made
	t.mutex.Unlock()
	one := map[string]any{"name": id, "cluster": "", "port": port, "running": true}
	answer(m, map[string]any{"id": id, "kind": "server", "servers": []any{one}})
}

func (t *tester) take(id string) *instance {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	gone := t.instances[id]
	delete(t.instances, id)
	return gone
}

func (t *tester) destroy(m *nats.Msg) {
	var asked destroyRequest
	_ = json.Unmarshal(m.Data, &asked)
	gone := t.take(asked.ID)
	if gone == nil {
		refuse(m, "no such instance")
		return
	}
	gone.end()
	answer(m, map[string]any{"destroyed": true})
}

func main() {
	if len(os.Args) != 3 {
		check(fmt.Errorf("usage: tester ASHLAR FOLDER"))
	}
	t := &tester{ashlar: os.Args[1], folder: os.Args[2], instances: map[string]*instance{}}
	own, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, NoSigs: true, NoLog: true})
	check(err)
	go own.Start()
	if !own.ReadyForConnections(10 * time.Second) {
		check(fmt.Errorf("cannot listen"))
	}
	nc, err := nats.Connect(own.ClientURL())
	check(err)
	for subject, serve := range map[string]func(*nats.Msg){"tester.create.server": t.create, "tester.destroy": t.destroy} {
		_, err = nc.Subscribe(subject, func(m *nats.Msg) { go serve(m) })
		check(err)
	}
	_, err = nc.Subscribe("tester.create.*", func(m *nats.Msg) {
		if m.Subject != "tester.create.server" {
			refuse(m, "ashlar has no clusters")
		}
	})
	check(err)
	check(nc.Flush())
	fmt.Println(own.ClientURL())
	_, _ = io.Copy(io.Discard, os.Stdin)
	for id := range t.instances {
		t.take(id).end()
	}
	own.Shutdown()
}
