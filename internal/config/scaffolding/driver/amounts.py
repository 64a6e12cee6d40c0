def number_of(text):
    """The number in a body such as 12, "12", {"NUMBER": 12} and {"id": "k1", "NUMBER": 12}."""
    try:
        body = json.loads(text)
        if isinstance(body, dict):
            body = next(iter(body.values())) if len(body) == 1 else body["NUMBER"]
        return int(body)
    except (KeyError, TypeError, ValueError):
        raise OSError("no number in the reply %r" % text[:80])


def send(op, c):
    """Sends the request of a change."""
    # SENDS
    raise ValueError(op)


def perform(op, key, value):
    """Performs one operation. It returns the number that a read found, and None for a change."""
    if value is None:
        status, text = request("GET", PATH)
        if status not in (200, 404):
            raise OSError("status %d" % status)
        return str(number_of(text)) if status == 200 else "0"
    status, text = send(op, json.loads(value))
    if 400 <= status < 500:
        raise Refused("status %d: %s" % (status, text[:80]))
    if not 200 <= status < 300:
        raise OSError("status %d" % status)
    return None


def choose(choices, unique):
    """Draws an operation, its key and its input."""
    key, other = choices.sample(KEYS, 2)
    amount = choices.randint(1, 5)
    op, change = choices.choice([
        # DRAWS
        ("read", None),
    ])
    return op, key, json.dumps(change) if change else None
