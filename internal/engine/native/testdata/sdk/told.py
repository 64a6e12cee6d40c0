# What main.go of this folder's Go program tells, by the protocol itself: with a catalog, in pieces, and one file for all.
import json, os, sys, time

broken = "broken" in sys.argv
path = os.environ["ANTITHESIS_SDK_LOCAL_OUTPUT"]
with open(path, "w") as f: os.ftruncate(f.fileno(), 0), os.truncate(path, 0)  # as SDKs that truncate it at their start


def tell(**line):
    with open(path, "a") as f:
        f.write(json.dumps(line))
        f.flush()
        f.write("\n")


def check(kind, display, message, condition, must_hit, hit=True):
    where = {"class": "", "function": "main", "file": "told.py", "begin_line": 20, "begin_column": 5}
    tell(antithesis_assert={"location": where, "details": {"balance": 7}, "assert_type": kind, "display_type": display,
                            "message": message, "id": message, "hit": hit, "must_hit": must_hit, "condition": condition})


tell(antithesis_sdk={"language": {"name": "Python", "version": "3"}, "sdk_version": "0", "protocol_version": "1.1.0"})
for kind, display, message, must_hit in [
        ("always", "Always", "holds", True), ("always", "Always", "breaks", True), ("always", "AlwaysOrUnreachable", "optional", False),
        ("sometimes", "Sometimes", "lucky", True), ("sometimes", "Sometimes", "unlucky", True), ("always", "Always", "positive", True),
        ("reachability", "Reachable", "here", True), ("reachability", "Unreachable", "nowhere", False)]:
    check(kind, display, message, False, must_hit, hit=False)
time.sleep(2)
tell(antithesis_setup={"status": "complete", "details": {"balance": 7}})
tell(transfer={"from": "a", "to": "b"})
check("always", "Always", "holds", True, True)
check("always", "Always", "positive", True, True)
tell(antithesis_guidance={"guidance_data": {"left": 1, "right": 0}, "location": {}, "guidance_type": "numeric", "message": "positive",
                          "id": "positive", "maximize": False, "hit": True})
check("always", "Always", "breaks", True, True)
check("always", "AlwaysOrUnreachable", "optional", True, False)
check("sometimes", "Sometimes", "unlucky", False, True)
check("reachability", "Reachable", "here", True, True)
time.sleep(0.4)
check("sometimes", "Sometimes", "lucky", True, True)
if broken:
    check("always", "Always", "breaks", False, True)
    check("reachability", "Unreachable", "nowhere", False, False)
time.sleep(3600)
