"""Two clients commit lines, and a third one makes and restores backups."""
from clients import Client, run, succeed


def commit(client, k, choices):
    value = "%s-%d" % (client.name, k)
    return lambda: client.perform("commit", "db", lambda: succeed("db", "POST", "/append", value), input=value)


def restore(client):
    return client.perform("restore", "db", lambda: {"output": succeed("db", "GET", "/restore")})


def operate(client, k, choices):
    if choices.random() < 0.5:
        return lambda: client.perform("backup", "db", lambda: succeed("db", "POST", "/backup"))
    return lambda: restore(client)


run({"a": commit, "b": commit, "o": operate}, lambda: restore(Client("end")))
