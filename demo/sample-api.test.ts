// The bookshop's document is correct: every answer that it declares is provoked once, and matches its description.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { OpenApiDocument, Operation } from './bookshop/document.ts';
import { type SampleApi, startSampleApi } from './sample-api.ts';

type Case = [operationId: string, status: number, path: string, body?: unknown, headers?: Record<string, string>];

const ADDRESS = { street: 'Rua Larga 3', city: 'Coimbra', postalCode: '3000-141', country: 'PT' };
const CUSTOMER = { name: 'Rui Lopes', email: 'rui@example.com', address: ADDRESS };
const BOOK = {
	isbn: '9780141439471',
	title: 'Frankenstein',
	authors: ['Mary Shelley'],
	genre: 'fiction',
	published: 1818,
	priceCents: 995,
};
const ORDER = { customerId: 'cus-1', lines: [{ isbn: '9780141439518', copies: 2 }], delivery: { method: 'courier', address: ADDRESS } };
const line = (isbn: string, copies: number): object => ({ ...ORDER, lines: [{ isbn, copies }] });

/** The order matters: later cases use the results of earlier ones. */
const CASES: Case[] = [
	['getStatus', 200, '/status'],
	['listBooks', 200, '/books?q=austen&genre=fiction&genre=poetry&maxPriceCents=2000&inStock=true&sort=price&limit=5&offset=0'],
	['listBooks', 400, '/books?limit=51'],
	['addBook', 201, '/books', BOOK],
	['addBook', 400, '/books', { ...BOOK, authors: [] }],
	['addBook', 409, '/books', BOOK],
	['getBook', 200, '/books/9780141439518?branch=lisbon,porto', undefined, { 'x-currency': 'USD' }],
	['getBook', 400, '/books/9780141439518?branch=paris'],
	['getBook', 404, '/books/9790000000000'],
	['updateBook', 200, '/books/9780141439471', { priceCents: 1095 }],
	['updateBook', 400, '/books/9780141439471', {}],
	['updateBook', 404, '/books/9790000000000', { priceCents: 1 }],
	['setStock', 200, '/books/9780141439471/stock/porto', { copies: 12 }],
	['setStock', 400, '/books/9780141439471/stock/porto', { copies: '12' }],
	['setStock', 404, '/books/9790000000000/stock/porto', { copies: 1 }],
	['createCustomer', 201, '/customers', CUSTOMER],
	['createCustomer', 400, '/customers', { ...CUSTOMER, email: 'nobody' }],
	['createCustomer', 409, '/customers', { ...CUSTOMER, email: 'RUI@example.com' }],
	['getCustomer', 200, '/customers/cus-2'],
	['getCustomer', 400, '/customers/2'],
	['getCustomer', 404, '/customers/cus-99'],
	['placeOrder', 201, '/orders', ORDER, { 'idempotency-key': 'once-only' }],
	['placeOrder', 400, '/orders', { ...ORDER, lines: [] }],
	['placeOrder', 404, '/orders', line('9790000000000', 1)],
	['placeOrder', 409, '/orders', line('9780345539434', 1)],
	['listOrders', 200, '/orders?status=placed,packed&customerId=cus-1&placedAfter=2020-01-01T00:00:00Z'],
	['listOrders', 400, '/orders?placedAfter=yesterday'],
	['getOrder', 200, '/orders/ord-1001'],
	['getOrder', 400, '/orders/1001'],
	['getOrder', 404, '/orders/ord-9999'],
	['addOrderNote', 201, '/orders/ord-1001/notes', new URLSearchParams({ text: 'Ring twice', visibleToCustomer: 'true' })],
	['addOrderNote', 400, '/orders/ord-1001/notes', new URLSearchParams({ text: '' })],
	['addOrderNote', 404, '/orders/ord-9999/notes', new URLSearchParams({ text: 'Ring twice' })],
	['removeBook', 204, '/books/9780141439471'],
	['removeBook', 400, '/books/frankenstein'],
	['removeBook', 404, '/books/9780141439471'],
	['removeBook', 409, '/books/9780141439518'],
];

