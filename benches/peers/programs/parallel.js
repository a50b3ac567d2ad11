const calls = Array.from({ length: 1000 }, (_, n) => tools.noop({ n }));
let sum = 0;
for (const value of await Promise.all(calls)) sum += value;
return sum;
