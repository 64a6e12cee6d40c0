# A large process that is exempt from the killer, with a small child that is not.
import mmap, os, time

large = mmap.mmap(-1, 256 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
with open('/proc/self/oom_score_adj', 'w') as f: f.write('-1000')
print('start', flush=True)
child = os.fork()
if child == 0:
    with open('/proc/self/oom_score_adj', 'w') as f: f.write('0')
    large.close()
    time.sleep(1000)
_, status = os.wait()
print('killed', os.WTERMSIG(status), flush=True)
time.sleep(1000)
