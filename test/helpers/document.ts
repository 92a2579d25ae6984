// Judges responses by the API's OpenAPI document: whether they match what their operation promises.

import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import ajvFormats from 'ajv-formats';
import { type Answer, send } from './service.ts';

interface Responses {
	[status: string]: { $ref?: string; headers?: Record<string, unknown>; content?: Record<string, { schema: unknown }> };
}

export interface Page {
	operationId: string;
	responses: Responses;
	requestBody?: { content: Record<string, { schema: unknown }> };
	parameters: { name?: string; in?: string; $ref?: string }[];
	security: unknown[];
	tags: string[];
}

export interface Judge {
	// biome-ignore lint/suspicious/noExplicitAny: an OpenAPI document is read by what it is tested for
	document: any;
	/** Pages of the document by operation, such as `GET /gateways/{id}`. */
	pages: Map<string, Page>;
	/** Checks a response. @returns the mismatch, null when the operation's page promises this response */
	fault(operation: string, answer: Answer): string | null;
	/** Checks a body that a client sends, likewise. */
	bodyFault(operation: string, body: unknown): string | null;
}

/** Headers that the specification promises of every answer, and the request's id: a page names them wherever they are sent. */
const TOLD = /^(x-ratelimit-|x-request-id$)/;

const ID = 'https://gatehouse.example/openapi.json';

export async function readDocument(url: string): Promise<Judge> {
	const { body: document } = await send(`${url}/openapi.json`, 'GET');
	const ajv = new Ajv2020({ strict: false, allErrors: true, discriminator: false });
	// Under ESM the CommonJS default arrives as a namespace.
	(ajvFormats as unknown as (target: Ajv2020) => void)(ajv);
	ajv.addSchema(document, ID);
	const pages = new Map<string, Page>();
	for (const [path, methods] of Object.entries<Record<string, Page>>(document.paths)) {
		for (const [method, page] of Object.entries(methods)) pages.set(`${method.toUpperCase()} ${path}`, page);
	}
	const compiled = new Map<string, ValidateFunction>();
	const check = (pointer: string, value: unknown): string | null => {
		const validate = compiled.get(pointer) ?? ajv.compile({ $ref: `${ID}#${pointer}` });
		compiled.set(pointer, validate);
		return validate(value) ? null : ajv.errorsText(validate.errors, { dataVar: '' });
	};
	const at = (operation: string): string => {
		const [method = '', path = ''] = operation.split(' ');
		return `/paths/${encodeURIComponent(path.replaceAll('/', '~1'))}/${method.toLowerCase()}`;
	};
	return {
		document,
		pages,
		fault(operation, { status, body, headers }) {
			const response = pages.get(operation)?.responses[String(status)];
			if (!response) return `${status} is not on the page`;
			const shared = response.$ref?.replace('#', '') ?? null;
			const described = shared ? document.components.responses[shared.split('/').at(-1) ?? ''] : response;
			const missing = Object.keys(described.headers ?? {}).find((name) => headers.get(name) === null);
			if (missing) return `the header ${missing} is missing`;
			const untold = [...headers.keys()].find(
				(name) => TOLD.test(name) && !Object.keys(described.headers ?? {}).some((told) => told.toLowerCase() === name),
			);
			if (untold) return `the header ${untold} is not on the page`;
			if (!described.content) return body === null ? null : 'there is a body, and none is on the page';
			const sent = headers.get('content-type')?.split(';')[0] ?? '';
			const type = described.content?.[sent] ? sent : '*/*';
			if (!described.content?.[type]) return `the media type ${sent} is not on the page`;
			return check(`${shared ?? `${at(operation)}/responses/${status}`}/content/${type.replace('/', '~1')}/schema`, body);
		},
		bodyFault: (operation, body) => check(`${at(operation)}/requestBody/content/application~1json/schema`, body),
	};
}

/** Returns the body that the operation's page shows. */
export function shownBody({ pages }: Judge, operation: string): object {
	const { schema } = pages.get(operation)?.requestBody?.content['application/json'] ?? {};
	const [example] = (schema as { examples?: object[] } | undefined)?.examples ?? [];
	if (!example) throw new Error(`The page of ${operation} shows no body.`);
	return example;
}
