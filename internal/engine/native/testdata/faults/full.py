# Makes files, writes to new and old places, and says what works. Then it removes all again, which must always work.
import os, time

def attempt(f, *args):
    try:
        return f(*args)
    except OSError as e:
        return e.strerror

def make():
    os.close(os.open('/data/file', os.O_WRONLY | os.O_CREAT | os.O_EXCL))
    return 'file'

def folder():
    os.mkdir('/data/folder')
    return 'folder'

def link():
    os.symlink('file', '/data/link')
    return 'link'

os.mkdir('/data')
old = os.open('/data/old', os.O_RDWR | os.O_CREAT)
memory = os.open('/tmp/memory', os.O_RDWR | os.O_CREAT)
os.write(old, b'x' * 8192)
for i in range(100):
    made = [attempt(f) for f in (make, folder, link)]
    wrote = [attempt(os.pwrite, old, b'y' * 8192, 8192)]
    os.ftruncate(old, 8192)
    wrote.append(attempt(os.pwrite, old, b'z' * 4096, 6144))
    os.ftruncate(old, 8192)
    room = os.statvfs('/data').f_bavail
    print('made: %s; wrote %s; rewrote %s; in memory %s; %s' % (', '.join(made), ', '.join(map(str, wrote)), attempt(os.pwrite, old, b'w' * 8192, 0),
        attempt(os.pwrite, memory, b'm' * 4096, 4096 * i), 'room' if room else 'no room'), flush=True)
    for f, path in (os.unlink, '/data/file'), (os.rmdir, '/data/folder'), (os.unlink, '/data/link'):
        if os.path.lexists(path): f(path)
    time.sleep(0.02)
