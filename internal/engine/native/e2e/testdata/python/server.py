"""A key-value store over HTTP: GET, PUT and DELETE of /kv/KEY, each connection in a thread of its own."""
import http.server
import random
import threading
import time

store, lock = {}, threading.Lock()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, status, body=b""):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        with lock:
            value = store.get(self.path)
        self.answer(404) if value is None else self.answer(200, value)

    def do_PUT(self):
        value = self.rfile.read(int(self.headers["Content-Length"]))
        time.sleep(random.uniform(0, 0.002))
        with lock:
            store[self.path] = value
        self.answer(204)

    def do_DELETE(self):
        with lock:
            known = store.pop(self.path, None) is not None
        self.answer(204 if known else 404)


server = http.server.ThreadingHTTPServer(("", 8080), Handler)
open("/tmp/listens", "w").close()
server.serve_forever()
