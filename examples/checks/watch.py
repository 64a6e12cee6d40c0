# A program that asks the store now and then, as other servers would: it sees crashes that clients see too.
import time, urllib.request

while True:
    try:
        urllib.request.urlopen("http://store:8080/kv/watched", timeout=1).read()
    except OSError:
        pass
    time.sleep(0.1)
