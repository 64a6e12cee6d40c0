# Says which calls on a disk, and in memory, take long.
import os, time

disk, memory = (os.open(path, os.O_RDWR | os.O_CREAT) for path in ('/data', '/tmp/data'))
def pace(name, f, *args):
    t = time.monotonic()
    f(*args)
    print(name + ' slow' if time.monotonic() - t > 0.004 else 'fast', flush=True)

for i in range(100):
    pace('write', os.pwrite, disk, b'x' * 100, 0)
    pace('read', os.pread, disk, 100, 0)
    pace('fsync', os.fsync, disk)
    pace('memory', os.pwrite, memory, b'x' * 100, 0)
    time.sleep(0.02)
