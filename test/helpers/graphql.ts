// A GraphQL server for tests: graphql-js behind node:http, with a schema that has one of everything. It keeps the requests.

import type { IncomingHttpHeaders } from 'node:http';
import type { TestContext } from 'node:test';
import { buildSchema, graphql } from 'graphql';
import { httpUpstream, type Upstream } from './upstream.ts';

const SCHEMA = buildSchema(`
	type Query {
		"One pet by its id."
		pet(id: ID!): Pet
		pets(kinds: [Kind!], first: Int = 2): [Pet!]!
		everything: [Being!]!
		broken: Pet
		old: Int @deprecated(reason: "Use pet.")
	}
	type Mutation { addPet(input: NewPet!, dryRun: Boolean! = false): AddPetPayload }
	type Subscription { petAdded: Pet }
	enum Kind { DOG CAT }
	input NewPet { name: String!, kind: Kind = DOG, tags: [String!], friend: NewPet }
	type AddPetPayload { pet: Pet, dryRun: Boolean! }
	type Pet { id: ID!, name: String!, kind: Kind!, tags: [String!]!, owner: Person, friends(first: Int!): [Pet!]!, secret: String }
	type Person { id: Int!, name: String }
	union Being = Pet | Person
`);

interface Pet {
	id: string;
	name: string;
	kind: string;
	tags: string[];
	owner: { id: number; name: string } | null;
}

interface NewPet {
	name: string;
	kind: string;
	tags?: string[] | null;
	friend?: NewPet | null;
}

const REX: Pet = { id: '7', name: 'Rex', kind: 'DOG', tags: ['good'], owner: { id: 1, name: 'Ada' } };
const TOM: Pet = { id: '8', name: 'Tom', kind: 'CAT', tags: [], owner: null };

const show = (pet: Pet): object => ({
	...pet,
	__typename: 'Pet',
	friends: [],
	secret: () => {
		if (pet.id === '8') throw new Error('Tom keeps his secret');
		return 'bone';
	},
});

const ROOT = {
	pet: ({ id }: { id: string }) => [REX, TOM].filter((pet) => pet.id === id).map(show)[0] ?? null,
	pets: ({ kinds, first }: { kinds?: string[] | null; first: number }) =>
		[REX, TOM]
			.filter(({ kind }) => kinds?.includes(kind) ?? true)
			.slice(0, first)
			.map(show),
	everything: () => [show(REX), { __typename: 'Person', id: 1, name: 'Ada' }],
	broken: () => {
		throw new Error('no such shelf');
	},
	old: 1,
	addPet: ({ input, dryRun }: { input: NewPet; dryRun: boolean }) => ({
		pet: show({ id: '9', name: input.name, kind: input.kind, tags: input.tags ?? [], owner: null }),
		dryRun,
	}),
};

export interface GraphqlRequest {
	url: string;
	headers: IncomingHttpHeaders;
	query: string;
	variables: Record<string, unknown>;
}

export interface GraphqlServer extends Upstream {
	/** The requests posted to `/graphql`, without introspection. */
	requests: GraphqlRequest[];
}

/** Starts the server at `/graphql`, for POST only. Requests that `isAllowed` rejects get 401. */
export async function graphqlServer(
	t: TestContext,
	isAllowed: (request: GraphqlRequest) => boolean | Promise<boolean> = () => true,
): Promise<GraphqlServer> {
	const requests: GraphqlRequest[] = [];
	const upstream = await httpUpstream(t, async (request, response) => {
		let body = '';
		for await (const chunk of request) body += chunk;
		if (request.method !== 'POST') return void response.writeHead(405).end('Must provide query string.');
		const { query, variables = {} } = JSON.parse(body);
		const isIntrospection = query.includes('__schema');
		const asked: GraphqlRequest = { url: request.url ?? '', headers: request.headers, query, variables };
		if (!isIntrospection) requests.push(asked);
		response.setHeader('content-type', 'application/graphql-response+json');
		if (!isIntrospection && !(await isAllowed(asked))) return void response.writeHead(401).end('{"errors":[{"message":"Who are you?"}]}');
		const result = await graphql({ schema: SCHEMA, source: query, rootValue: ROOT, variableValues: variables });
		response.writeHead(result.data === undefined ? 400 : 200).end(JSON.stringify(result));
	});
	return { ...upstream, requests };
}
