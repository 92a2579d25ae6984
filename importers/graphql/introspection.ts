// Asking a GraphQL endpoint for its schema: newest form of the question first, since what a server does not know it refuses whole.

import { getIntrospectionQuery, type IntrospectionOptions } from 'graphql';
import { excerptOf, GatewayError, type ImportContext, type SchemaSource, statusLine } from '../../core/index.ts';

const MAX_BYTES = 64 * 1024 * 1024;
const TIMEOUT_MS = 60_000;

const FORMS: IntrospectionOptions[] = [
	{ specifiedByUrl: true, inputValueDeprecation: true, oneOf: true },
	{ specifiedByUrl: true, inputValueDeprecation: true },
	{},
];

/** @throws schema_invalid with what the endpoint answered to the plain form */
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
