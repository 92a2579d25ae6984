// Tests that a server is put into the file of each client, and that nothing else in the file changes.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setServer } from './jsonc.ts';
import { CLIENTS } from './table.ts';
import { setTable } from './toml.ts';

const SERVER = { command: 'npx', args: ['-y', 'gatehouse-proxy', 'acme/tools'], env: { SVC_URL: 'https://x.example' } };
const plain = (text: string): unknown => JSON.parse(text.replaceAll(/^\s*\/\/.*$/gm, '').replaceAll(/,(\s*[}\]])/g, '$1'));

const FILES = [
	'',
	'{}',
	'{ }\n',
	'{\n  "a": 1\n}\n',
	'{"a":[1,{"b":"}"}],"mcpServers":{}}',
	'{\n  // mine\n  "mcpServers": {\n    "other": { "command": "x", "args": ["// no comment"] },\n  },\n}\n',
	'{"mcpServers":{"tools":{"command":"old"},"z":{"command":"z"}},"b":"\\"{"}',
	'\uFEFF{"mcpServers":{"a":{"command":"a"}}}',
];

for (const text of FILES) {
	test(`a server is set in ${JSON.stringify(text)}, twice with the same result`, () => {
		const once = setServer(text, 'mcpServers', 'tools', SERVER);
		const value = plain(once.replace('\uFEFF', '')) as { mcpServers: Record<string, unknown> };
		assert.deepEqual(value.mcpServers['tools'], SERVER);
		const before = text.trim() === '' ? {} : (plain(text.replace('\uFEFF', '')) as { mcpServers?: object });
		assert.deepEqual(value, { ...before, mcpServers: { ...before.mcpServers, tools: SERVER } });
		assert.equal(setServer(once, 'mcpServers', 'tools', SERVER), once);
		for (const comment of text.match(/\/\/ mine/g) ?? []) assert.ok(once.includes(comment));
	});
}

for (const text of ['[]', '{"a"}', '{"mcpServers":[]}', '{"a":1', 'x', '{"a":1} {}', `{"a":${'['.repeat(5000)}`, '{"a":1,,}']) {
	test(`${JSON.stringify(text.slice(0, 40))} is refused`, () => {
		assert.throws(() => setServer(text, 'mcpServers', 'tools', SERVER), /left as it is/);
	});
}

test('a table is put behind a TOML file, or in place of the former one', () => {
	const mine = 'model = "x" # mine\n\n[mcp_servers.other]\ncommand = "y"\n';
	const once = setTable(mine, 'mcp_servers', 'tools', SERVER);
	assert.ok(once.startsWith(mine));
	assert.match(
		once,
		/\n\n\[mcp_servers\.tools\]\ncommand = "npx"\nargs = \["-y", "gatehouse-proxy", "acme\/tools"\]\nenv = \{ SVC_URL = "https:\/\/x\.example" \}\n$/,
	);
	assert.equal(setTable(once, 'mcp_servers', 'tools', SERVER), once);
	const followed = `${once}\n[mcp_servers.last]\ncommand = "z"\n`;
	const changed = setTable(followed, 'mcp_servers', 'tools', { ...SERVER, command: 'node' });
	assert.equal(changed, followed.replace('"npx"', '"node"'));
	const theirs = '[mcp_servers.tools]\ncommand = "npx"\nargs = [\n  "a",\n]\n';
	assert.throws(() => setTable(theirs, 'mcp_servers', 'tools', SERVER), /left as it was|left as it is/);
});

test('a server whose variables have a TOML table of their own is left as it is, and a header is known however it is written', () => {
	const own = '[mcp_servers.tools]\ncommand = "npx"\n\n[ mcp_servers."tools".env ] # mine\nSVC_TOKEN = "x"\n';
	assert.throws(() => setTable(own, 'mcp_servers', 'tools', SERVER), /has a table \[mcp_servers\.tools\.env\], so it was left as it is/);
	const spaced = setTable('[ mcp_servers . "tools" ] # mine\ncommand = "old"\n', 'mcp_servers', 'tools', SERVER);
	assert.equal(spaced, setTable('', 'mcp_servers', 'tools', SERVER));
	const approved = '[mcp_servers.tools.tools.pay]\napproval_mode = "approve"\n';
	assert.ok(setTable(approved, 'mcp_servers', 'tools', SERVER).startsWith(approved));
});

const INLINE: [text: string, sentence: RegExp][] = [
	['[mcp_servers]\ntools = { command = "x" }\n', /has the member mcp_servers\.tools, so it was left as it is/],
	['[ "mcp_servers" ] # mine\n"tools".command = "x"\n', /has the member mcp_servers\.tools\.command, /],
	['mcp_servers . tools = { command = "x" }\n', /has the member mcp_servers\.tools, /],
	[
		'mcp_servers = { other = { command = "y" } }\n',
		/has all servers in the member mcp_servers, to which no table can be added, so it was left as/,
	],
];

for (const [text, sentence] of INLINE)
	test(`${JSON.stringify(text)}, to which TOML adds no table, is left as it is`, () => {
		assert.throws(() => setTable(text, 'mcp_servers', 'tools', SERVER), sentence);
	});

test('a table is added beside inline servers of other names', () => {
	for (const text of [
		'[mcp_servers]\nother = { command = "y" }\n',
		'mcp_servers.other.command = "y"\n',
		'[x]\nmcp_servers = 1\ntools = 2\n',
	])
		assert.ok(setTable(text, 'mcp_servers', 'tools', SERVER).startsWith(text));
});

test('each client has its file, on each system', () => {
	const env = { HOME: '/home/a', APPDATA: 'C:\\Roaming' };
	const paths = (platform: NodeJS.Platform) => Object.entries(CLIENTS).map(([name, client]) => [name, client.path(env, platform)]);
	assert.deepEqual(Object.fromEntries(paths('linux')), {
		'claude-code': `${process.cwd()}/.mcp.json`,
		'claude-desktop': '/home/a/.config/Claude/claude_desktop_config.json',
		cursor: '/home/a/.cursor/mcp.json',
		vscode: '/home/a/.config/Code/User/mcp.json',
		windsurf: '/home/a/.codeium/windsurf/mcp_config.json',
		zed: '/home/a/.config/zed/settings.json',
		codex: '/home/a/.codex/config.toml',
	});
	assert.equal(CLIENTS['claude-desktop']?.path(env, 'darwin'), '/home/a/Library/Application Support/Claude/claude_desktop_config.json');
	assert.match(CLIENTS['vscode']?.path(env, 'win32') ?? '', /^C:\\Roaming.Code.User.mcp\.json$/);
});
