import http.server, os, threading
import greeter

assert greeter.greeting() == os.environ["GREETING"]
values, lock = {}, threading.Lock()


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        with lock:
            value = b"" if self.path == "/health" else values.get(self.path)
        self.send_response(404 if value is None else 200)
        self.send_header("Content-Length", str(len(value or b"")))
        self.end_headers()
        self.wfile.write(value or b"")

    def do_PUT(self):
        value = self.rfile.read(int(self.headers["Content-Length"]))
        with lock:
            values[self.path] = value
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *args):
        pass


http.server.ThreadingHTTPServer(("", 8000), Handler).serve_forever()
