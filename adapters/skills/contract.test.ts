import { type TransportSample, transportContract } from '../../testing/index.ts';
import skills from './index.ts';

const run = (name: string, tool: string, body: object, status: number, has: string | RegExp): TransportSample => ({
	...{ name, method: 'POST', path: '/tools/{name}', status, has },
	request: { params: { name: tool }, body },
});
const get = (name: string, path: string, has: string | RegExp, params: Record<string, string> = {}, status = 200): TransportSample => ({
	...{ name, method: 'GET', path, status, has },
	request: { params },
});
const AT = '/.well-known/agent-skills';

transportContract(skills, {
	config: { discovery: 'full' },
	bad: [
		{ config: { discovery: 'none' }, says: /"discovery" must be one of \[full, minimal\]/ },
		{ config: { discover: 'full' }, says: /"discover" is not allowed/ },
	],
	call: { skills: [{ name: 'house-rules', description: 'Rules. Use always.', body: 'Be kind.', files: { 'references/a.md': 'More.' } }] },
	samples: [
		run('a call', 'echo', { text: 'hello' }, 200, '"structured":{"text":"hello"}'),
		run('a call that fails', 'fail', {}, 422, '"message":"no luck","error":"EXECUTION_FAILED"'),
		run('a call of no tool', 'none', {}, 404, 'no tool "none"'),
		run('a call with wrong arguments', 'echo', { text: 1 }, 400, 'text'),
		get('the index', `${AT}/index.json`, /"name": "acme-main",\s+"type": "archive"[\s\S]*"house-rules"/),
		get('the former index', '/.well-known/skills/index.json', /"files": \[\s+"SKILL.md",\s+"assets\/tools.json"/),
		get('an archive', `${AT}/{file}`, 'application/gzip', { file: 'acme-main.tar.gz' }),
		get('a zip', `${AT}/{file}`, 'application/zip', { file: 'house-rules.zip' }),
		get('no archive', `${AT}/{file}`, 'not found', { file: 'acme-main' }, 404),
		get('a document', `${AT}/{name}/{path*}`, 'name: acme-main', { name: 'acme-main', path: 'SKILL.md' }),
		get('a file of the organization’s', '/.well-known/skills/{name}/{path*}', 'More.', { name: 'house-rules', path: 'references/a.md' }),
		get('no file', '/skills/{name}/{path*}', 'not found', { name: 'house-rules', path: '../a.md' }, 404),
		get('the overview', '/', '"reference": "@acme/main"'),
		get('the tools', '/tools', '"description":"Says it again."'),
		get('a tool', '/tools/{name}', '"destructive":true', { name: 'fail' }),
	],
});
