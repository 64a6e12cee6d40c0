"""Clients that deposit and read balances, and record each operation."""
import http.client
import json
import os
import threading
import time

CLIENTS, OPERATIONS, PAUSE_S = 3, 30, 0.05
ACCOUNTS = ["alice", "bob"]
report = open(os.environ["BLOODHOUND_REPORT"], "ab", buffering=0)  # one write for each record


def say(**record):
    report.write(json.dumps(record).encode() + b"\n")


def perform(who, op, account):
    """Performs and records one operation. It returns False where the outcome is unknown."""
    say(client=who, type="invoke", op=op, key=account, input="1" if op == "add" else "")
    connection = http.client.HTTPConnection("bank", 8080, timeout=10)
    try:
        if op == "add":
            connection.request("POST", "/" + account, body="1")
        else:
            connection.request("GET", "/" + account)
        reply = connection.getresponse()
        say(client=who, type="ok" if reply.status == 200 else "info", op=op, key=account, output=reply.read().decode(), found=True)
        return reply.status == 200
    except ConnectionRefusedError as e:
        say(client=who, type="fail", op=op, key=account, error=str(e))
    except (OSError, http.client.HTTPException) as e:
        say(client=who, type="info", op=op, key=account, error=str(e))
        return False
    finally:
        connection.close()
    return True


def client(name):
    life = 0
    for k in range(OPERATIONS):
        who = "%s.%d" % (name, life)  # one with an operation of unknown outcome goes on as another
        done = perform(who, "read" if k % 3 == 2 else "add", ACCOUNTS[k // 3 % 2])
        life += not done
        time.sleep(PAUSE_S)


clients = [threading.Thread(target=client, args=("c%d" % i,)) for i in range(CLIENTS)]
for c in clients:
    c.start()
for c in clients:
    c.join()
