"""Four clients run transactions that read lists and append unique values to them."""
import json
from clients import run, succeed


def work(client, k, choices):
    accesses = []
    for i in range(choices.randrange(2, 5)):
        key = choices.randrange(3)
        accesses.append(["r", key, None] if choices.random() < 0.5 else ["append", key, ord(client.name) * 10000 + k * 10 + i])
    text = json.dumps(accesses)
    return lambda: client.perform("txn", "", lambda: {"output": succeed("db", "POST", "/txn", text)}, input=text)


run({"a": work, "b": work, "c": work, "d": work}, lambda: None)
