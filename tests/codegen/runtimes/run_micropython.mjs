// Runs a script in MicroPython with some files, and writes one that it made:
//     node run_micropython.mjs MICROPYTHON.mjs SCRIPT INTO FILE...
import { readFileSync, writeFileSync } from "node:fs";
import { basename } from "node:path";

const [runtime, script, into, ...files] = process.argv.slice(2);
const { loadMicroPython } = await import(runtime);
const python = await loadMicroPython({ heapsize: 64 * 1024 * 1024, linebuffer: true });
for (const file of files) python.FS.writeFile("/" + basename(file), readFileSync(file));
python.runPython(readFileSync(script, "utf8"));
if (into !== "-") writeFileSync(into, python.FS.readFile("/" + basename(into)));
