# Says that it has started, and stays.
import time

print('start', flush=True)
time.sleep(1000)
