total = 0
for n in range(1000):
    total += await noop(n=n)
total
