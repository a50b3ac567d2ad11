async function program() {
  const found = await tools.glob({ patern: "**/*.rs" });
  const text = tools.read({ file_path: 1 });
  console.log(text.lenght, found.pathes, tools.raed({}), `${text}`);
  tools.list();
  const narrow: { kind: "a"; n: number } | { kind: "b" } = { kind: "c" };
  for (const path of found) unknown(path + 1);
  return await tools.grep({ pattern: ["x"] }).then((found) => found.matches.map((match) => match.nope));
}
