"""Publishes messages to a JetStream stream of three replicas, and reads at the end what the stream has kept."""
import base64, itertools, json, os, socket, sys, threading, time

SERVERS, MESSAGES, PAUSE_S = ["n1", "n2", "n3"], 40, 0.5  # messages of each client
NO_STREAM, NO_MESSAGE = 10059, 10037  # codes of JetStream's errors
skips = json.loads(os.environ.get("BLOODHOUND_SKIP", "[]"))
report, inboxes = open(os.environ["BLOODHOUND_REPORT"], "ab", buffering=0), itertools.count()

def say(**record):
    report.write(json.dumps(record).encode() + b"\n")

def request(server, subject, payload=b""):
    """Sends a request on a connection of its own, and returns the answer; it is empty if none came."""
    inbox = f"_INBOX.{os.getpid()}.{next(inboxes)}"
    try:
        with socket.create_connection((server, 4222), 2) as s, s.makefile("rb") as lines:
            s.sendall(b'CONNECT {"headers":true,"no_responders":true,"verbose":false}\r\n')
            s.sendall(f"SUB {inbox} 1\r\nPUB {subject} {inbox} {len(payload)}\r\n".encode() + payload + b"\r\n")
            for line in lines:
                if line.startswith((b"MSG", b"HMSG")):
                    return json.loads(lines.read(int(line.split()[-1])))
    except (OSError, ValueError):
        pass
    return {}

def publish(client, server):
    start = time.monotonic()
    for k in range(MESSAGES):
        time.sleep(max(0, start + k * PAUSE_S - time.monotonic()))
        if any(s["client"] == f"c{client}" and s["from"] <= k < (s.get("to") or MESSAGES) for s in skips):
            continue
        name = f"c{client}.{k}"  # one for each operation, since one without an answer stays open
        say(client=name, type="invoke", op="add", key="log", input=name, node=server)
        answer = request(server, f"log.{client}", name.encode())
        say(client=name, type="ok" if "seq" in answer and "error" not in answer else "info")

def kept(server):
    """Reads the stream by its leader; None if it does not answer."""
    info = request(server, "$JS.API.STREAM.INFO.log")
    if "state" not in info:
        return [] if info.get("error", {}).get("err_code") == NO_STREAM else None
    numbers = range(info["state"]["first_seq"], info["state"]["last_seq"] + 1)
    got = [request(server, "$JS.API.STREAM.MSG.GET.log", b'{"seq":%d}' % n) for n in numbers]
    there = [m for m in got if m.get("error", {}).get("err_code") != NO_MESSAGE]
    return [base64.b64decode(m["message"]["data"]).decode() for m in there] if all("message" in m for m in there) else None

while "config" not in request("n1", "$JS.API.STREAM.CREATE.log", b'{"name":"log","subjects":["log.*"],"num_replicas":3}'):
    time.sleep(0.2)
say(type="ready")
clients = [threading.Thread(target=publish, args=client) for client in enumerate(SERVERS)]
[c.start() for c in clients], [c.join() for c in clients]
say(type="done")
sys.stdin.readline()  # the line "check": the world has settled
say(type="check")
for i, server in enumerate(SERVERS * 20):
    say(client=f"reader.{i}", type="invoke", op="read", key="log", node=server)
    values = kept(server)
    say(client=f"reader.{i}", type="info" if values is None else "ok", **({} if values is None else {"output": json.dumps(values)}))
    if values: break
    time.sleep(0.2)
