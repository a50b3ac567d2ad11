return await tools.noop({ n: 1 });
