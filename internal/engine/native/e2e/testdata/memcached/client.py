# Sets, gets and adds numbers by memcached's text protocol, on several connections.
import json, os, random, socket, threading, time

report = open(os.environ["BLOODHOUND_REPORT"], "a", buffering=1)
lock = threading.Lock()


def told(**record):
    with lock:
        report.write(json.dumps(record) + "\n")


def client(number):
    connection = socket.create_connection(("proxy", 11111))
    lines = connection.makefile("rb")
    for i in range(30):
        key = "k%d" % random.randrange(4)
        told(client=str(number), type="invoke", op="store", key=key)
        connection.sendall(("set %s 0 0 3\r\n%03d\r\n" % (key, i)).encode())
        assert lines.readline() == b"STORED\r\n"
        connection.sendall(("get %s\r\n" % key).encode())
        while lines.readline() != b"END\r\n":
            pass
        told(client=str(number), type="ok")
        time.sleep(random.random() / 50)


threads = [threading.Thread(target=client, args=(n,)) for n in range(4)]
for t in threads:
    t.start()
for t in threads:
    t.join()
