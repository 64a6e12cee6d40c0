"""A store of lines with backups: POST /append, POST /backup, and GET /restore, which opens the backup and lists its lines."""
import json
import os
import threading
from serve import FIXED, Log, serve, sync_folder

log = Log("/data/log")
lines = list(log.lines)
lock = threading.Lock()
BACKUP = "/data/backup"


def handle(method, path, query, body):
    with lock:
        if path == "/append":
            log.append(body)
            lines.append(body)
            return 200, ""
        if path == "/backup":
            with open(BACKUP + ".new", "w") as f:
                f.write(json.dumps(lines))
                if FIXED:  # The planted bug: the backup is confirmed before the disk has it.
                    f.flush()
                    os.fsync(f.fileno())
            os.rename(BACKUP + ".new", BACKUP)
            if FIXED:
                sync_folder("/data")
            return 200, ""
        return (200, open(BACKUP).read()) if os.path.exists(BACKUP) else (200, "[]")


serve(handle)
