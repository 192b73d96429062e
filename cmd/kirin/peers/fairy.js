// Counts with the WebAssembly build of Fairy-Stockfish: VARIANT DEPTH. Prints
// the nodes and the CPU-seconds, loading and translation left out: one ply less
// is counted before.
delete globalThis.fetch; // the package would take a file for an address
const load = require("fairy-stockfish-nnue.wasm/stockfish.js");
const [variant, depth] = process.argv.slice(2);

load().then((engine) => {
  let start;
  engine.addMessageListener((line) => {
    if (line === "readyok") {
      engine.postMessage(`go perft ${Math.max(depth - 1, 1)}`);
    } else if (line.startsWith("Nodes searched: ") && !start) {
      start = process.cpuUsage();
      engine.postMessage(`go perft ${depth}`);
    } else if (line.startsWith("Nodes searched: ")) {
      const used = process.cpuUsage(start);
      console.log(line.slice(16).trim(), (used.user + used.system) / 1e6);
      process.exit(0);
    }
  });
  for (const command of ["uci", `setoption name UCI_Variant value ${variant}`, "position startpos", "isready"]) engine.postMessage(command);
});
