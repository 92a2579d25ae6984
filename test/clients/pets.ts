// A small API that clients call through a gateway, and that violates its own document like real ones do.

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Account, must } from '../helpers/service.ts';

export interface PetsApi {
	origin: string;
	close(): void;
}

/** The responses of `GET /pets/{id}`; the document promises `{ id: integer, name: string }`. */
const ANSWERS: Record<string, { status: number; type: string; body: string }> = {
	good: { status: 200, type: 'application/json', body: '{"id":1,"name":"Tom"}' },
	wrong: { status: 200, type: 'application/json', body: '{"id":"one"}' },
	list: { status: 200, type: 'application/json', body: '[{"id":1}]' },
	text: { status: 200, type: 'text/plain', body: 'Tom' },
	empty: { status: 204, type: 'text/plain', body: '' },
	failing: { status: 500, type: 'application/json', body: '{"error":"broken"}' },
};
export const PET_KINDS = Object.keys(ANSWERS);

export async function startPets(): Promise<PetsApi> {
	const server = createServer((request, response) => {
		const { status, type, body } = ANSWERS[request.url?.split('/').pop() ?? ''] ?? { status: 404, type: 'text/plain', body: 'no such pet' };
		response.writeHead(status, { 'content-type': type }).end(body);
	});
	await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
	// The server listens on TCP, so the address is not a pipe's name.
	const { port } = server.address() as AddressInfo;
	return {
		origin: `http://127.0.0.1:${port}`,
		close() {
			server.closeAllConnections();
			server.close();
		},
	};
}

const document = (origin: string) => ({
	openapi: '3.1.0',
	info: { title: 'Pets', version: '1' },
	servers: [{ url: origin }],
	paths: {
		'/pets/{id}': {
			get: {
				operationId: 'getPet',
				summary: 'Read a pet',
				parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'string' } }],
				responses: {
					200: { description: 'A pet', content: { 'application/json': { schema: { $ref: '#/components/schemas/Pet' } } } },
				},
			},
		},
	},
	components: {
		schemas: {
			Pet: {
				type: 'object',
				properties: { id: { type: 'integer', description: 'Its number.' }, name: { type: 'string' } },
				required: ['id', 'name'],
				additionalProperties: false,
			},
		},
	},
});

/** Imports the API's document. @returns ids of the tools made of it */
export async function importPets(account: Account, { origin }: PetsApi): Promise<string[]> {
	const api = must(await account.post('/apis', { name: 'Pets', type: 'openapi', baseUrl: origin }), 201).body.data;
	const schemaContent = JSON.stringify(document(origin));
	must(await account.post(`/apis/${api.id}/import-schema`, { schemaContent, generateTools: true }), 200);
	const { tools } = must(await account.get(`/organizations/${account.organization.id}/tools`), 200).body.data;
	return tools.map((tool: { id: string }) => tool.id);
}
