# Is there a leader? Exit code 0 if some node says so.
import sys, urllib.request

for node in sys.argv[1:]:
    try:
        name = urllib.request.urlopen("http://%s:8080/leader" % node, timeout=0.5).read().decode()
    except OSError as e:
        print(node, "says", e)
        continue
    print(node, "says that", name, "leads")
    sys.exit(0)
sys.exit(1)
