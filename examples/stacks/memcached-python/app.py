"""A store of values by key over HTTP. SQLite has the values; memcached caches them."""
import http.server, socket, sqlite3, threading

database = sqlite3.connect("/data/values.db", check_same_thread=False)
# FULL would not make the removal of the journal durable: a power loss could bring it back, and undo an acknowledged write.
database.execute("PRAGMA synchronous = EXTRA")
database.execute("CREATE TABLE IF NOT EXISTS kv (k TEXT PRIMARY KEY, v TEXT)")
lock = threading.Lock()


def ask_cache(request, end):
    """Sends a request to memcached and returns its reply, which ends with `end`."""
    with socket.create_connection(("cache", 11211), 0.2) as s:
        s.settimeout(0.2)
        s.sendall(request)
        reply = b""
        while not reply.endswith(end):
            part = s.recv(4096)
            if not part:
                raise OSError("memcached closed the connection")
            reply += part
        return reply


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        key = self.path.removeprefix("/kv/")
        with lock:
            try:
                reply = ask_cache(b"get %s\r\n" % key.encode(), b"END\r\n")
                if reply.startswith(b"VALUE"):
                    return self.answer(200, reply.split(b"\r\n")[1])
            except OSError:
                pass  # SQLite answers
            row = database.execute("SELECT v FROM kv WHERE k = ?", (key,)).fetchone()
            if row is None:
                return self.answer(404)
            value = row[0].encode()
            try:
                ask_cache(b"set %s 0 0 %d\r\n%s\r\n" % (key.encode(), len(value), value), b"\r\n")
            except OSError:
                pass
        self.answer(200, value)

    def do_PUT(self):
        key = self.path.removeprefix("/kv/")
        value = self.rfile.read(int(self.headers["Content-Length"])).decode()
        with lock:
            try:
                # The cached value goes first. If that fails, nothing was written, and the client is told to try again.
                ask_cache(b"delete %s\r\n" % key.encode(), b"\r\n")
            except OSError:
                return self.answer(503)
            with database:
                database.execute("INSERT OR REPLACE INTO kv VALUES (?, ?)", (key, value))
        self.answer(204)

    def answer(self, status, body=b""):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


http.server.ThreadingHTTPServer(("", 8080), Handler).serve_forever()
