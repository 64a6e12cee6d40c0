# A key-value server that keeps each value in a file of its own. A PUT writes a new file, synchronises it, and renames it
# over the old one; with "dir" it synchronises the directory too, without "file" not even the file.
import os, sys
from http.server import BaseHTTPRequestHandler, HTTPServer

os.makedirs("/data", exist_ok=True)
folder = os.open("/data", os.O_RDONLY)
os.fsync(os.open("/", os.O_RDONLY))


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, status, body=b""):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def name(self):
        return "/data/" + self.path.strip("/").replace("/", "_")

    def do_PUT(self):
        value = self.rfile.read(int(self.headers["Content-Length"]))
        name = self.name()
        with open(name + ".new", "wb") as f:
            f.write(value)
            f.flush()
            if "file" in sys.argv:
                os.fsync(f.fileno())
        os.rename(name + ".new", name)
        if "dir" in sys.argv:
            os.fsync(folder)
        self.answer(200)

    def do_GET(self):
        try:
            with open(self.name(), "rb") as f:
                self.answer(200, f.read())
        except FileNotFoundError:
            self.answer(404)

    def log_message(self, *args):
        pass


HTTPServer(("", 8080), Handler).serve_forever()
