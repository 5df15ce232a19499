#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Sockets that were opened for the server, and what it tells whoever started it: as systemd does, by a parent of our own.
. "$(dirname "$0")/../lib.sh"
python=/usr/bin/python3
[ -x $python ] || python=python3

case_activation() {
    $python - "$ASHLAR" "$scratch/store" "$scratch" <<'PY'
import http.client, os, signal, socket, subprocess, sys, threading, time
ashlar, store, scratch = sys.argv[1:]
listening = socket.socket()
listening.bind(("127.0.0.1", 0))
listening.listen(50)
port = listening.getsockname()[1]
news = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
news.bind(scratch + "/notify")
news.settimeout(20)

def start(name="http", variables={}, pid="LISTEN_PID=$$"):
    def prepare():
        os.environ["LISTEN_PID"] = str(os.getpid())
        os.dup2(listening.fileno(), 3)
        os.set_inheritable(3, True)
    env = dict(os.environ, LISTEN_FDS="1", LISTEN_FDNAMES=name, NOTIFY_SOCKET=scratch + "/notify", **variables)
    # LISTEN_PID is the child's, which only it knows: a shell says it and becomes the server.
    line = pid + ' exec "$0" -s "$1" serve --mongo 127.0.0.1:0'
    return subprocess.Popen(["/bin/sh", "-c", line, ashlar, store], env=env, preexec_fn=prepare, close_fds=False,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

def hear(wanted):
    while (said := news.recv(1000)).split(b"\n")[0] != wanted:
        assert said in (b"WATCHDOG=1", b"STOPPING=1"), said
    return said.decode()

def put(name):
    c = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    c.request("PUT", "/" + name, b"x")
    return c.getresponse().status

server = start()
status = hear(b"READY=1").split("\n")[1]
assert status.startswith("STATUS=Serving mongodb://127.0.0.1:") and status.endswith(f" http://127.0.0.1:{port}/"), status
assert "socket" not in status, status
assert put("a") == 201
assert f"http://127.0.0.1:{port}/" in [server.stdout.readline().strip(), server.stdout.readline().strip()]

# A restart beside clients: nobody is refused, and what was acknowledged is there.
done, statuses, names = threading.Event(), [], []
def client(k):
    i = 0
    while not done.is_set():
        name = f"c{k}-{i}"
        try:
            if put(name) == 201:
                names.append(name)
        except ConnectionRefusedError:
            statuses.append("refused")
        except (http.client.HTTPException, OSError):
            pass  # an answer that the stop cut off acknowledged nothing
        i += 1
threads = [threading.Thread(target=client, args=(k,)) for k in range(4)]
for t in threads:
    t.start()
for _ in range(2):
    time.sleep(0.5)
    server.send_signal(signal.SIGTERM)
    hear(b"STOPPING=1")
    assert server.wait(30) in (0, -signal.SIGTERM), server.stderr.read()
    server = start("ashlar-http.socket", {"WATCHDOG_USEC": "400000"})
    hear(b"READY=1")
time.sleep(0.5)
hear(b"WATCHDOG=1")
done.set()
for t in threads:
    t.join()
assert not statuses and len(names) > 20, (statuses, len(names))
for name in names:
    c = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    c.request("GET", "/" + name)
    assert c.getresponse().read() == b"x", name
server.terminate()
assert server.wait(30) in (0, -signal.SIGTERM)

# What was given for something else is not taken.
server = start("other")
hear(b"READY=1")
server.terminate()
assert "http://" not in server.stdout.read()
assert "nobody listens on fd:3, a socket that was given" in server.stderr.read()
server.wait()

# Nor is what was given to a parent, which says so by its own number.
server = start("http", {}, "LISTEN_PID=1")
hear(b"READY=1")
server.terminate()
assert "http://" not in server.stdout.read()
assert "nobody listens" not in server.stderr.read()
server.wait()
PY
}

# The real one, where it is; it does the same.
case_activation_by_systemd() {
    activate=$(command -v systemd-socket-activate || ls /usr/bin/systemd-socket-activate 2>/dev/null) ||
        skip 'no systemd-socket-activate'
    port=$($python -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    "$activate" -l "127.0.0.1:$port" --fdname=http "$ASHLAR" -s "$scratch/by-systemd" serve --mongo 127.0.0.1:0 \
        >"$scratch/out" 2>"$scratch/server.err" &
    server_pid=$!
    echo $server_pid >>"$scratch/pids"
    # It starts the server when somebody connects, who waits for it.
    $python - "$port" <<'PY'
import http.client, sys, time
for i in range(100):
    try:
        c = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]), timeout=30)
        c.request("PUT", "/a", b"x")
        break
    except ConnectionRefusedError:
        time.sleep(0.1) # it does not listen yet
assert c.getresponse().status == 201
PY
    grep -q "^http://127.0.0.1:$port/\$" "$scratch/out"
    stop_server
}

# What a stop finds being answered is answered to its end.
case_a_stop_finishes_answers() {
    $python - "$ASHLAR" "$scratch/answers" <<'PY'
import http.client, signal, subprocess, sys
server = subprocess.Popen([sys.argv[1], "-s", sys.argv[2], "serve", "--mongo", "127.0.0.1:0", "--http", "127.0.0.1:0",
                           "--stop-timeout", "10m"],
                          stdout=subprocess.PIPE, text=True)
server.stdout.readline()
port = int(server.stdout.readline().strip().rstrip("/").rsplit(":", 1)[1])
size = 64 * 1024 * 1024
c = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
c.request("PUT", "/large", bytes(size))
assert c.getresponse().read() is not None
c.close()
c = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
c.request("GET", "/large")
answer = c.getresponse()
got = len(answer.read(1000))
server.send_signal(signal.SIGTERM)
while part := answer.read(1 << 20):
    got += len(part)
assert got == size, got
assert server.wait(30) == 0
try:
    http.client.HTTPConnection("127.0.0.1", port, timeout=5).connect()
    sys.exit("somebody still listens")
except ConnectionRefusedError:
    pass
PY
}

case_what_is_refused() {
    fails "$ASHLAR" -s "$scratch/no" serve --mongo 127.0.0.1:0 --http fd:77 2>"$scratch/words"
    grep -q 'fd:77: it is no socket that listens' "$scratch/words"
    fails "$ASHLAR" -s "$scratch/no" serve --mongo 127.0.0.1:0 --http fd:x 2>"$scratch/words"
    grep -q 'not the number of a socket' "$scratch/words"
    expect_status 2 "$ASHLAR" -s "$scratch/no" serve --mongo fd:5 --http fd:4,fd:5
    grep -q 'fd:5 is to be listened on twice' "$scratch/err"
    # The rule of who may listen where is for given ones as well.
    $python - "$ASHLAR" "$scratch/no" >"$scratch/words" 2>&1 <<'PY' || true
import os, socket, sys
s = socket.socket()
s.bind(("0.0.0.0", 0))
s.listen()
os.dup2(s.fileno(), 9)
os.set_inheritable(9, True)
os.execv(sys.argv[1], [sys.argv[1], "-s", sys.argv[2], "serve", "--mongo", "127.0.0.1:0", "--http", "fd:9"])
PY
    grep -q 'fd:9: clients may not have to sign in, or can be overheard, so only loopback addresses' "$scratch/words"
}

run_cases
