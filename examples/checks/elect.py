# A node of a group that elects a leader: the first of those that hear each other. NEEDS says how many nodes must hear each
# other for that, "majority" or "all"; with all, one node that is down leaves the group without a leader.
import http.server, os, socket, threading, time

nodes = os.environ["NODES"].split()
me = os.environ["NODE"]
needs = len(nodes) if os.environ.get("NEEDS") == "all" else len(nodes) // 2 + 1
heard = {}
values = {}


def send():
    out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    while True:
        for node in nodes:
            try:
                out.sendto(me.encode(), (node, 7000))
            except OSError:
                pass
        time.sleep(0.5)


def listen():
    box = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    box.bind(("", 7000))
    while True:
        name = box.recv(64).decode()
        heard[name] = time.monotonic()


def leader():
    now = time.monotonic()
    alive = sorted(node for node, at in heard.items() if now - at < 2)
    return alive[0] if len(alive) >= needs else None


class Node(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, status, body=b""):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        now = leader()
        self.answer(200 if now else 503, (now or "").encode())

    def do_PUT(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.answer(204 if leader() else 503)

    def log_message(self, *args):
        pass


for work in send, listen:
    threading.Thread(target=work, daemon=True).start()
http.server.ThreadingHTTPServer(("", 8080), Node).serve_forever()
