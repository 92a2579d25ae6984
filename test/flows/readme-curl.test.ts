// Runs the README's curl commands as they are printed.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { startSampleApi } from '../../demo/sample-api.ts';
import { startTestService } from '../helpers/service.ts';
import { readReadme } from '../readme.ts';

const BLOCK = /<!-- curl -->\n```sh\n([\s\S]*?)```\n<!-- \/curl -->/;
const HEAD = 'GATEHOUSE=http://127.0.0.1:3000 SHOP=http://127.0.0.1:4000';

/** Shells by the options with which they read no file of the machine: bash does if its input is a socket, as for a remote login. */
const SHELLS = { sh: [], bash: ['--norc'] };

for (const [shell, options] of Object.entries(SHELLS))
	test(`the README’s commands lead from an account to a tool call in ${shell}`, async () => {
		const [, commands = ''] = BLOCK.exec(readReadme()) ?? [];
		const shop = await startSampleApi();
		const service = await startTestService({ env: { EGRESS_ALLOW: shop.url } });
		try {
			assert.ok(commands.startsWith(HEAD));
			const script = commands.replace(HEAD, `GATEHOUSE=${service.url} SHOP=${shop.url}`);
			const { stdout, stderr } = await promisify(execFile)(shell, [...options, '-eu', '-c', `TOKEN=; ${script}`]);
			assert.equal(stderr, '');
			const answer = JSON.parse(/^\{"jsonrpc".*/m.exec(stdout)?.[0] ?? 'null');
			assert.deepEqual(answer?.result.structuredContent, { open: true, books: 8 });
		} finally {
			await service.stop();
			await shop.stop();
		}
	});
