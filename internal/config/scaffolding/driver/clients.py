def choose(choices, unique):
    """Draws an operation, its key and its input. No two puts write the same value."""
    op, key = choices.choice(["put", "get"]), choices.choice(KEYS)
    return op, key, unique if op == "put" else None


def say(**record):
    report.write(json.dumps(record).encode() + b"\n")


def operation(client, op, key, value=None):
    """Performs and records one operation. It returns False if its outcome is unknown."""
    say(client=client, type="invoke", op=op, key=key, input=value)
    try:
        output = perform(op, key, value)
    except Refused as e:
        say(client=client, type="fail", error=str(e))
    except OSError as e:
        say(client=client, type="info", error=str(e))
        return False
    else:
        say(client=client, type="ok", output=output)
    return True


def is_skipped(name, k):
    return any(s["client"] == name and s["from"] <= k < s.get("to", OPERATIONS) for s in skipped)


def work(name, seed):
    choices, life, start = random.Random(seed), 0, time.time()
    for k in range(OPERATIONS):
        op, key, value = choose(choices, "%s-%d" % (name, k))
        if all(is_skipped(name, later) for later in range(k, OPERATIONS)):
            return
        time.sleep(max(0, start + k * PAUSE_S - time.time()))
        if not is_skipped(name, k) and not operation("%s.%d" % (name, life), op, key, value):
            life += 1  # the operation may still take effect, so its client continues under a new name


clients = [threading.Thread(target=work, args=("c%d" % i, random.random())) for i in range(CLIENTS)]
say(type="ready")     # faults begin
for c in clients:
    c.start()
for c in clients:
    c.join()
say(type="done")      # faults end
sys.stdin.readline()  # the line "check" comes when the system has had time to recover
say(type="check")     # the reads after this show what the system kept
for key in KEYS:
    operation("reader-%s" % key, "get", key)
