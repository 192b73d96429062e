// Runs an ONNX net with one thread: FILE HEIGHT WIDTH PLANES BATCH SECONDS.
// Prints positions per CPU-second of the process, loading and warm-up left out.
const ort = require("onnxruntime-node");

async function main() {
  const [file, ...numbers] = process.argv.slice(2);
  const [height, width, planes, batch, seconds] = numbers.map(Number);
  const session = await ort.InferenceSession.create(file, {
    intraOpNumThreads: 1, interOpNumThreads: 1, executionMode: "sequential", graphOptimizationLevel: "all",
  });
  const data = Float32Array.from({ length: batch * height * width * planes }, (_, i) => Number((i * 2654435761) % 2 ** 32 < 2 ** 29));
  const feeds = { planes: new ort.Tensor("float32", data, [batch, height, width, planes]) };
  await session.run(feeds);
  await session.run(feeds);
  const start = process.cpuUsage();
  let spent = 0, runs = 0;
  while (spent < seconds) {
    await session.run(feeds);
    runs++;
    const used = process.cpuUsage(start);
    spent = (used.user + used.system) / 1e6;
  }
  console.log((runs * batch) / spent);
}

main().catch((e) => { console.error(e); process.exit(1); });
