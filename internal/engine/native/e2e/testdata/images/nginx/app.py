"""A store of texts behind the proxy: PUT and GET of a path."""
import http.server
import threading

store, lock = {}, threading.Lock()


class Handler(http.server.BaseHTTPRequestHandler):
    def answer(self, status, body=b""):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        if self.path == "/health":
            return self.answer(200)
        with lock:
            body = store.get(self.path)
        self.answer(404) if body is None else self.answer(200, body)

    def do_PUT(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        with lock:
            store[self.path] = body
        self.answer(200)

    def log_message(self, *_):
        pass


http.server.ThreadingHTTPServer(("", 8000), Handler).serve_forever()
