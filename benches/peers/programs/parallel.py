import asyncio

values = await asyncio.gather(*[noop(n=n) for n in range(1000)])
sum(values)
