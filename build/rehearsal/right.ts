async function program() {
  interface Count { path: string; lines: number }
  type Key = keyof Count;
  const found = await tools.glob({ pattern: "**/*.rs" });
  const counts = new Map<string, number>();
  const files = await Promise.all(found.paths.map(async (path) => {
    const part = await tools.read({ file_path: path, limit: 200 });
    return { path, part };
  }));
  for (const { path, part } of files) {
    try {
      const text = JSON.stringify(part);
      counts.set(path, (counts.get(path) ?? 0) + text.split("\n").length);
    } catch (error) {
      if (error instanceof ToolCallError) console.warn(error.code, error.message);
      else throw error;
    }
  }
  const sorted: Count[] = [...counts].map(([path, lines]) => ({ path, lines })).sort((a, b) => b.lines - a.lines);
  const key: Key = "path";
  state.set("seen", sorted.map((one) => one[key]));
  const { entries } = await tools.list({});
  console.log(`${entries.length} entries`, Object.entries(Object.groupBy(sorted, (one) => one.path[0] ?? "")));
  return sorted.slice(0, 10).reduce<Record<string, number>>((all, { path, lines }) => ({ ...all, [path]: lines }), {});
}
