"""A key-value store over HTTP, PUT and GET /kv/KEY, on nodes that agree on a log as in "In Search of an Understandable Consensus Algorithm" (Ongaro and Ousterhout, 2014).

Only a leader answers. Each PUT and each GET is an entry of the log, and takes effect when a majority of the nodes has it. Nodes send each other datagrams.
"""
import http.server
import json
import os
import random
import socket
import sys
import threading
import time

ME, NODES, FILE = sys.argv[1], sys.argv[2].split(","), os.path.join(sys.argv[3], "state")
PEERS = [n for n in NODES if n != ME]
PORT, TICK_S, ELECTION_S, ANSWER_S, BATCH = 7000, 0.05, (0.3, 0.6), 1, 50


class Node:
    """The state of this node. Term, vote and log are on the disk before another node learns of them."""

    def __init__(self):
        self.term, self.vote, self.log = 0, None, []  # an entry is [term, key, value], without a value for a GET
        if os.path.exists(FILE):
            with open(FILE) as f:
                self.term, self.vote, self.log = json.load(f)
        self.role, self.committed = "follower", 0
        self.votes, self.held = set(), {}  # of a candidate: who votes for it; of a leader: how many of its entries a peer has
        self.wait()

    def save(self):
        with open(FILE + ".new", "w") as f:
            json.dump([self.term, self.vote, self.log], f)
            f.flush()
            os.fsync(f.fileno())
        os.rename(FILE + ".new", FILE)
        folder = os.open(os.path.dirname(FILE), os.O_RDONLY)
        os.fsync(folder)
        os.close(folder)

    def wait(self):
        self.deadline = time.monotonic() + random.uniform(*ELECTION_S)

    def last(self):
        return [self.log[-1][0] if self.log else 0, len(self.log)]

    def append(self, key, value):
        self.log.append([self.term, key, value])
        self.save()
        return len(self.log)

    def tick(self):
        if self.role != "leader" and time.monotonic() >= self.deadline:
            self.term, self.vote, self.role, self.votes = self.term + 1, ME, "candidate", {ME}
            self.save()
            self.wait()
        for peer in PEERS:
            if self.role == "candidate":
                self.send(peer, kind="ask", last=self.last())
            elif self.role == "leader":
                self.replicate(peer)

    def replicate(self, peer):
        begin = self.held.get(peer, 0)
        self.send(peer, kind="entries", begin=begin, entries=self.log[begin:begin + BATCH])

    def send(self, peer, **message):
        try:
            wire.sendto(json.dumps(dict(message, sender=ME, term=self.term)).encode(), (addresses[peer], PORT))
        except OSError:
            pass  # as a datagram that is lost

    def receive(self, sender, term, kind, last=None, begin=0, entries=(), count=0):
        if term > self.term:
            self.term, self.vote, self.role = term, None, "follower"
            self.save()
        if term < self.term:
            return
        if kind == "ask":
            granted = self.vote in (None, sender)
            # The planted bug: a candidate gets votes although it lacks entries that a majority has. This repairs it:
            # granted = granted and last >= self.last()
            if granted:
                self.vote = sender
                self.save()
                self.wait()
                self.send(sender, kind="vote")
        elif kind == "vote" and self.role == "candidate":
            self.votes.add(sender)
            if len(self.votes) > len(NODES) // 2:
                self.role, self.held = "leader", {}
        elif kind == "entries":
            self.role = "follower"
            self.wait()
            end = begin + len(entries)
            if self.log[begin:end] != entries:
                self.log[begin:] = entries  # this node has confirmed to this leader those before
                self.save()
            self.send(sender, kind="held", count=end)
        elif kind == "held" and self.role == "leader" and count > self.held.get(sender, 0):
            self.held[sender] = count
            majority = sorted([len(self.log)] + [self.held.get(p, 0) for p in PEERS], reverse=True)[len(NODES) // 2]
            if majority > self.committed and self.log[majority - 1][0] == self.term:
                self.committed = majority
            self.replicate(sender)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, status, body=b""):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def perform(self, value):
        """Appends an entry, and returns the status and the key's value at that place of the log."""
        with changed:
            if node.role != "leader":
                return 421, None
            term, place = node.term, node.append(self.path, value)
            changed.wait_for(lambda: node.committed >= place or node.term != term, ANSWER_S)
            if node.committed < place or node.term != term:
                return 503, None  # the outcome is unknown
            return 200, next((v for _, k, v in reversed(node.log[:place]) if k == self.path and v is not None), None)

    def do_GET(self):
        status, value = self.perform(None)
        if status == 200 and value is None:
            status = 404
        self.answer(status, (value or "").encode())

    def do_PUT(self):
        status, _ = self.perform(self.rfile.read(int(self.headers["Content-Length"])).decode())
        self.answer(status)

    def log_message(self, format, *args):
        pass


def take_part():
    due = time.monotonic()
    while True:
        wire.settimeout(max(due - time.monotonic(), 0.001))
        try:
            message = json.loads(wire.recv(65536))
        except OSError:
            message = None
        with changed:
            if message:
                node.receive(**message)
            if time.monotonic() >= due:
                node.tick()
                due = time.monotonic() + TICK_S
            changed.notify_all()


os.makedirs(os.path.dirname(FILE), exist_ok=True)
addresses = {p: socket.gethostbyname(p) for p in PEERS}
wire = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
wire.bind(("", PORT))
changed = threading.Condition()  # guards the node
node = Node()
threading.Thread(target=take_part, daemon=True).start()
http.server.ThreadingHTTPServer(("", 8080), Handler).serve_forever()
