"""Clients that send HTTP requests and record each one for Bloodhound. Edit `perform` for your server."""
import http.client
import json
import os
import random
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


def request(method, path, body=None):
    connection = http.client.HTTPConnection(SERVER, PORT, timeout=1)
    try:
        connection.connect()
    except OSError as e:
        raise Refused(str(e))
    headers = {}
    if isinstance(body, dict):
        body, headers = json.dumps(body), {"Content-Type": "application/json"}
    try:
        connection.request(method, path, body, headers)
        reply = connection.getresponse()
        return reply.status, reply.read().decode()
    except http.client.HTTPException as e:
        raise OSError("no complete reply: %r" % e)
    finally:
        connection.close()


def value_of(text):
    """The value in a body: text, or JSON such as 12, "x" and {"value": "x"}."""
    try:
        body = json.loads(text)
    except ValueError:
        return text
    if isinstance(body, dict) and len(body) == 1:
        body = next(iter(body.values()))
    return body if isinstance(body, str) else json.dumps(body)


def perform(op, key, value):
    """Sends one request. It returns the value that a get read, and None if there is none."""
    # For a server that takes JSON, replace the body `value` by {"value": value}.
    if op == "put":
        status, _ = request("PUT", "/kv/" + key, value)
        if status not in (200, 201, 204):
            raise OSError("status %d" % status)
        return None
    status, text = request("GET", "/kv/" + key)
    if status not in (200, 404):
        raise OSError("status %d" % status)
    return value_of(text) if status == 200 else None
