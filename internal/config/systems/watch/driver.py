"""Two clients write keys, and two watch all keys and observe the changes."""
import json
from clients import run, succeed

watchers = {}


def write(client, k, choices):
    key, value = "k%d" % choices.randrange(3), "%s-%d" % (client.name, k)
    send = lambda: {"output": succeed("store", "PUT", "/kv/" + key, value)}
    return lambda: client.perform("put", key, send, input=value)


def observe(client, k, choices):
    def act():
        state = watchers.setdefault(client.name, {"client": client, "life": -1, "next": 1})
        if state["life"] != client.life:  # a watch of its own for each name
            state["life"] = client.life
            client.perform("watch", "k*", lambda: {}, input=str(state["next"]))
        result = client.perform("observe", "", lambda: {"output": succeed("store", "GET", "/events?from=%d" % state["next"])})
        seen = json.loads(result["output"]) if result else []
        if seen:
            state["next"] = seen[-1]["revision"] + 1
        return result and not seen

    return act


def read_back():
    for name in sorted(watchers):
        for _ in range(10):
            if observe(watchers[name]["client"], 0, None)():
                break


run({"a": write, "b": write, "v": observe, "w": observe}, read_back)
