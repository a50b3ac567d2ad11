// Counts the TODO and FIXME markers below the root, folder by folder: one call per file, all of them submitted at
// once, as many running together as the host allows.
//
//   isolane run examples/count-markers.ts --root ~/src --max-calls 1000000
//
// The numbers are those of grep, which counts every occurrence in every text file too:
//
//   LC_ALL=C grep -rIo TODO ~/src | wc -l
//
// They differ where a file is larger than the host allows, of which the last line tells, and where the first NUL byte
// of a file comes after markers: grep has counted those by then.

type Count = { todo: number; fixme: number; files: number };

// Hidden and ignored files are searched as well, since grep does so.
const everything = { hidden: true, ignored: true };

const folders = new Map<string, Count>();
const failed: string[] = [];

function add(path: string, todo: number, fixme: number, files: number) {
  const folder = path.includes("/") ? path.slice(0, path.lastIndexOf("/")) : ".";
  const sum = folders.get(folder) ?? { todo: 0, fixme: 0, files: 0 };
  folders.set(folder, { todo: sum.todo + todo, fixme: sum.fixme + fixme, files: sum.files + files });
}

// Counts without fetching any text, in a file or in those below a folder that are wanted.
async function addMatches(path: string, wanted: (file: string) => boolean) {
  const count = (pattern: string) => tools.grep({ pattern, path, mode: "count_matches", ...everything });
  const [both, todo] = await Promise.all([count("TODO|FIXME"), count("TODO")]);
  if (both.truncated) throw new Error(`${path} holds too many files`);
  for (const { path, count } of both.counts) if (wanted(path)) add(path, 0, count, 1);
  for (const { path, count } of todo.counts) if (wanted(path)) add(path, count, -count, 0);
}

// One call finds the lines of both markers, unless a line was cut or there are too many.
async function addFile(path: string) {
  const { matches, truncated } = await tools.grep({ pattern: "TODO|FIXME", path });
  if (truncated || matches.some((match) => match.cut)) return addMatches(path, () => true);
  const text = matches.map((match) => match.text).join("\n");
  if (matches.length > 0) add(path, text.split("TODO").length - 1, text.split("FIXME").length - 1, 1);
}

// The files that can be opened. Those with names that are not UTF-8 cannot; a search of their folder counts them. A
// search for all files at once may find more than one call returns; then each folder is searched by itself.
async function filesBelow(folder: string): Promise<string[]> {
  const all = await tools.glob({ pattern: "**/*", path: folder, ...everything });
  if (!all.truncated) {
    if (all.unreadable) failed.push(`${folder}: ${all.unreadable} folders cannot be read`);
    const lossy = new Set(all.lossy_paths);
    if (lossy.size > 0) await addMatches(folder, (path) => lossy.has(path));
    return all.paths.filter((path) => !lossy.has(path));
  }
  const list = await tools.list({ path: folder, ...everything });
  if (list.truncated) throw new Error(`${folder} holds too many entries`);
  const parts = list.entries.map(async ({ path, kind, lossy }) => {
    if (lossy) failed.push(`${path}: the name is not UTF-8`);
    else if (kind === "dir") return filesBelow(path);
    return kind === "file" && !lossy ? [path] : [];
  });
  return (await Promise.all(parts)).flat();
}

await Promise.all((await filesBelow(".")).map(async (path) => {
  try {
    await addFile(path);
  } catch (error) {
    if (!(error instanceof ToolCallError)) throw error;
    failed.push(error.message);
  }
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
if (failed.length > 0) console.log(`not counted: ${failed.length}, for example: ${failed.sort()[0]}`);

const sum = (key: keyof Count) => rows.reduce((all, row) => all + row[key], 0);
return { todo: sum("todo"), fixme: sum("fixme"), files: sum("files"), folders: rows.length };
