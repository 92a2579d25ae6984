// The bookshop's OpenAPI 3.1 document. The shop's own request checks are compiled from it, so it cannot be wrong about input.

import { paths } from './paths.ts';
import { responses, schemas } from './schemas.ts';

export interface Parameter {
	name: string;
	in: 'path' | 'query' | 'header';
	required?: boolean;
	description: string;
	/** Absent: `true` in the query, `false` elsewhere (OpenAPI 3.1, Parameter Object). */
	explode?: boolean;
	schema: Schema;
}

export interface Schema {
	[keyword: string]: unknown;
}

export interface RequestBody {
	required: true;
	content: Record<string, { schema: Schema; example: unknown }>;
}

export interface Operation {
	operationId: string;
	summary: string;
	description: string;
	tags: string[];
	parameters?: Parameter[];
	requestBody?: RequestBody;
	responses: Record<string, Schema>;
	/** Empty: no key required. Absent: the document's own. */
	security?: [];
}

export interface OpenApiDocument {
	openapi: '3.1.0';
	info: Schema;
	servers: { url: string }[];
	tags: { name: string; description: string }[];
	security: Record<string, string[]>[];
	paths: Record<string, Record<string, Operation>>;
	components: { securitySchemes: Schema; schemas: Record<string, Schema>; responses: Record<string, Schema> };
}

export const KEY_HEADER = 'X-Shop-Key';

/** @param url origin that the shop listens on */
export function describeBookshop(url: string): OpenApiDocument {
	return {
		openapi: '3.1.0',
		info: {
			title: 'Corner Bookshop',
			version: '1.4.0',
			summary: 'Books, stock, customers and orders of a small bookshop.',
			description: 'A shop with three branches. Amounts are whole cents: 1295 EUR is 12.95 €.',
			license: { name: 'MIT', identifier: 'MIT' },
		},
		servers: [{ url }],
		tags: [
			{ name: 'books', description: 'The catalogue and the stock.' },
			{ name: 'customers', description: 'The shop’s customers.' },
			{ name: 'orders', description: 'Orders and their delivery.' },
			{ name: 'service', description: 'The shop’s own state.' },
		],
		security: [{ shopKey: [] }],
		paths,
		components: {
			securitySchemes: { shopKey: { type: 'apiKey', in: 'header', name: KEY_HEADER, description: 'Given to each partner.' } },
			schemas,
			responses,
		},
	};
}
