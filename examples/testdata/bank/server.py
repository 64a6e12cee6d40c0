"""A bank over SQLite. A transfer is two commits, so a crash between them loses money."""
import json
import os
import sqlite3
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

DB = os.environ.get("BANK_DB", "bank.db")


def connect():
    return sqlite3.connect(DB, timeout=5, isolation_level=None)


def setup():
    db = connect()
    db.execute("CREATE TABLE IF NOT EXISTS accounts (id TEXT PRIMARY KEY, balance INTEGER NOT NULL)")
    for name in ("alice", "bob", "carol", "dave"):
        db.execute("INSERT OR IGNORE INTO accounts VALUES (?, 100)", (name,))
    db.close()


def balance(account):
    db = connect()
    row = db.execute("SELECT balance FROM accounts WHERE id = ?", (account,)).fetchone()
    db.close()
    return row[0] if row else None


def transfer(source, target, amount):
    db = connect()
    try:
        row = db.execute("SELECT balance FROM accounts WHERE id = ?", (source,)).fetchone()
        if row is None or row[0] < amount:
            return False
        db.execute("UPDATE accounts SET balance = balance - ? WHERE id = ?", (amount, source))
        db.execute("UPDATE accounts SET balance = balance + ? WHERE id = ?", (amount, target))
        return True
    finally:
        db.close()


class Handler(BaseHTTPRequestHandler):
    def reply(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        if self.path.startswith("/balance/"):
            found = balance(self.path[len("/balance/"):])
            if found is None:
                return self.reply(404, {"error": "no such account"})
            return self.reply(200, found)
        self.reply(404, {"error": "not found"})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/transfer":
            if transfer(body["from"], body["to"], body["amount"]):
                return self.reply(200, {"ok": True})
            return self.reply(409, {"error": "insufficient funds"})
        self.reply(404, {"error": "not found"})


if __name__ == "__main__":
    setup()
    ThreadingHTTPServer(("0.0.0.0", int(os.environ.get("PORT", "8080"))), Handler).serve_forever()
