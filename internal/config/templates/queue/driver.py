"""Clients that put numbered messages into the queue and take them out, and record each operation."""
import http.client
import json
import os
import threading
import time

CLIENTS, OPERATIONS, PAUSE_S = 3, 40, 0.1
report = open(os.environ["BLOODHOUND_REPORT"], "ab", buffering=0)  # one write for each record


def say(**record):
    report.write(json.dumps(record).encode() + b"\n")


def perform(who, op, text):
    """Performs and records one operation. It returns False where the outcome is unknown."""
    say(client=who, type="invoke", op=op, key="queue", input=text)
    connection = http.client.HTTPConnection("queue", 8080, timeout=1)
    try:
        connection.request("POST", "/" + op, body=text)
        reply = connection.getresponse()
        say(client=who, type="ok", op=op, key="queue", output=reply.read().decode(), found=reply.status == 200)
    except ConnectionRefusedError as e:
        say(client=who, type="fail", op=op, key="queue", error=str(e))
    except (OSError, http.client.HTTPException) as e:
        say(client=who, type="info", op=op, key="queue", error=str(e))
        return False
    finally:
        connection.close()
    return True


def client(name):
    life = 0
    for k in range(OPERATIONS):
        who = "%s.%d" % (name, life)  # one with an operation of unknown outcome goes on as another
        done = perform(who, "enqueue", "%s-%d" % (name, k)) if k % 2 == 0 else perform(who, "dequeue", "")
        life += not done
        time.sleep(PAUSE_S)


clients = [threading.Thread(target=client, args=("c%d" % i,)) for i in range(CLIENTS)]
for c in clients:
    c.start()
for c in clients:
    c.join()
