# Overwrites a block of a file again and again with one letter, and says at each start whether the block has one.
import os, time

fd = os.open('/data', os.O_RDWR | os.O_CREAT)
print('whole' if len(set(os.pread(fd, 4096, 0))) < 2 else 'torn', flush=True)
for i in range(999):
    os.pwrite(fd, bytes([97 + i % 26]) * 4096, 0)
    os.fsync(fd)
    if i % 8 == 0: print('whole', flush=True)
    time.sleep(0.01)
