"""Publishes messages at n1 and n2 and waits for each of them at n3, in NATS' own text protocol."""
import json
import os
import socket
import time

report = open(os.environ["BLOODHOUND_REPORT"], "ab", buffering=0)


def say(**record):
    report.write(json.dumps(record).encode() + b"\n")


class Connection:
    def __init__(self, host):
        while True:
            try:
                self.socket = socket.create_connection((host, 4222), timeout=5)
                break
            except OSError:
                time.sleep(0.1)
        self.file = self.socket.makefile("rb")
        self.send('CONNECT {"verbose":false,"pedantic":false}')
        self.send("PING")
        self.until(b"PONG")

    def send(self, line):
        self.socket.sendall(line.encode() + b"\r\n")

    def until(self, start):
        while True:
            line = self.file.readline()
            if not line:
                raise OSError("closed")
            if line.startswith(b"PING"):
                self.send("PONG")
            if line.startswith(start):
                return line


publishers = [Connection("n1"), Connection("n2")]
subscriber = Connection("n3")
subscriber.send("SUB kv.> 1")
subscriber.send("PING")
subscriber.until(b"PONG")
time.sleep(2)  # for the interest to reach all servers

for i in range(60):
    key, value = "k%d" % (i % 4), "v%d" % i
    say(client="c", type="invoke", op="put", key=key, input=value)
    publishers[i % 2].send("PUB kv.%s %d\r\n%s" % (key, len(value), value))
    subscriber.until(b"MSG kv." + key.encode())
    got = subscriber.file.readline().strip().decode()
    if got != value:
        raise SystemExit("sent %s, got %s" % (value, got))
    say(client="c", type="ok")
