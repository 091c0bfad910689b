"""allocate SECONDS MIB [child]: takes so much memory within SECONDS; child: in a process of its own, whose end is ignored."""
import subprocess
import sys
import time
import work

if len(sys.argv) > 3:
    subprocess.run([sys.executable, sys.argv[0], sys.argv[1], sys.argv[2]], check=False)
    work.compute_until(work.now() + 0.5)
    sys.exit(0)
mib = int(sys.argv[2])
kept = []
for i in range(mib):
    kept.append(b"x" * (1 << 20))
    time.sleep(float(sys.argv[1]) / mib)
