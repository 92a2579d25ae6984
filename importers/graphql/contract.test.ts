import { buildSchema, parse, print } from 'graphql';
import executor from '../../plugins/executors/graphql/index.ts';
import { importerContract } from '../../testing/importer.ts';
import importer from './index.ts';

const PETS = `
"""Pets and their owners."""
type Query { pet(id: ID!): Pet  pets(first: Int = 10, kinds: [Kind!], like: PetFilter): PetConnection!  search(words: String!): [Thing!]! }
type Mutation { addPet(input: NewPet!): Pet  "Removes one." removePet(id: ID!): Boolean! }
type Subscription { born: Pet }
enum Kind { DOG CAT }
input PetFilter { name: String kind: Kind not: PetFilter }
input NewPet { name: String! kind: Kind = DOG tags: [String!] }
interface Named { name: String! }
type Pet implements Named { id: ID! name: String! kind: Kind owner: Person friends(first: Int): [Pet!]! }
type Person implements Named { id: Int! name: String! pets: PetConnection! }
type PetConnection { nodes: [Pet!]! pageInfo: PageInfo! }
type PageInfo { hasNextPage: Boolean! }
union Thing = Pet | Person
`;
const CLASHES =
	'type Query { send: String SEND: String Read: String read: String other(a_b: Int, A: Int): String } type Mutation { send: String }';

const countOf = (sdl: string): number => {
	const schema = buildSchema(sdl);
	const roots = [schema.getQueryType(), schema.getMutationType(), schema.getSubscriptionType()];
	return roots.reduce((sum, root) => sum + Object.keys(root?.getFields() ?? {}).length, 0);
};
const sampleOf = (name: string, text: string) => {
	const document = parse(text);
	const definitions = document.definitions
		.toReversed()
		.map((node) => ('fields' in node && node.fields ? { ...node, fields: node.fields.toReversed() } : node));
	return { name, text, operations: countOf(text), shuffled: print({ ...document, definitions } as typeof document) };
};

importerContract(importer, {
	executors: [executor],
	samples: [sampleOf('pets', PETS), sampleOf('clashing names', CLASHES)],
	foreign: [
		'{"openapi":"3.1.0","paths":{}}',
		'swagger: "2.0"',
		'<definitions xmlns="http://schemas.xmlsoap.org/wsdl/"/>',
		'syntax = "proto3";',
	],
	broken: [
		{ text: 'type Query {\n  a: \n}', at: /line 3/i },
		{ text: 'type Query { a: Missing }', at: /Missing/ },
	],
	described: (text) => `type Query { ${JSON.stringify(text)} a: String }`,
});
