// First path segments that no organization may have: checked before routing, since the catch-all route would take mistyped
// management paths. The list is generous, so that future routes break nobody's URLs; a test compares it with the routes.

const RESERVED = new Set(
	(
		'a2a access-keys account accounts admin agents analytics api apis app assets audit-log audit auth authorize billing ' +
		'callback cli console dashboard device docs download events executions favicon.ico files gateways graphql health ' +
		'healthz help images import invitations invites jobs js live llm-providers llms.txt login logout mail mcp members ' +
		'metadata metrics monitoring oauth oauth2 openapi.json openapi.yaml operations org organization organizations orgs ' +
		'plugins policies postman profile providers public ready readyz register reset-password robots.txt root runs ' +
		'schedules schemas search secrets security.txt sessions settings setup sitemap.xml skills sse static status support ' +
		'system templates terms test token tokens tools usage user users utcp v1 v2 v3 verify version web webhook webhooks ws www'
	).split(' '),
);

export const isReserved = (segment: string): boolean =>
	RESERVED.has(segment.toLowerCase()) || segment.startsWith('.') || segment.startsWith('@');

/** Whether a path belongs to a gateway; `/.well-known/{name}/{org}/{gateway}` does, although its first segment is reserved. */
export function isGatewayPath(path: string): boolean {
	const end = path.indexOf('/', 1);
	if (end === -1) return false;
	const first = path.slice(1, end);
	if (first !== '.well-known') return first !== '' && !isReserved(first);
	const [, , , organization = '', gateway, ...more] = path.split('/');
	return organization !== '' && Boolean(gateway) && more.length === 0 && !isReserved(organization);
}
