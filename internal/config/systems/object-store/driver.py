"""Three clients write, delete and list objects; the lists after the end show all."""
from clients import Client, request, run, succeed


def get(name):
    status, text = request("store", "GET", "/o/" + name)
    if status not in (200, 404):
        raise OSError("status %d" % status)
    return {"output": text} if status == 200 else {}


def list_all(client):
    return client.perform("list", "x", lambda: {"output": succeed("store", "GET", "/list?prefix=x")})


def work(client, k, choices):
    name, op = "x%d" % choices.randrange(6), choices.choice(["put", "put", "get", "delete", "list"])
    value = "%s-%d" % (client.name, k)
    if op == "put":
        return lambda: client.perform("put", name, lambda: succeed("store", "PUT", "/o/" + name, value), input=value)
    if op == "get":
        return lambda: client.perform("get", name, lambda: get(name))
    if op == "delete":
        return lambda: client.perform("delete", name, lambda: succeed("store", "DELETE", "/o/" + name))
    return lambda: list_all(client)


run({"a": work, "b": work, "c": work}, lambda: list_all(Client("end")))
