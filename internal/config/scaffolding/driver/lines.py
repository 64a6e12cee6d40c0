"""Clients that send lines of text and record each request for Bloodhound. Edit `perform` for your server."""
import json
import os
import random
import socket
import sys
import threading
import time

SERVER, PORT = "n1", 8080
CLIENTS, OPERATIONS, PAUSE_S = 4, 200, 0.1
KEYS = ["k0", "k1", "k2", "k3", "k4"]
report = open(os.environ["BLOODHOUND_REPORT"], "ab", buffering=0)  # unbuffered: one write for each record
skipped = json.loads(os.environ.get("BLOODHOUND_SKIP") or "[]")


class Refused(Exception):
    """The server has certainly done nothing."""


def request(line):
    try:
        connection = socket.create_connection((SERVER, PORT), timeout=1)
    except OSError as e:
        raise Refused(str(e))
    with connection:
        connection.sendall(line.encode() + b"\n")
        reply = connection.makefile().readline()
    if not reply.endswith("\n"):
        raise OSError("the connection ended before the end of the reply")
    return reply.rstrip("\n")


def perform(op, key, value):
    """Sends one request. It returns the value that a get read, and None if there is none."""
    if op == "put":
        reply = request("SET %s %s" % (key, value))
        if reply != "OK":
            raise OSError(reply)
        return None
    kind, _, text = request("GET %s" % key).partition(" ")
    if kind not in ("VALUE", "NONE"):
        raise OSError(kind + " " + text)
    return text if kind == "VALUE" else None
