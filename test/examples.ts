// Writes the examples of the document from the service's responses: `npm run examples`. A test fails while they differ in shape.

import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { recordExamples } from './helpers/examples.ts';
import { startTestService } from './helpers/service.ts';

const FILE = fileURLToPath(new URL('../plugins/features/reference/examples.json', import.meta.url));
const BIOME = fileURLToPath(new URL('../node_modules/.bin/biome', import.meta.url));

const service = await startTestService();
try {
	const examples = await recordExamples(service);
	writeFileSync(FILE, JSON.stringify(examples));
	execFileSync(BIOME, ['format', '--write', FILE], { stdio: 'ignore' });
} finally {
	await service.stop();
}
