"""Three clients acquire a lock for two seconds at a time, and release it, at random."""
from clients import request, run, succeed


def acquire(owner):
    status, text = request("lock", "POST", "/acquire?owner=%s&lease_s=2" % owner)
    if status not in (200, 409):
        raise OSError("status %d" % status)
    return {"output": text if status == 200 else "false"}


def work(client, k, choices):
    draw = choices.random()
    if draw < 0.3:
        return lambda: client.perform("acquire", "lock", lambda: acquire(client.name), input="2s")
    if draw < 0.5:
        return lambda: client.perform("release", "lock", lambda: succeed("lock", "POST", "/release?owner=" + client.name))
    return lambda: None


run({"a": work, "b": work, "c": work}, lambda: None)
