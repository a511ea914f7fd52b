// Runs inside the sandbox under NODE_V8_COVERAGE: each workload of a benchmark module once, nothing else of it, so that
// what is counted as executed is what would be measured. The request comes as JSON on standard input.
import fs from 'node:fs';
import { pathToFileURL } from 'node:url';

const { benchmark, entry } = JSON.parse(fs.readFileSync(0, 'utf8'));
process.argv = [process.argv[0], benchmark, entry];
const module = await import(pathToFileURL(benchmark).href);
const workloads = module.workloads === undefined ? [module.run] : Object.values(module.workloads);
for (const workload of workloads) await workload();
// What the module keeps open (a timer, a server) must not hold the answer back; coverage is written on the way out.
process.exit(0);
