// Instructions, ready to paste, for connecting common MCP clients to a gateway.

export interface Published {
	url: string;
	key: string;
}

export function describeConnecting({ url, key }: Published): string {
	const headers = { Authorization: `Bearer ${key}` };
	const server = { type: 'http', url, headers };
	return `Connect a client of your own to ${url}

  Claude Code   claude mcp add --transport http bookshop ${url} --header "Authorization: Bearer ${key}"
  Cursor        .cursor/mcp.json   ${JSON.stringify({ mcpServers: { bookshop: server } })}
  VS Code       .vscode/mcp.json   ${JSON.stringify({ servers: { bookshop: server } })}`;
}
