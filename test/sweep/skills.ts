// Validates the skills that are made of a thousand real tools by `skills-ref`, the port to JavaScript of the format's reference library, whose
// original is in Python. `node test/sweep/skills.ts`.

import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { generateSkills } from '../../adapters/skills/generated/skill.ts';
import { sampleGateway } from '../../testing/samples.ts';
import { realTools } from '../helpers/real-tools.ts';
import { installClients, installedFile } from './client-programs.ts';

const TOOLS = 1000;

installClients();
const folder = mkdtempSync(join(tmpdir(), 'gatehouse-sweep-skills-'));
const gateway = sampleGateway({ type: 'skills', description: 'Everything: "all" of it.' });
const validator = installedFile('node_modules/skills-ref/dist/cli.js');
let [skills, files, faults] = [0, 0, 0];
try {
	for (const tools of [await realTools(TOOLS), (await realTools(5)).slice(0, 5), null])
		for await (const skill of generateSkills({ gateway, base: gateway.url, admission: [], tools, taken: [] })) {
			const own = join(folder, skill.name);
			for (const [path, content] of skill.files) {
				mkdirSync(dirname(join(own, path)), { recursive: true });
				writeFileSync(join(own, path), content);
			}
			skills += 1;
			files += skill.files.size;
			try {
				execFileSync(process.execPath, [validator, 'validate', own], { stdio: 'pipe' });
			} catch (error) {
				faults += 1;
				console.log(`${skill.name}: ${String((error as { stderr?: Buffer }).stderr ?? error)}`);
			}
		}
} finally {
	rmSync(folder, { recursive: true, force: true });
}
console.log(`| skills | ${skills} |\n| files in them | ${files} |\n| faults | ${faults} |`);
process.exit(faults > 0 ? 1 : 0);
