# Writes by one descriptor and synchronises by two, and says what each was told. A third is opened after an error.
import os, time

def sync(fd):
    try:
        os.fsync(fd)
        return 'ok'
    except OSError as e:
        return e.strerror

a, b = os.open('/data', os.O_RDWR | os.O_CREAT), os.open('/data', os.O_RDWR)
for i in range(100):
    os.pwrite(a, b'%04d' % i, 0)
    told = [sync(a)]
    c = os.open('/data', os.O_RDWR)
    told += [sync(a), sync(b), sync(b), sync(c)]
    os.close(c)
    print(', '.join(told), flush=True)
    time.sleep(0.02)
