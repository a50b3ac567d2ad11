const text = "x".repeat(1 << 20);
let sum = 0;
for (let i = 0; i < 10; i++) sum += (await tools.echo({ text })).length;
return sum;
