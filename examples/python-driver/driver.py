"""A driver that says where it is, and whose runs can be made smaller (docs/how-to/write-a-driver.md).

It leaves out the operations that BLOODHOUND_SKIP names. What it leaves out costs it the same random numbers and the same pause, so that all
other operations stay what and when they were."""
import json, os, random, socket, sys, threading, time

CLIENTS, OPERATIONS, KEYS, PAUSE_S, TIMEOUT_S = 4, 60, 4, 0.1, 0.5
address = (sys.argv[1], 7000)
report = open(os.environ["BLOODHOUND_REPORT"], "ab", buffering=0)  # one write for each record
skip = json.loads(os.environ.get("BLOODHOUND_SKIP") or "[]")


def say(**record):
    report.write(json.dumps(record).encode() + b"\n")


def left_out(client, k):
    return any(s["client"] == client and s["from"] <= k and (not s.get("to") or k < s["to"]) for s in skip)


def ask(line):
    with socket.create_connection(address, TIMEOUT_S) as s:
        s.settimeout(TIMEOUT_S)
        s.sendall(line.encode())
        reply = s.recv(4096).decode().split()
        if not reply:
            raise OSError("no answer")
        return reply


def perform(who, op, key, value=None):
    """Performs and reports one operation. It returns False where the outcome is unknown."""
    say(client=who, type="invoke", op=op, key=key, input=value)
    try:
        reply = ask(" ".join(filter(None, [op, key, value])))
        say(client=who, type="ok", op=op, output=reply[1] if reply[0] == "value" else None)
    except ConnectionRefusedError as e:
        say(client=who, type="fail", op=op, error=str(e))
    except OSError as e:
        say(client=who, type="info", op=op, error=str(e))
        return False
    return True


def client(name, chance):
    start, life = time.monotonic(), 0
    for k in range(OPERATIONS):
        op, key = chance.choice(["put", "get"]), "k%d" % chance.randrange(KEYS)
        due = start + (k + chance.random()) * PAUSE_S
        value = "%s-%d" % (name, k) if op == "put" else None
        if left_out(name, k):
            continue
        time.sleep(max(0, due - time.monotonic()))
        who = "%s.%d" % (name, life)  # one with an operation of unknown outcome goes on as another
        if not perform(who, op, key, value):
            life += 1


clients = [threading.Thread(target=client, args=("c%d" % i, random.Random(int.from_bytes(os.urandom(8), "big")))) for i in range(CLIENTS)]
say(type="ready")  # faults begin
for c in clients:
    c.start()
for c in clients:
    c.join()
say(type="done")  # faults end
sys.stdin.readline()  # a line comes when the store has settled
say(type="check")
for k in range(KEYS):
    perform("reader.%d" % k, "get", "k%d" % k)
