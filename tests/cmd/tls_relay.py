#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""TLS before a server that has none: usage: tls_relay.py HOST:PORT PEM   (prints its own address)"""
import socket
import ssl
import sys
import threading


def pump(source, target):
    try:
        while data := source.recv(65536):
            target.sendall(data)
    except OSError:
        pass
    for end in (source, target):
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def serve(context, client, server):
    try:
        inside = context.wrap_socket(client, server_side=True)
    except OSError:
        client.close()
        return
    beyond = socket.create_connection(server)
    threading.Thread(target=pump, args=(inside, beyond), daemon=True).start()
    pump(beyond, inside)


def main():
    host, port = sys.argv[1].rsplit(":", 1)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[2])
    listener = socket.create_server(("127.0.0.1", 0))
    print("127.0.0.1:%d" % listener.getsockname()[1], flush=True)
    while True:
        client, _ = listener.accept()
        threading.Thread(target=serve, args=(context, client, (host, int(port))), daemon=True).start()


main()
