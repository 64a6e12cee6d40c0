"""Clients publish retained messages with QoS 1 and read them back, by mosquitto_pub and mosquitto_sub, and report each operation."""
import json, os, random, subprocess, sys, threading, time

CLIENTS, OPERATIONS, TOPICS, PAUSE_S = 3, 25, 3, 0.25
report = open(os.environ["BLOODHOUND_REPORT"], "ab", buffering=0)  # one write for each record
skip = json.loads(os.environ.get("BLOODHOUND_SKIP") or "[]")


def say(**record):
    report.write(json.dumps(record).encode() + b"\n")


def is_skipped(client, k):
    return any(s["client"] == client and s["from"] <= k and (not s.get("to") or k < s["to"]) for s in skip)


def call(program, topic, *arguments):
    """Runs one client of the broker. timeout ends a client that gets no answer."""
    command = ["timeout", "2", program, "-h", "broker", "-t", topic, "-q", "1", *arguments]
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)


def perform(who, op, topic, value=None):
    """Performs and reports one operation. Returns False where the outcome is unknown."""
    say(client=who, type="invoke", op=op, key=topic, input=value)
    if op == "put":
        done = call("mosquitto_pub", topic, "-r", "-m", value)
    else:
        # -W 1: no retained message within a second. mosquitto_sub then ends with code 27.
        done = call("mosquitto_sub", topic, "-C", "1", "-W", "1")
    if done.returncode == 0:
        say(client=who, type="ok", op=op, output=done.stdout.strip() or None)
        return True
    say(client=who, type="info", op=op, error="exit code %d: %s" % (done.returncode, done.stderr.strip()))
    return False


def client(name, chance):
    start, life = time.monotonic(), 0
    for k in range(OPERATIONS):
        op, topic = chance.choice(["put", "get"]), "t%d" % chance.randrange(TOPICS)
        due = start + (k + chance.random()) * PAUSE_S
        if is_skipped(name, k):
            continue
        time.sleep(max(0, due - time.monotonic()))
        if not perform("%s.%d" % (name, life), op, topic, "%s-%d" % (name, k) if op == "put" else None):
            life += 1  # the old operation may still be under way


for topic in range(TOPICS):
    perform("setup.%d" % topic, "put", "t%d" % topic, "setup-%d" % topic)
clients = [threading.Thread(target=client, args=("c%d" % i, random.Random(int.from_bytes(os.urandom(8), "big")))) for i in range(CLIENTS)]
say(type="ready")  # faults begin
for c in clients:
    c.start()
for c in clients:
    c.join()
say(type="done")  # faults end
sys.stdin.readline()  # the world has settled
say(type="check")
for topic in range(TOPICS):
    perform("reader.%d" % topic, "get", "t%d" % topic)
