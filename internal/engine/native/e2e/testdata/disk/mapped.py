# A key-value server whose values lie in a file that it has mapped, each in a sector of its own. A PUT changes the map and, with
# "sync", synchronises it (msync(2)).
import mmap, os, sys
from http.server import BaseHTTPRequestHandler, HTTPServer

SECTOR, SLOTS = 512, 10

f = os.open("/store", os.O_RDWR | os.O_CREAT)
if os.fstat(f).st_size == 0:
    os.write(f, bytes(SECTOR * SLOTS))
os.fsync(f)
os.fsync(os.open("/", os.O_RDONLY))
store = mmap.mmap(f, SECTOR * SLOTS)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, status, body=b""):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def slot(self):
        return SECTOR * int(self.path.rsplit("/", 1)[-1].removeprefix("k"))

    def do_PUT(self):
        value = self.rfile.read(int(self.headers["Content-Length"]))
        at = self.slot()
        store[at:at + 2 + len(value)] = len(value).to_bytes(2, "big") + value
        if "sync" in sys.argv:
            store.flush()
        self.answer(200)

    def do_GET(self):
        at = self.slot()
        size = int.from_bytes(store[at:at + 2], "big")
        self.answer(200, store[at + 2:at + 2 + size]) if size else self.answer(404)

    def log_message(self, *args):
        pass


HTTPServer(("", 8080), Handler).serve_forever()
