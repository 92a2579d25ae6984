// The programs that run MCP servers, and the file in which each has them.

import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Environment } from '../settings.ts';

export interface ClientFile {
	title: string;
	format: 'json' | 'toml';
	/** The member of the file, or its table, that holds the servers by name. */
	member: string;
	/** Members that the program wants besides the command. */
	extra: Readonly<Record<string, string>>;
	/** Whether the file lies in a project, and comes with it. */
	isOfProject?: true;
	path(env: Environment, platform: NodeJS.Platform): string;
}

const home = (env: Environment): string => env['HOME'] || env['USERPROFILE'] || homedir();

/** The folder in which desktop programs keep their settings. */
function settings(env: Environment, platform: NodeJS.Platform): string {
	if (platform === 'win32') return env['APPDATA'] || join(home(env), 'AppData', 'Roaming');
	if (platform === 'darwin') return join(home(env), 'Library', 'Application Support');
	return env['XDG_CONFIG_HOME'] || join(home(env), '.config');
}

const json = (title: string, path: ClientFile['path'], member = 'mcpServers', extra: ClientFile['extra'] = {}): ClientFile => ({
	...{ title, format: 'json', member, extra, path },
});

export const CLIENTS: Readonly<Record<string, ClientFile>> = {
	'claude-code': { ...json('Claude Code, in this project', () => join(process.cwd(), '.mcp.json')), isOfProject: true },
	'claude-desktop': json('Claude Desktop', (env, platform) => join(settings(env, platform), 'Claude', 'claude_desktop_config.json')),
	cursor: json('Cursor', (env) => join(home(env), '.cursor', 'mcp.json')),
	vscode: json('VS Code', (env, platform) => join(settings(env, platform), 'Code', 'User', 'mcp.json'), 'servers', { type: 'stdio' }),
	windsurf: json('Windsurf', (env) => join(home(env), '.codeium', 'windsurf', 'mcp_config.json')),
	zed: json(
		'Zed',
		(env, platform) => (platform === 'win32' ? join(settings(env, platform), 'Zed', 'settings.json') : zedOnUnix(env)),
		'context_servers',
		{ source: 'custom' },
	),
	codex: {
		title: 'Codex',
		format: 'toml',
		member: 'mcp_servers',
		extra: {},
		path: (env) => join(env['CODEX_HOME'] || join(home(env), '.codex'), 'config.toml'),
	},
};

const zedOnUnix = (env: Environment): string => join(env['XDG_CONFIG_HOME'] || join(home(env), '.config'), 'zed', 'settings.json');
