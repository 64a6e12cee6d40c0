"""A queue over HTTP: POST /enqueue with a message as its body, POST /dequeue answers with the oldest one, or with 204 if there is none. A log on the disk keeps what happened."""
import http.server
import os
import sys

LOG = os.path.join(sys.argv[1], "log")
messages = []
os.makedirs(sys.argv[1], exist_ok=True)
if os.path.exists(LOG):
    for line in open(LOG):
        kind, _, text = line.rstrip("\n").partition(" ")
        if kind == "in":
            messages.append(text)
        elif messages:
            messages.pop(0)
log = open(LOG, "a")


class Handler(http.server.BaseHTTPRequestHandler):
    def answer(self, status, body=b""):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        if self.path == "/enqueue":
            text = self.rfile.read(int(self.headers["Content-Length"])).decode()
            messages.append(text)
            log.write("in " + text + "\n")  # The planted bug: it stays in a buffer of this process, which a crash takes away. To repair it, open the log with buffering=1.
            self.answer(200)
        elif messages:
            log.write("out\n")
            self.answer(200, messages.pop(0).encode())
        else:
            self.answer(204)

    def log_message(self, format, *args):
        pass


http.server.HTTPServer(("", 8080), Handler).serve_forever()
