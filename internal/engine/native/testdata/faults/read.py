# Reads a file again and again, that it has written, and says what comes back.
import os, time

want = bytes(range(256)) * 16
fd = os.open('/data', os.O_RDWR | os.O_CREAT)
os.write(fd, want)
for i in range(200):
    try:
        got = os.pread(fd, 8192, 0)
        wrong = [(a ^ b) for a, b in zip(got, want) if a != b]
        print('same' if got == want else 'short' if len(got) != len(want) else 'wrong bits: %d' % sum(bin(x).count('1') for x in wrong), flush=True)
    except OSError as e:
        print(e.strerror, flush=True)
    time.sleep(0.01)