describe('the sample API', () => {
	let shop: SampleApi;
	let document: OpenApiDocument;
	let ajv: Ajv2020;
	/** Operations by operationId. */
	let operations: Map<string, Operation & { method: string }>;

	before(async () => {
		shop = await startSampleApi();
		// The bookshop serves the result of `describeBookshop`.
		document = (await (await fetch(`${shop.url}/openapi.json`)).json()) as OpenApiDocument;
		ajv = new Ajv2020({ strict: false, allErrors: true });
		// ajv-formats is CommonJS: its types put the function under `default`, Node passes the function itself.
		(addFormats as unknown as (ajv: Ajv2020) => void)(ajv);
		ajv.addSchema(document, 'shop');
		const all = Object.values(document.paths).flatMap((methods) => Object.entries(methods));
		operations = new Map(all.map(([method, operation]) => [operation.operationId, { ...operation, method: method.toUpperCase() }]));
	});
	after(() => shop.stop());

	function send([operationId, , path, body, headers]: Case): Promise<Response> {
		const form = body instanceof URLSearchParams;
		const type = body === undefined || form ? {} : { 'content-type': 'application/json' };
		return fetch(shop.url + path, {
			method: operations.get(operationId)?.method ?? 'GET',
			headers: { 'x-shop-key': shop.apiKey, ...type, ...headers },
			...(body === undefined ? {} : { body: form || typeof body === 'string' ? body : JSON.stringify(body) }),
		});
	}

	/** Checks that the answer has the expected status, that the document describes it, and that its body matches. */
	async function check(expected: Case): Promise<void> {
		const [operationId, status] = expected;
		const response = await send(expected);
		const text = await response.text();
		const what = `${operationId} ${status}: ${text}`;
		assert.equal(response.status, status, what);
		const described = resolve(operations.get(operationId)?.responses[status]);
		assert.ok(described, `${what} is not described`);
		const schema = described.content?.['application/json']?.schema;
		if (!schema) return assert.equal(text, '', what);
		assert.equal(response.headers.get('content-type'), 'application/json', what);
		const fits = ajv.compile(absolute(schema));
		assert.ok(fits(JSON.parse(text)), `${what} ${ajv.errorsText(fits.errors)}`);
	}

	type Described = { content?: Record<string, { schema: object; example?: unknown }> };

	function resolve(response: unknown): Described | undefined {
		const pointer = (response as { $ref?: string } | undefined)?.$ref;
		// The Reference and Response Objects of OpenAPI 3.1 promise this shape.
		return (pointer ? document.components.responses[pointer.split('/').at(-1) ?? ''] : response) as Described | undefined;
	}

	const absolute = (schema: object): object => ('$ref' in schema ? { $ref: `shop${schema.$ref}` } : schema);

	test('answers every operation as its document says', async () => {
		for (const one of CASES) await check(one);
	});

	test('asks for the key wherever its document says so, and only there', async () => {
		for (const [operationId, , path, body] of CASES.filter(([, status]) => status < 300)) {
			const open = operations.get(operationId)?.security?.length === 0;
			const wrong = { 'x-shop-key': `${shop.apiKey}x` };
			if (open) assert.equal((await send([operationId, 200, path, body, wrong])).status, 200);
			else await check([operationId, 401, path, body, wrong]);
		}
	});

	test('refuses bodies of another kind and of more than 64 KiB', async () => {
		for (const [operationId, , path, body] of CASES.filter(([, status, , body]) => status < 300 && body !== undefined)) {
			await check([operationId, 415, path, JSON.stringify(body), { 'content-type': 'text/plain' }]);
			await check([operationId, 413, path, ' '.repeat(65_537)]);
		}
	});

	test('has a case above for every answer that its document declares', () => {
		const tried = new Set(CASES.map(([operationId, status]) => `${operationId} ${status}`));
		const missing = [...operations.values()]
			.flatMap(({ operationId, responses }) => Object.keys(responses).map((status) => `${operationId} ${status}`))
			.filter((name) => !tried.has(name) && !/ (401|413|415)$/.test(name));
		assert.deepEqual(missing, []);
	});

	test('shows examples that fit their own schemas', () => {
		const contents = [...operations.values()].flatMap(({ requestBody, responses }) => [
			...Object.values(requestBody?.content ?? {}),
			...Object.values(responses).flatMap((response) => Object.values(resolve(response)?.content ?? {})),
		]);
		const examples = contents.filter(({ example }) => example !== undefined);
		assert.ok(examples.length > 20);
		for (const { schema, example } of examples)
			assert.ok(ajv.validate(absolute(schema), example), `${JSON.stringify(example)}: ${ajv.errorsText()}`);
	});

	test('reads repeated, comma-separated and header parameters', async () => {
		const list = await (await send(['listBooks', 200, '/books?genre=science&genre=poetry&sort=published&limit=2'])).json();
		// The document promises this shape, which was checked above.
		const page = list as { books: { title: string }[]; total: number; nextOffset: number };
		assert.deepEqual([page.books.map(({ title }) => title), page.total, page.nextOffset], [['Paradise Lost', 'Cosmos'], 3, 2]);
		const one = await (
			await send(['getBook', 200, '/books/9780140424393?branch=porto,coimbra', undefined, { 'x-currency': 'GBP' }])
		).json();
		assert.deepEqual((one as { stock: object[] }).stock, [
			{ branch: 'porto', copies: 2 },
			{ branch: 'coimbra', copies: 1 },
		]);
		assert.deepEqual((one as { price: object }).price, { amount: 978, currency: 'GBP' });
	});

	test('places an order once for one Idempotency-Key', async () => {
		const twice: Case = ['placeOrder', 201, '/orders', line('9780142437247', 1), { 'idempotency-key': 'the-same-key' }];
		const [first, second] = [await (await send(twice)).json(), await (await send(twice)).json()];
		assert.deepEqual(second, first);
	});
});
