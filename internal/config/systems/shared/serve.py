"""Parts of the servers: an HTTP server around a function, and a log on the disk."""
import http.server
import os
import sys
import urllib.parse

FIXED = "--fixed" in sys.argv  # without the planted bug


def serve(handle):
    """Serves handle(method, path, query, body), which returns a status and a text, on port 8080."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def answer(self):
            address = urllib.parse.urlsplit(self.path)
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
            status, text = handle(self.command, address.path, dict(urllib.parse.parse_qsl(address.query)), body)
            data = text.encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_PUT = do_POST = do_DELETE = answer

        def log_message(self, format, *args):
            pass

    http.server.ThreadingHTTPServer(("", 8080), Handler).serve_forever()


class Log:
    """A file of lines. A line that was cut by a crash is left out, and removed."""

    def __init__(self, path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        made = not os.path.exists(path)
        self.file = open(path, "a+b")
        self.file.seek(0)
        text = self.file.read()
        whole = text[: text.rfind(b"\n") + 1]
        self.lines = whole.decode().splitlines()
        self.file.truncate(len(whole))
        self.file.seek(0, os.SEEK_END)
        if made:
            sync_folder(os.path.dirname(path))

    def append(self, line, sync=True):
        """Writes a line, and waits until the disk has it. Without sync, it may stay in memory."""
        self.file.write(line.encode() + b"\n")
        if sync:
            self.file.flush()
            os.fsync(self.file.fileno())


def sync_folder(path):
    """Waits until the disk has the names of the files in a folder."""
    folder = os.open(path, os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)
