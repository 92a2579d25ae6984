#!/usr/bin/env node
// The command `gatehouse` of the installed package. It loads the service only on a version of Node.js that can read it, so nothing here may
// be newer than Node.js 14.

const NEEDED = [24, 12] as const;
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);

if (major > NEEDED[0] || (major === NEEDED[0] && minor >= NEEDED[1])) {
	import('./main.ts').then((main) => main.runCommand(...process.argv.slice(2)));
} else {
	process.stderr.write(`Gatehouse needs Node.js ${NEEDED.join('.')} or later, and this is ${process.version} (${process.execPath}).\n`);
	process.exitCode = 1;
}
