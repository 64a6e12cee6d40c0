"""Accounts over HTTP: POST /ACCOUNT with an amount adds to its balance, GET /ACCOUNT reads it. Both answer with the balance, which a database of SQLite keeps."""
import contextlib
import http.server
import os
import sqlite3
import sys

DATABASE = os.path.join(sys.argv[1], "bank.db")
BALANCE = "SELECT balance FROM accounts WHERE name = ?"


class Handler(http.server.BaseHTTPRequestHandler):
    def answer(self, balance):
        body = str(balance).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        with contextlib.closing(sqlite3.connect(DATABASE)) as db:
            row = db.execute(BALANCE, (self.path,)).fetchone() or (0,)
        self.answer(row[0])

    def do_POST(self):
        amount = int(self.rfile.read(int(self.headers["Content-Length"])))
        with contextlib.closing(sqlite3.connect(DATABASE)) as db:
            with db:  # commits at its end
                # The planted bug: the transaction begins with the first change, so another request may change the balance after this one has read it. This repairs it:
                # db.execute("BEGIN IMMEDIATE")
                row = db.execute(BALANCE, (self.path,)).fetchone() or (0,)
                db.execute("INSERT OR REPLACE INTO accounts VALUES (?, ?)", (self.path, row[0] + amount))
        self.answer(row[0] + amount)

    def log_message(self, format, *args):
        pass


os.makedirs(sys.argv[1], exist_ok=True)
with contextlib.closing(sqlite3.connect(DATABASE)) as db:
    db.execute("CREATE TABLE IF NOT EXISTS accounts (name TEXT PRIMARY KEY, balance INTEGER)")
http.server.ThreadingHTTPServer(("", 8080), Handler).serve_forever()
