// Perfetto's own trace processor in node: loads a trace, answers SQL. The processor is a worker bundle that talks
// protobuf over a message port (protos/perfetto/trace_processor/trace_processor.proto); it runs synchronously here.
//
//   const tp = await TraceProcessor.open(dir);   dir: see fetch-trace-processor.sh
//   tp.load(bytes);                              throws when the file can't be parsed
//   tp.query('select ...')                       an array of objects; integers are numbers
//
// As a program:  node tp.mjs DIR TRACE SQL...    prints rows as JSON lines
import fs from 'node:fs';
import path from 'node:path';
import vm from 'node:vm';

const APPEND = 1, FINALIZE = 2, QUERY = 3, RESET = 11;
const ARGS_APPEND = 101, ARGS_QUERY = 103, RESULT_APPEND = 201, RESULT_QUERY = 203;
const CELL_INT = 2, CELL_DOUBLE = 3, CELL_STRING = 4, CELL_BLOB = 5;

// ---- protobuf

function varint(n) {
  const bytes = [];
  for (n = BigInt(n); n > 127n; n >>= 7n) bytes.push(Number(n & 127n) | 128);
  bytes.push(Number(n));
  return Buffer.from(bytes);
}
const number = (field, n) => Buffer.concat([varint(field << 3), varint(n)]);
const nested = (field, bytes) => Buffer.concat([varint((field << 3) | 2), varint(bytes.length), bytes]);

class Reader {
  constructor(bytes) { this.bytes = bytes; this.at = 0; }
  get more() { return this.at < this.bytes.length; }
  big() {
    let value = 0n, shift = 0n, c;
    do { c = this.bytes[this.at++]; value |= BigInt(c & 127) << shift; shift += 7n; } while (c & 128);
    return value;
  }
  number() { return Number(this.big()); }
  chunk() {
    const n = this.number();
    this.at += n;
    return this.bytes.subarray(this.at - n, this.at);
  }
  // The next field as [field, value]; value is a bigint, or bytes.
  field() {
    const tag = this.number(), wire = tag & 7;
    if (wire === 0) return [tag >> 3, this.big()];
    if (wire === 2) return [tag >> 3, this.chunk()];
    this.at += wire === 1 ? 8 : 4;
    return [tag >> 3, null];
  }
  * fields() { while (this.more) yield this.field(); }
}

// ---- engine

async function loadEngine(dir) {
  const wasm = fs.readFileSync(path.join(dir, 'trace_processor.wasm'));
  const bundle = fs.readFileSync(path.join(dir, 'engine_bundle.node.js'), 'utf8');
  const define = (name, value) => Object.defineProperty(globalThis, name, {value, writable: true, configurable: true});
  // The little of a web worker that the bundle asks for.
  define('self', globalThis);
  define('WorkerGlobalScope', function () {});
  define('location', {href: 'file:///tp/'});
  define('fetch', async () => ({ok: true, arrayBuffer: async () => wasm}));
  define('XMLHttpRequest', function () {
    this.open = () => {};
    this.send = () => { this.response = wasm; };
  });
  // Newer node has 64-bit memory, and the bundle would then want a wasm that the package lacks: its probe of a
  // few bytes must fail.
  const Module = WebAssembly.Module;
  WebAssembly.Module = function (bytes) {
    if (bytes.byteLength < 32) throw new Error('no 64-bit memory');
    return new Module(bytes);
  };
  console.warn = console.error = () => {};
  vm.runInThisContext(bundle.replace(/;\(self\.__SOURCEMAPS[^]*$/, ''), {filename: 'engine_bundle.node.js'});
  const port = {postMessage() {}};
  self.onmessage({data: port});
  await new Promise((resolve) => setTimeout(resolve, 20));
  return port;
}

function rowsOf(batch, columns, row, rows) {
  const types = [], ints = [], doubles = [], blobs = [];
  let strings = [];
  for (const [field, value] of new Reader(batch).fields()) {
    if (field === 1) { for (const r = new Reader(value); r.more;) types.push(r.number()); }
    else if (field === 2) { for (const r = new Reader(value); r.more;) ints.push(Number(BigInt.asIntN(64, r.big()))); }
    else if (field === 3) { for (let i = 0; i < value.length; i += 8) doubles.push(value.readDoubleLE(i)); }
    else if (field === 4) blobs.push(value);
    else if (field === 5) strings = value.toString().split('\0');
  }
  let i = 0, d = 0, s = 0, b = 0;
  for (const type of types) {
    row.push(type === CELL_INT ? ints[i++] : type === CELL_DOUBLE ? doubles[d++] : type === CELL_STRING ? strings[s++] :
             type === CELL_BLOB ? blobs[b++] : null);
    if (row.length === columns.length)
      rows.push(Object.fromEntries(row.splice(0).map((cell, k) => [columns[k], cell])));
  }
}

export class TraceProcessor {
  // There is one processor in a program, because node takes most of a second to compile it.
  static async open(dir) {
    return TraceProcessor.opened ??= await TraceProcessor.start(dir);
  }
  static async start(dir) {
    const tp = new TraceProcessor();
    tp.port = await loadEngine(dir);
    tp.sequence = 0;
    tp.port.postMessage = (data) => tp.replies.push(Buffer.from(data));
    return tp;
  }
  call(method, args = Buffer.alloc(0)) {
    const message = nested(1, Buffer.concat([number(1, this.sequence++), number(2, method), args]));
    this.replies = [];
    this.port.onmessage({data: new Uint8Array(message)});
    return [...new Reader(Buffer.concat(this.replies)).fields()].map(([, reply]) => {
      const fields = Object.fromEntries(new Reader(reply).fields());
      if (fields[5]) throw new Error(`trace processor: ${fields[5]}`);
      return fields;
    });
  }
  // Forgets the trace before, if any.
  load(bytes) {
    this.call(RESET);
    const step = 16 << 20;
    for (let i = 0; i < bytes.length; i += step)
      for (const reply of this.call(APPEND, nested(ARGS_APPEND, bytes.subarray(i, i + step))))
        for (const [field, value] of new Reader(reply[RESULT_APPEND] ?? Buffer.alloc(0)).fields())
          if (field === 2) throw new Error(`trace processor: ${value}`);
    this.call(FINALIZE);
  }
  query(sql) {
    const columns = [], rows = [], row = [];
    for (const reply of this.call(QUERY, nested(ARGS_QUERY, nested(1, Buffer.from(sql))))) {
      for (const [field, value] of new Reader(reply[RESULT_QUERY] ?? Buffer.alloc(0)).fields()) {
        if (field === 1) columns.push(value.toString());
        else if (field === 2 && value.length) throw new Error(`${value}\nin: ${sql}`);
        else if (field === 3) rowsOf(value, columns, row, rows);
      }
    }
    return rows;
  }
}

if (process.argv[1] && path.resolve(process.argv[1]) === new URL(import.meta.url).pathname) {
  const [dir, trace, ...queries] = process.argv.slice(2);
  const tp = await TraceProcessor.open(dir);
  tp.load(fs.readFileSync(trace));
  for (const sql of queries)
    for (const row of tp.query(sql)) console.log(JSON.stringify(row));
}
