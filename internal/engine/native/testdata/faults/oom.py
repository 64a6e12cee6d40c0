# Starts processes with much memory and says how they end, and when the node has little memory left.
import mmap, os, time

def available():
    for line in open('/proc/meminfo'):
        if line.startswith('MemAvailable'): return int(line.split()[1]) << 10

for i in range(28):
    child = os.fork()
    if child == 0:
        large = mmap.mmap(-1, 64 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        time.sleep(0.1)
        os._exit(0)
    if available() < 1 << 30: print('low memory', flush=True)
    _, status = os.wait()
    print('killed %d' % os.WTERMSIG(status) if os.WIFSIGNALED(status) else 'ended %d' % os.WEXITSTATUS(status), flush=True)
