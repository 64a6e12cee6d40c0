"""A key-value service over HTTP: PUT, GET and DELETE /kv/KEY. It keeps each key in a file."""
import http.server
import os
import sys
import urllib.parse

FOLDER = sys.argv[1]


class Handler(http.server.BaseHTTPRequestHandler):
    def path_of(self):
        return os.path.join(FOLDER, urllib.parse.quote(self.path.removeprefix("/kv/"), safe=""))

    def answer(self, status, body=b""):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        try:
            with open(self.path_of(), "rb") as f:
                self.answer(200, f.read())
        except FileNotFoundError:
            self.answer(404)

    def do_PUT(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        new = os.path.join(FOLDER, ".new")
        with open(new, "wb") as f:
            f.write(body)
            # The planted bug: what is acknowledged is not on the disk yet. This repairs it, with the lines below:
            # f.flush()
            # os.fsync(f.fileno())
        os.rename(new, self.path_of())
        # folder = os.open(FOLDER, os.O_RDONLY)
        # os.fsync(folder)
        # os.close(folder)
        self.answer(204)

    def log_message(self, format, *args):
        pass


os.makedirs(FOLDER, exist_ok=True)
http.server.HTTPServer(("", 8080), Handler).serve_forever()
