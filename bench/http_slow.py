#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Many clients that are connected: a quarter sends a head byte by byte, a quarter takes an answer of many bytes a few at a time, and
half ask now and then.

usage: http_slow.py PORT COUNT SECONDS      prints "there" once all are connected
"""
import resource
import socket
import sys
import time

HEAD = b"ET /small HTTP/1.1\r\nHost: localhost\r\nX-Long: " + b"a" * 4000
WAIT_S = 0.5


def connect(port):
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.connect(("127.0.0.1", port))
    client.settimeout(2)
    return client


def turn(slow, others, number):
    for i, client in enumerate(slow):
        try:
            if i % 2:
                client.recv(256)
            else:
                client.sendall(HEAD[number:number + 1])
        except OSError:
            pass  # the server has had enough of it
    for client in others[number % 20::20]:
        try:
            client.sendall(b"GET /small HTTP/1.1\r\nHost: localhost\r\n\r\n")
            client.recv(65536)
        except OSError:
            pass


def main():
    port, count, seconds = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    resource.setrlimit(resource.RLIMIT_NOFILE, (count + 100, max(count + 100, resource.getrlimit(resource.RLIMIT_NOFILE)[1])))
    slow, others = [connect(port) for _ in range(count // 2)], [connect(port) for _ in range(count // 2)]
    for i, client in enumerate(slow):
        client.sendall(b"GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n" if i % 2 else b"G")
    print("there", flush=True)
    end = time.monotonic() + seconds
    number = 0
    while time.monotonic() < end:
        turn(slow, others, number)
        number += 1
        time.sleep(WAIT_S)


main()
