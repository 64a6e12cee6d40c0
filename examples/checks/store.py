# A store of keys over HTTP that also cleans up now and then, as a job. MODE breaks it: "deaf" lets one key never be
# written again after a crash, "lazy" forgets the job that a crash has cut short, "stuck" hangs in one job of many.
import http.server, json, os, sys, threading, time

mode, path = os.environ.get("MODE", ""), "/var/store.json"
again = os.path.exists(path)
state = json.load(open(path)) if again else {"values": {}, "job": 0, "open": False}


def save():
    with open(path + ".new", "w") as f:
        json.dump(state, f)
        f.flush()
        os.fsync(f.fileno())
    os.rename(path + ".new", path)


def clean():
    if state["open"] and mode != "lazy":
        run()
    while True:
        time.sleep(0.5)
        state["job"], state["open"] = state["job"] + 1, True
        save()
        run()


def run():
    job = state["job"]
    print("cleanup", job, "begins", flush=True)
    if mode == "stuck" and job == 7:
        state["open"] = False
        threading.Thread(target=clean, daemon=True).start()
        time.sleep(1e6)
    time.sleep(0.2)
    state["open"] = False
    save()
    print("cleanup", job, "is done", flush=True)


class Store(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, status, body=b""):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        value = state["values"].get(self.path)
        self.answer(404 if value is None else 200, (value or "").encode())

    def do_PUT(self):
        value = self.rfile.read(int(self.headers["Content-Length"])).decode()
        if mode == "deaf" and again and self.path.endswith("3"):
            return self.answer(503)
        state["values"][self.path] = value
        save()
        self.answer(204)

    def log_message(self, *args):
        pass


threading.Thread(target=clean, daemon=True).start()
http.server.HTTPServer(("", 8080), Store).serve_forever()
