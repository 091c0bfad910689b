"""leak SECONDS: keeps every result it ever computed, 40 MiB a second."""
import work

kept = []
while work.now() < work.seconds():
    work.compute()
    if len(kept) < (work.now() - work.start) * 40:
        kept.append(b"x" * (1 << 20))
