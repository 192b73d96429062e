// Counts chu shogi with shogiops: VARIANT DEPTH. Prints the nodes and the
// CPU-seconds, loading left out.
const { existsSync } = require("fs");
const { delimiter, join } = require("path");
const { pathToFileURL } = require("url");
const [variant, depth] = process.argv.slice(2);

async function main() {
  // Modules of this kind are not looked up in NODE_PATH by node itself.
  const folders = (process.env.NODE_PATH || "").split(delimiter).concat("node_modules").map((f) => join(f, "shogiops", "dist"));
  const folder = folders.find((f) => existsSync(join(f, "debug.js")));
  if (!folder) throw new Error("no shogiops in NODE_PATH");
  const load = (file) => import(pathToFileURL(join(folder, file)));
  const [debug, sfen] = [await load("debug.js"), await load("sfen.js")];
  if (depth === undefined) return;
  const position = sfen.parseSfen(variant, sfen.initialSfen(variant)).unwrap();
  debug.perft(position, 1);
  const start = process.cpuUsage();
  const nodes = debug.perft(position, Number(depth));
  const used = process.cpuUsage(start);
  console.log(nodes, (used.user + used.system) / 1e6);
}

main().catch((e) => { console.error(String(e)); process.exit(1); });
