"""Two producers append messages, and two groups read the log, one of them slowly."""
import json
from clients import Client, run, succeed

offsets = {"fast": 0, "slow": 0}


def produce(client, k, choices):
    value = "%s-%d" % (client.name, k)
    send = lambda: succeed("log", "POST", "/append", value)
    return lambda: client.perform("produce", "events", send, input=value)


def poll(client, group):
    send = lambda: {"output": succeed("log", "GET", "/read?from=%d" % offsets[group])}
    result = client.perform("poll", "events", send, group=group)
    got = json.loads(result["output"]) if result else []
    offsets[group] += len(got)
    return result is not None and not got


def consume(group, every):
    def work(client, k, choices):
        return (lambda: poll(client, group)) if k % every == 0 else (lambda: None)

    return work


def read_back():
    for group in offsets:
        client = Client("end-" + group)
        for _ in range(100):
            if poll(client, group):
                break


run({"a": produce, "b": produce, "f": consume("fast", 1), "s": consume("slow", 10)}, read_back)
