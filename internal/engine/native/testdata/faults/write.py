# Writes a file block by block and says what each write did, and whether the file has what the write said.
import os, time

fd = os.open('/data', os.O_RDWR | os.O_CREAT)
end = 0
for i in range(200):
    block = bytes([97 + i % 26]) * 1000
    try:
        n = os.pwrite(fd, block, end)
        print('all' if n == 1000 else 'part', flush=True)
        end += n
        if os.pread(fd, 2000, end - n) != block[:n]: print('not what was written', flush=True)
    except OSError as e:
        print(e.strerror, flush=True)
    if os.fstat(fd).st_size != end: print('not what was said', flush=True)
    time.sleep(0.01)
