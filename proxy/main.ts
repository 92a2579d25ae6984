#!/usr/bin/env node
// The command `gatehouse-proxy`: without a command of its own, it connects an MCP client over stdio to a gateway.

const NEEDED_NODE = 20;

type Command = (args: string[]) => Promise<number>;

/** The commands by name; each is loaded when it is called, so that a start of the proxy loads none. */
const COMMANDS: Readonly<Record<string, () => Promise<Command>>> = {
	login: async () => (await import('./login/commands.ts')).login,
	whoami: async () => (await import('./login/commands.ts')).whoami,
	logout: async () => (await import('./login/commands.ts')).logout,
	skills: async () => (await import('./skills/commands.ts')).skills,
	config: async () => (await import('./clients/commands.ts')).config,
};

const HELP = `Usage: gatehouse-proxy [<organization>/<gateway>]     connects an MCP client over stdio
       gatehouse-proxy login [--url <address>] [--no-browser]
       gatehouse-proxy login --with-token [--organization <slug>]     the token comes from standard input
       gatehouse-proxy whoami | logout [--url <address>]
       gatehouse-proxy skills add @<organization>/<gateway> [--agent <agent>]... | list | update | remove <name>
       gatehouse-proxy config <client> [<organization>/<gateway>] [--write]

Variables: SVC_TOKEN, SVC_URL, SVC_MODE (skill-first, full), SVC_GATEWAY_ID, SVC_ORGANIZATION
`;

async function main([first = '', ...rest]: string[]): Promise<number> {
	if (first === '--help' || first === '-h' || first === 'help') return say(HELP);
	if (first === '--version' || first === '-v') return say(`${(await import('./version.ts')).VERSION}\n`);
	const command = Object.hasOwn(COMMANDS, first) ? COMMANDS[first] : undefined;
	if (command) return (await import('./command.ts')).run(await command(), rest);
	return (await import('./stdio.ts')).runStdio(first === '' ? rest : [first, ...rest]);
}

function say(text: string): number {
	process.stdout.write(text);
	return 0;
}

if (Number.parseInt(process.versions.node, 10) < NEEDED_NODE) {
	process.stderr.write(`gatehouse-proxy needs Node.js ${NEEDED_NODE} or later, and this is ${process.version} (${process.execPath}).\n`);
	process.exitCode = 1;
} else {
	process.exitCode = await main(process.argv.slice(2));
}
