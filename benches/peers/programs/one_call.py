await noop(n=1)
