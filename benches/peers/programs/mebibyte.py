text = "x" * (1 << 20)
total = 0
for _ in range(10):
    total += len(await echo(text=text))
total
