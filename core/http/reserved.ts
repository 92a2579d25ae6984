// First path segments that no organization may have: checked before routing, since the catch-all route would take mistyped
// management paths. The list is generous, so that future routes break nobody's URLs; a test compares it with the routes. Features from
// packages add the segments that they declare.

import { organizationIn } from './places.ts';

const RESERVED = new Set(
	(
		'a2a access-keys account accounts admin agents alerts analytics api apis app approvals assets audit-log audit auth authorize billing ' +
		'callback cli console dashboard device docs download events executions favicon.ico files gateways graphql health ' +
		'healthz help images import invitations invites jobs js live llm-providers llms.txt login logout mail mcp members ' +
		'metadata metrics monitoring oauth oauth2 openapi.json openapi.yaml operations org organization organizations orgs ' +
		'plugins policies postman profile providers public ready readyz register reset-password robots.txt root runs ' +
		'schedules schemas search secrets security.txt sessions settings setup sitemap.xml skills sse static status support ' +
		'system templates terms test token tokens tools usage user users utcp v1 v2 v3 verify version web webhook webhooks ws www'
	).split(' '),
);

export interface ReservedSegments {
	has(segment: string): boolean;
	/** Whether a path belongs to a gateway, in any of its spellings, although some begin with a reserved segment. */
	isGatewayPath(path: string): boolean;
}

/** @param declared by the features that are loaded */
export function reservedSegments(declared: Iterable<string> = []): ReservedSegments {
	const more = new Set([...declared].map((segment) => segment.toLowerCase()));
	const has = (segment: string): boolean => {
		const name = segment.toLowerCase();
		return RESERVED.has(name) || more.has(name) || segment.startsWith('.') || segment.startsWith('@');
	};
	return {
		has,
		isGatewayPath(path) {
			const organization = organizationIn(path);
			return organization !== null && !has(organization);
		},
	};
}
