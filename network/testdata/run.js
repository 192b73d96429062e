// Runs an ONNX file on positions with onnxruntime-node.
//   node run.js MODEL PLANES POSITIONS RANKS FILES DEPTH OUT
// PLANES and OUT hold float32 numbers: the input, and the outputs policy, wdl
// and plies_left one after the other.
const fs = require('fs');
const ort = require('onnxruntime-node');

async function main() {
  const [model, planes, n, h, w, d, out] = process.argv.slice(2);
  const session = await ort.InferenceSession.create(model, { intraOpNumThreads: 1 });
  const bytes = fs.readFileSync(planes);
  const data = new Float32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
  const input = new ort.Tensor('float32', data, [n, h, w, d].map(Number));
  const result = await session.run({ planes: input });
  const parts = ['policy', 'wdl', 'plies_left'].map((name) => {
    const x = result[name].data;
    return Buffer.from(x.buffer, x.byteOffset, 4 * x.length);
  });
  fs.writeFileSync(out, Buffer.concat(parts));
}

main().catch((e) => { console.error(e.message); process.exit(1); });
