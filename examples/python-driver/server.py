"""A key-value store that speaks lines over TCP. It acknowledges a put before it is on the disk: that is the bug."""
import os, selectors, socket, time

FILE = "/var/tmp/store"
FLUSH_S = 0.3

store, dirty, flushed = {}, False, time.monotonic()
if os.path.exists(FILE):
    with open(FILE) as f:
        store = dict(line.rstrip("\n").split(" ") for line in f)


def flush():
    with open(FILE + ".new", "w") as f:
        f.writelines("%s %s\n" % kv for kv in store.items())
        f.flush()
        os.fsync(f.fileno())
    os.rename(FILE + ".new", FILE)


def answer(words):
    global dirty
    if words[0] == "put":
        store[words[1]] = words[2]
        dirty = True
        return "ok"
    return "value " + store[words[1]] if words[1] in store else "none"


waiting = selectors.DefaultSelector()
listener = socket.create_server(("", 7000))
waiting.register(listener, selectors.EVENT_READ)
while True:
    for key, _ in waiting.select(FLUSH_S):
        if key.fileobj is listener:
            waiting.register(listener.accept()[0], selectors.EVENT_READ)
            continue
        try:
            line = key.fileobj.recv(4096)
            if line:
                key.fileobj.sendall(answer(line.decode().split()).encode() + b"\n")
        except OSError:
            line = b""
        if not line:
            waiting.unregister(key.fileobj)
            key.fileobj.close()
    if dirty and time.monotonic() - flushed >= FLUSH_S:
        flush()
        dirty, flushed = False, time.monotonic()
