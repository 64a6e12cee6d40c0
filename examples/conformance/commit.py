# Two-phase commit over UDP, a transaction each time that the coordinator decides for the first time. MODE of the coordinator:
# "all" waits for the vote of each participant, "majority" for two of three: nobody who only looks at what was decided sees
# that, since the third commits as well.
import os, random, socket, sys, time

PARTICIPANTS, PORT = ["p1", "p2", "p3"], 7000
me, mode = os.environ["NAME"], os.environ.get("MODE", "all")
sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sock.bind(("0.0.0.0", PORT))


def say(*words):
    print(*words, flush=True)


def send(to, *words):
    sock.sendto(" ".join(words).encode(), (to, PORT))


def receive(timeout):
    sock.settimeout(timeout)
    try:
        return sock.recv(100).decode().split()
    except (socket.timeout, OSError):
        return None


def keep(what):
    with open("/var/decided.new", "w") as f:
        f.write(what)
        f.flush()
        os.fsync(f.fileno())
    os.rename("/var/decided.new", "/var/decided")


def kept():
    try:
        return open("/var/decided").read()
    except FileNotFoundError:
        return ""


def coordinate():
    votes, decided, done = set(), kept(), set()
    while True:
        if not decided and (len(votes) == 3 or mode == "majority" and len(votes) == 2):
            decided = "commit"
            keep(decided)
            say("decide", decided)
        for p in PARTICIPANTS:
            if decided and p not in done:
                send(p, decided)
            elif not decided and p not in votes:
                send(p, "prepare")
        until = time.monotonic() + 0.1
        while (left := until - time.monotonic()) > 0:
            got = receive(left)
            if got and got[0] == "yes" and not decided and got[1] not in votes:
                votes.add(got[1])
                say("vote", got[1], "makes", len(votes))
                if len(votes) == 3 or mode == "majority":
                    break
            if got and got[0] == "done":
                done.add(got[1])


def take_part():
    state = kept() or "working"
    say("starts as", state)
    while True:
        got = receive(None)
        if got and got[0] == "prepare" and state == "working":
            time.sleep(random.random() * 0.05)
            state = "prepared"
            keep(state)
            say("prepared")
        elif got and got[0] in ("commit", "abort") and state != got[0]:
            state = got[0]
            keep(state)
            say("learned", state)
        if got and state == "prepared":
            send("coordinator", "yes", me)
        if got and state == "commit":
            send("coordinator", "done", me)


coordinate() if me == "coordinator" else take_part()
