"""Two clients send messages, and two receive them and acknowledge each."""
import time
from clients import Client, request, run, succeed


def send(client, k, choices):
    value = "%s-%d" % (client.name, k)
    return lambda: client.perform("send", "jobs", lambda: succeed("queue", "POST", "/enqueue", value), input=value)


def take():
    status, text = request("queue", "POST", "/dequeue")
    if status not in (200, 404):
        raise OSError("status %d" % status)
    return {"output": text} if status == 200 else {}


def receive(client):
    result = client.perform("receive", "jobs", take, group="workers")
    if result:
        acknowledge = lambda: succeed("queue", "POST", "/ack", result["output"])
        client.perform("ack", "jobs", acknowledge, input=result["output"], group="workers")
    return result == {}


def work(client, k, choices):
    return lambda: receive(client)


def read_back():
    client, empty = Client("end"), 0
    while empty < 2:
        if receive(client):
            empty += 1
            time.sleep(1.5)  # a message that was leased may come again


run({"a": send, "b": send, "c": work, "d": work}, read_back)
