// Preloaded into every Node process of a coverage run (NODE_OPTIONS). Node's own coverage files tell ranges, not texts,
// and no source maps of what a test runner compiled in memory. So each process adds, as it ends, the text and the inline
// map of the workspace's scripts that do not stand like that on the disk. It never disturbs the process it is in.
const fs = require('node:fs');
const path = require('node:path');
const { threadId } = require('node:worker_threads');

const directory = process.env.NODE_V8_COVERAGE;
const root = process.env.HASTEN_COVERAGE_ROOT;
const MOST_SCRIPTS = 500;
const MOST_CHARS = 2_000_000;

function pathOf(url) {
  try {
    return url.startsWith('file://') ? require('node:url').fileURLToPath(url) : url;
  } catch {
    return '';
  }
}

function onDisk(file) {
  try {
    return fs.readFileSync(file, 'utf8');
  } catch {
    return null;
  }
}

function capture() {
  const inspector = require('node:inspector');
  const session = new inspector.Session();
  session.connect();
  const parsed = [];
  session.on('Debugger.scriptParsed', ({ params }) => {
    const file = pathOf(params.url);
    if (!file.startsWith(`${root}${path.sep}`) || file.includes(`${path.sep}node_modules${path.sep}`)) return;
    if (parsed.length < MOST_SCRIPTS) parsed.push({ ...params, file });
  });
  session.post('Debugger.enable');
  const scripts = [];
  for (const { scriptId, url, file } of parsed) {
    session.post('Debugger.getScriptSource', { scriptId }, (error, answer) => {
      if (error !== null || answer.scriptSource.length > MOST_CHARS) return;
      if (answer.scriptSource !== onDisk(file)) scripts.push({ url, text: answer.scriptSource });
    });
  }
  session.disconnect();
  if (scripts.length === 0) return;
  const name = `sources-${process.pid}-${threadId}.json`;
  fs.mkdirSync(directory, { recursive: true });
  // The reader takes complete files only.
  fs.writeFileSync(path.join(directory, `${name}.part`), JSON.stringify({ scripts }));
  fs.renameSync(path.join(directory, `${name}.part`), path.join(directory, name));
}

function captureQuietly() {
  try {
    // First, for the debugger makes V8 forget which blocks were executed.
    require('node:v8').takeCoverage();
    capture();
  } catch {
    // A process without inspector gives no texts; its coverage then counts where the text is the file's.
  }
}

if (directory !== undefined && root !== undefined) {
  process.on('exit', captureQuietly);
  // Test runners end their workers by signal, and a process that a signal ends writes no coverage. Those workers are
  // forks with a channel; any other process keeps its own way with signals.
  // Runners replace `exit` while tests run.
  const exit = process.exit.bind(process);
  if (process.send !== undefined) process.once('SIGTERM', () => exit(143));
}
