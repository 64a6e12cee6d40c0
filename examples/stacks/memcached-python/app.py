"""A store of values by key over HTTP. SQLite has the values; memcached caches them."""
import http.server, socket, sqlite3, threading

database = sqlite3.connect("/data/values.db", check_same_thread=False)
# FULL would not make the removal of the journal durable: a power loss could bring it back, and undo an acknowledged write.
database.execute("PRAGMA synchronous = EXTRA")
database.execute("CREATE TABLE IF NOT EXISTS kv (k BLOB PRIMARY KEY, v BLOB)")
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


def look_up(key):
    """Returns the cached value, or None, and the number with which `cas` may store one.

    A key without a value has an empty mark with flag 0. It changes at each put, so a `cas` that arrives late stores nothing."""
    for _ in range(2):
        reply = ask_cache(b"gets %s\r\n" % key, b"END\r\n")
        if reply.startswith(b"VALUE"):
            head, value = reply.split(b"\r\n")[:2]
            flag, number = head.split()[2], head.split()[4]
            return (value if flag == b"1" else None), number
        ask_cache(b"add %s 0 0 0\r\n\r\n" % key, b"\r\n")
    return None, None


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        key = self.path.removeprefix("/kv/").encode()
        with lock:
            value = number = None
            try:
                value, number = look_up(key)
            except OSError:
                pass  # SQLite answers
            if value is None:
                row = database.execute("SELECT v FROM kv WHERE k = ?", (key,)).fetchone()
                if row is None:
                    return self.answer(404)
                value = row[0]
                try:
                    if number:
                        ask_cache(b"cas %s 1 0 %d %s\r\n%s\r\n" % (key, len(value), number, value), b"\r\n")
                except OSError:
                    pass
        self.answer(200, value)

    def do_PUT(self):
        key = self.path.removeprefix("/kv/").encode()
        value = self.rfile.read(int(self.headers["Content-Length"]))
        with lock:
            try:
                # The cached value goes first. If that fails, nothing was written.
                if ask_cache(b"set %s 0 0 0\r\n\r\n" % key, b"\r\n") != b"STORED\r\n":
                    return self.answer(503)
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
