// Counts with the WebAssembly build of Fairy-Stockfish: VARIANT DEPTH. Prints
// the nodes and the CPU-seconds, loading left out.
delete globalThis.fetch; // the package would take a file for an address
const load = require("fairy-stockfish-nnue.wasm/stockfish.js");
const [variant, depth] = process.argv.slice(2);

load().then((engine) => {
  let start;
  engine.addMessageListener((line) => {
    if (line === "readyok") {
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
