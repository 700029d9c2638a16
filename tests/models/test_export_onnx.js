// Runs every exported model in ONNX Runtime and compares with the library. Argument: the program dump_export. Exits with 77 (skipped) if
// the npm package onnxruntime-node is not installed where node looks for it (NODE_PATH).
const { execFileSync } = require("child_process");
const fs = require("fs"), os = require("os"), path = require("path");

let ort;
try {
    ort = require("onnxruntime-node");
} catch (missing) {
    console.log("ONNX Runtime agrees with the library: IGNORE: onnxruntime-node is missing\n1 Tests 0 Failures 1 Ignored");
    process.exit(77);
}

const ROWS = 64, TOLERANCE = 1e-5, folder = fs.mkdtempSync(path.join(os.tmpdir(), "export-"));
process.on("exit", () => fs.rmSync(folder, { recursive: true }));
let tests = 0, failed = 0;

function check(sentence, good, found) {
    tests++;
    failed += good ? 0 : 1;
    console.log(`${sentence}: ${good ? "PASS" : `FAIL: ${found}`}`);
}

function numbers(name, what, type) {
    const bytes = fs.readFileSync(path.join(folder, `${name}.${what}`));
    if (type === "uint8") return new Uint8Array(bytes);
    if (type === "int32") return new Int32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
    return new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
}

// The largest difference, of numbers above 1 relative to them.
function gap(found, expected) {
    let largest = found.length === expected.length ? 0 : Infinity;
    for (let i = 0; i < expected.length; i++) {
        const difference = Math.abs(found[i] - expected[i]) / Math.max(1, Math.abs(expected[i]));
        largest = Math.max(largest, Number.isNaN(difference) ? Infinity : difference);
    }
    return largest;
}

async function compare(line, lengths) {
    const [name, type, rank, ...rest] = line.split(" ");
    const row = rest.slice(0, Number(rank)).map(Number), [classes, energies] = rest.slice(Number(rank)).map(Number);
    const size = row.reduce((product, n) => product * n, 1), x = numbers(name, "x", type);
    const expected = { posterior: numbers(name, "posterior") };
    if (energies) {
        expected.energy = numbers(name, "energy");
        expected.density = expected.energy.map((e) => -e);
    }
    const session = await ort.InferenceSession.create(path.join(folder, `${name}.onnx`));
    const gaps = {};
    for (const n of [1, 7, ROWS]) {
        const feeds = { x: new ort.Tensor(type, x.slice(0, n * size), [n, ...row]) };
        if (lengths) feeds.length = new ort.Tensor("int64", BigInt64Array.from(numbers(name, "length", "int32").slice(0, n), BigInt), [n]);
        const out = await session.run(feeds);
        for (const what in expected) {
            const each = what === "posterior" ? classes : 1;
            const shape = out[what].dims.join() === (what === "posterior" ? [n, classes] : [n]).join();
            const found = shape ? gap(out[what].data, expected[what].slice(0, n * each)) : Infinity;
            gaps[what] = Math.max(gaps[what] || 0, found);
        }
        if (Object.keys(out).length !== Object.keys(expected).length) gaps.outputs = Infinity;
    }
    const spread = Math.max(...expected.posterior.map((p, i) => Math.abs(p - expected.posterior[i % classes])));
    if (spread < 1e-3) gaps.spread = Infinity; // the comparison would show nothing
    const worst = Math.max(...Object.values(gaps));
    const text = Object.entries(gaps).map(([what, value]) => `${what} ${value.toExponential(1)}`).join(", ");
    check(`${name}${lengths ? " with lengths" : ""} (largest differences: ${text})`, worst <= TOLERANCE, text);
}

async function all() {
    for (const words of [[folder], [folder, "lengths"]])
        for (const line of execFileSync(process.argv[2], words, { encoding: "utf8" }).trim().split("\n"))
            await compare(line, words.length > 1);
    console.log(`${tests} Tests ${failed} Failures 0 Ignored`);
    process.exitCode = failed || tests < 50 ? 1 : 0;
}
all().catch((error) => {
    console.log(`the models run: FAIL: ${error.message}`);
    process.exitCode = 1;
});
