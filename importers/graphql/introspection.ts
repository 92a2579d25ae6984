// Asks a GraphQL endpoint for its schema, in the newest form of the query first, since servers refuse a query with a field that they do not know.

import { getIntrospectionQuery, type IntrospectionOptions } from 'graphql';
import { excerptOf, GatewayError, type ImportContext, type SchemaSource, statusLine } from '../../core/index.ts';

const MAX_BYTES = 64 * 1024 * 1024;
const TIMEOUT_MS = 60_000;

const FORMS: IntrospectionOptions[] = [
	{ specifiedByUrl: true, inputValueDeprecation: true, oneOf: true },
	{ specifiedByUrl: true, inputValueDeprecation: true },
	{},
];

/** @throws schema_invalid with the answer of the endpoint to the plainest form */
export async function introspect(
	url: string,
	{ request, signal }: Pick<ImportContext, 'request' | 'signal'>,
): Promise<Pick<SchemaSource, 'text' | 'url'>> {
	let said = '';
	for (const form of FORMS) {
		const answer = await request({
			method: 'POST',
			url,
			headers: { 'content-type': 'application/json', accept: 'application/graphql-response+json, application/json' },
			body: JSON.stringify({ query: getIntrospectionQuery(form), operationName: 'IntrospectionQuery' }),
			maxBytes: MAX_BYTES,
			timeoutMs: TIMEOUT_MS,
			signal,
		});
		const text = new TextDecoder().decode(answer.body);
		if (answer.status < 400 && /"__schema"\s*:\s*\{/.test(text)) return { text, url: answer.url };
		said = `${statusLine(answer.status)} ${excerptOf(text, 300)}`.trimEnd();
	}
	throw new GatewayError('schema_invalid', `the endpoint does not tell its schema: ${said}`);
}
