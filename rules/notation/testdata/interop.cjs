// Reads games as JSON lines {game, kif, csa, usi, moves, start} from standard input and answers each with what the npm
// packages tsshogi (KIF, CSA) and shogiops (KIF of lishogi, move texts) make of it.
const fs = require("fs");
const path = require("path");
const { pathToFileURL } = require("url");

async function shogiops(name) {
  for (const dir of (process.env.NODE_PATH || "").split(path.delimiter)) {
    const file = path.join(dir, "shogiops", "dist", name);
    if (dir && fs.existsSync(file)) return import(pathToFileURL(file));
  }
  throw new Error("shogiops is not in NODE_PATH");
}

function readBack(record) {
  return record instanceof Error ? "error: " + record.message : record.getUSI({ allMoves: true });
}

async function main() {
  const ts = require("tsshogi");
  const kif = await shogiops("notation/kif.js");
  const japanese = await shogiops("notation/japanese.js");
  const western = await shogiops("notation/western-engine.js");
  const sfen = await shogiops("sfen.js");
  const util = await shogiops("util.js");
  for (const line of fs.readFileSync(0, "utf8").trim().split("\n")) {
    const g = JSON.parse(line);
    const out = {};
    if (g.game === "shogi") {
      const a = ts.importKIF(g.kif);
      const b = ts.importCSA(g.csa);
      out.tsKIF = readBack(a);
      out.tsCSA = readBack(b);
      if (!(a instanceof Error)) {
        out.kif = ts.exportKIF(a);
        out.csa = ts.exportCSA(a);
      }
    }
    const rules = g.game === "shogi" ? "standard" : g.game;
    const pos = sfen.parseSfen(rules, g.start, false).unwrap();
    const lines = g.kif.split("\n").filter((l) => /^ *\d+ /.test(l));
    const moves = kif.parseKifMovesOrDrops(lines.slice(0, -1));
    out.kifMoves = moves.map((m) => util.makeUsi(m));
    const head = kif.parseKifHeader(g.kif);
    out.kifStart = head.isOk ? sfen.makeSfen(head.value) : "error: " + head.error;
    out.header = kif.makeKifHeader(pos);
    out.japanese = [];
    out.western = [];
    out.lishogiKIF = [];
    for (const u of g.moves) {
      const m = util.parseUsi(u);
      out.japanese.push(japanese.makeJapaneseMoveOrDrop(pos, m));
      out.western.push(western.makeWesternEngineMoveOrDrop(pos, m));
      out.lishogiKIF.push(kif.makeKifMoveOrDrop(pos, m));
      pos.play(m);
    }
    console.log(JSON.stringify(out));
  }
}

main().catch((e) => {
  console.error(e.message);
  process.exit(1);
});
