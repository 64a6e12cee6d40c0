# A key-value server whose store is an SQLite database. A PUT is answered when its transaction has been committed.
import os, sqlite3, sys, threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

journal, synchronous = (sys.argv[1:] + ["delete", "extra"])[:2]
os.makedirs("/data", exist_ok=True)
os.fsync(os.open("/", os.O_RDONLY))
db = sqlite3.connect("/data/kv.db", isolation_level=None, check_same_thread=False)
lock = threading.Lock()
db.execute("pragma journal_mode=" + journal)
db.execute("pragma synchronous=" + synchronous)
db.execute("create table if not exists kv (k text primary key, v text)")


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, status, body=b""):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_PUT(self):
        value = self.rfile.read(int(self.headers["Content-Length"])).decode()
        with lock:
            db.execute("insert into kv values (?, ?) on conflict (k) do update set v = excluded.v", (self.path, value))
        self.answer(200)

    def do_GET(self):
        with lock:
            row = db.execute("select v from kv where k = ?", (self.path,)).fetchone()
        self.answer(404) if row is None else self.answer(200, row[0].encode())

    def log_message(self, *args):
        pass


ThreadingHTTPServer(("", 8080), Handler).serve_forever()
