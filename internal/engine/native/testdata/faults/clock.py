# Compares the date with the time since the machine was started, which goes on as ever.
import time

start = time.time_ns() - time.monotonic_ns()
last = 0
for i in range(800):
    ahead = time.time_ns() - time.monotonic_ns() - start
    print('right' if abs(ahead) < 1000000 else 'ahead' if ahead > 0 else 'behind', flush=True)
    now = time.monotonic_ns()
    if now < last: print('back', flush=True)
    last = now
    time.sleep(0.01)
