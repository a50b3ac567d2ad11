// Renames a symbol in every file below `src`, whole words only.
//
//   isolane run examples/rename-symbol.ts --root ~/project --allow-write
//
// Set the two names first. Nothing is written for a file that changes meanwhile: `edit` replaces exactly what was
// read, or fails.

const from = "oldName";
const to = "newName";

const word = new RegExp(`\\b${from}\\b`, "g");
const { counts, truncated } = await tools.grep({ pattern: `\\b${from}\\b`, path: "src", mode: "count" });
if (truncated) throw new Error("too many files; rename folder by folder");

const renamed = await Promise.all(counts.map(async ({ path }) => {
  const { lines, line_ending, final_newline } = await tools.read({ file_path: path });
  const end = line_ending === "crlf" ? "\r\n" : "\n";
  const old = lines.map((line) => line.text).join(end) + (final_newline ? end : "");
  const replaced = (old.match(word) ?? []).length;
  if (replaced === 0) return 0;
  await tools.edit({ file_path: path, old_string: old, new_string: old.replace(word, to) });
  console.log(`${path}: ${replaced}`);
  return replaced;
}));

return { files: renamed.length, occurrences: renamed.reduce((sum, count) => sum + count, 0) };
