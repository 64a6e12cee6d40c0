"""Two clients publish, and a subscriber of each of two groups receives."""
from clients import Client, request, run, succeed

GROUPS = ["g", "h"]


def publish(client, k, choices):
    value = "%s-%d" % (client.name, k)
    return lambda: client.perform("publish", "news", lambda: succeed("broker", "POST", "/publish", value), input=value)


def receive(client, group):
    def take():
        status, text = request("broker", "POST", "/receive?group=" + group)
        if status not in (200, 404):
            raise OSError("status %d" % status)
        return {"output": text} if status == 200 else {}

    return client.perform("receive", "news", take, group=group)


def subscriber(group):
    return lambda client, k, choices: lambda: receive(client, group)


def read_back():
    for group in GROUPS:
        client = Client("end-" + group)
        while receive(client, group):
            pass


for group in GROUPS:
    subscribe = lambda: succeed("broker", "POST", "/subscribe?group=" + group)
    Client("sub-" + group).perform("subscribe", "news", subscribe, group=group)
run({"a": publish, "b": publish, "c": subscriber("g"), "d": subscriber("h")}, read_back)
