// Counts the TODO and FIXME markers below the root, folder by folder: one call per file, all of them submitted at
// once, as many running together as the host allows.
//
//   isolane run examples/count-markers.ts --root ~/src --max-calls 1000000
//
// The totals are those of grep, which counts every occurrence in every text file too:
//
//   LC_ALL=C grep -rIo TODO ~/src | wc -l

type Count = { todo: number; fixme: number; files: number };

// Hidden and ignored files are searched as well, since grep does so. A search for all files at once may find more
// than one call returns; then each folder is searched by itself.
const everything = { hidden: true, ignored: true };

async function filesBelow(folder: string): Promise<string[]> {
  const all = await tools.glob({ pattern: "**/*", path: folder, ...everything });
  if (!all.truncated) return all.paths;
  const { entries, truncated } = await tools.list({ path: folder, ...everything });
  if (truncated) throw new Error(`${folder} holds too many entries`);
  const parts = entries.map((entry) =>
    entry.kind === "dir" ? filesBelow(entry.path) : entry.kind === "file" ? [entry.path] : []);
  return (await Promise.all(parts)).flat();
}

// One call finds the lines of both markers. A line that was cut, or a file with too many of them, is read instead.
async function countIn(path: string): Promise<Count> {
  const found = await tools.grep({ pattern: "TODO|FIXME", path });
  let text = found.matches.map((match) => match.text).join("\n");
  if (found.truncated || found.matches.some((match) => match.cut)) {
    const { lines } = await tools.read({ file_path: path });
    text = lines.map((line) => line.text).join("\n");
  }
  const todo = text.split("TODO").length - 1;
  const fixme = text.split("FIXME").length - 1;
  return { todo, fixme, files: todo + fixme > 0 ? 1 : 0 };
}

const paths = await filesBelow(".");
const folders = new Map<string, Count>();
const total: Count = { todo: 0, fixme: 0, files: 0 };
const failed: string[] = [];

await Promise.all(paths.map(async (path) => {
  let count: Count;
  try {
    count = await countIn(path);
  } catch (error) {
    if (!(error instanceof ToolCallError)) throw error;
    failed.push(`${path}: ${error.message}`);
    return;
  }
  if (count.files === 0) return;
  const folder = path.includes("/") ? path.slice(0, path.lastIndexOf("/")) : ".";
  const sum = folders.get(folder) ?? { todo: 0, fixme: 0, files: 0 };
  for (const key of ["todo", "fixme", "files"] as const) {
    sum[key] += count[key];
    total[key] += count[key];
  }
  folders.set(folder, sum);
}));

// The folders with the most markers. Calls end in any order, so that the table must not depend on it.
const rows = [...folders].map(([folder, count]) => ({ folder, ...count }));
rows.sort((a, b) => b.todo + b.fixme - (a.todo + a.fixme) || (a.folder < b.folder ? -1 : 1));
const line = (...cells: unknown[]) => cells.map((cell) => String(cell).padStart(7)).join("");
console.log(line("TODO", "FIXME", "files") + "  folder");
for (const { folder, todo, fixme, files } of rows.slice(0, 25)) {
  console.log(`${line(todo, fixme, files)}  ${folder}`);
}
if (rows.length > 25) console.log(`and ${rows.length - 25} more folders`);
if (failed.length > 0) console.log(`${failed.length} files could not be searched, for example ${failed.sort()[0]}`);

return { ...total, folders: folders.size };
