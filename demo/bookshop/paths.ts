// The bookshop's operations, by path and method.

import type { OpenApiDocument, Parameter, RequestBody, Schema } from './document.ts';
import {
	answer,
	BRANCHES,
	CURRENCIES,
	customerIdSchema,
	GENRES,
	isbnSchema,
	orderIdSchema,
	ref,
	type responses,
	STATUSES,
} from './schemas.ts';

/** Lists the failures that an operation may answer with, by status. */
const failures = (...statuses: (keyof typeof responses)[]): Record<string, Schema> =>
	Object.fromEntries(statuses.map((status) => [status, { $ref: `#/components/responses/${status}` }]));

const isbn: Parameter = { name: 'isbn', in: 'path', required: true, description: 'ISBN-13 without hyphens.', schema: isbnSchema };
const orderId: Parameter = {
	name: 'orderId',
	in: 'path',
	required: true,
	description: 'As returned when the order was placed.',
	schema: orderIdSchema,
};
const currency: Parameter = {
	name: 'X-Currency',
	in: 'header',
	description: 'Currency of the prices in the answer.',
	schema: { type: 'string', enum: CURRENCIES, default: 'EUR' },
};
const limit: Parameter = {
	name: 'limit',
	in: 'query',
	description: 'Greatest number of entries in the answer.',
	schema: { type: 'integer', minimum: 1, maximum: 50, default: 10 },
};
const offset: Parameter = {
	name: 'offset',
	in: 'query',
	description: 'Entries to leave out from the beginning: `nextOffset` of the previous answer.',
	schema: { type: 'integer', minimum: 0, default: 0 },
};

const json = (name: string, example: unknown): RequestBody => ({
	required: true,
	content: { 'application/json': { schema: ref(name), example } },
});

const bookPaths: OpenApiDocument['paths'] = {
	'/books': {
		get: {
			operationId: 'listBooks',
			summary: 'Search the catalogue',
			description: 'Books that fit every filter given, a page at a time.',
			tags: ['books'],
			parameters: [
				{ name: 'q', in: 'query', description: 'Words of the title or of an author.', schema: { type: 'string', maxLength: 100 } },
				{
					name: 'genre',
					in: 'query',
					description: 'Any of these genres, repeated: `genre=science&genre=essays`.',
					schema: { type: 'array', items: { type: 'string', enum: GENRES }, maxItems: GENRES.length },
				},
				{
					name: 'maxPriceCents',
					in: 'query',
					description: 'Greatest price, in cents of EUR.',
					schema: { type: 'integer', minimum: 0 },
				},
				{
					name: 'inStock',
					in: 'query',
					description: 'Only books that some branch has in stock.',
					schema: { type: 'boolean', default: false },
				},
				{
					name: 'sort',
					in: 'query',
					description: 'Order of the answer.',
					schema: { type: 'string', enum: ['title', 'price', 'published'], default: 'title' },
				},
				limit,
				offset,
				currency,
			],
			responses: { 200: answer('A page of books.', 'BookPage'), ...failures(400, 401) },
		},
		post: {
			operationId: 'addBook',
			summary: 'Add a book',
			description: 'Puts a new book into the catalogue, with nothing in stock.',
			tags: ['books'],
			requestBody: json('NewBook', {
				isbn: '9780141439471',
				title: 'Frankenstein',
				authors: ['Mary Shelley'],
				genre: 'fiction',
				published: 1818,
				priceCents: 995,
			}),
			responses: { 201: answer('The book.', 'Book'), ...failures(400, 401, 409, 413, 415) },
		},
	},
	'/books/{isbn}': {
		get: {
			operationId: 'getBook',
			summary: 'Look up a book',
			description: 'One book, with its stock per branch.',
			tags: ['books'],
			parameters: [
				isbn,
				{
					name: 'branch',
					in: 'query',
					explode: false,
					description: 'Stock of these branches only, separated by commas: `branch=lisbon,porto`.',
					schema: { type: 'array', items: { type: 'string', enum: BRANCHES }, maxItems: BRANCHES.length },
				},
				currency,
			],
			responses: { 200: answer('The book.', 'Book'), ...failures(400, 401, 404) },
		},
		patch: {
			operationId: 'updateBook',
			summary: 'Change a book',
			description: 'Changes the fields given and leaves the others.',
			tags: ['books'],
			parameters: [isbn],
			requestBody: json('BookChange', { priceCents: 1095 }),
			responses: { 200: answer('The book as it is now.', 'Book'), ...failures(400, 401, 404, 413, 415) },
		},
		delete: {
			operationId: 'removeBook',
			summary: 'Remove a book',
			description: 'Takes a book out of the catalogue. A book that somebody ordered stays.',
			tags: ['books'],
			parameters: [isbn],
			responses: { 204: { description: 'The book was removed.' }, ...failures(400, 401, 404, 409) },
		},
	},
	'/books/{isbn}/stock/{branch}': {
		put: {
			operationId: 'setStock',
			summary: 'Count the shelf',
			description: 'Sets how many copies a branch has.',
			tags: ['books'],
			parameters: [
				isbn,
				{ name: 'branch', in: 'path', required: true, description: 'The branch.', schema: { type: 'string', enum: BRANCHES } },
			],
			requestBody: json('StockCount', { copies: 12 }),
			responses: { 200: answer('The stock of the branch now.', 'StockLevel'), ...failures(400, 401, 404, 413, 415) },
		},
	},
};

const customerPaths: OpenApiDocument['paths'] = {
	'/customers': {
		post: {
			operationId: 'createCustomer',
			summary: 'Register a customer',
			description: 'Adds a customer with the address that orders go to.',
			tags: ['customers'],
			requestBody: json('NewCustomer', {
				name: 'Inês Duarte',
				email: 'ines@example.com',
				address: { street: 'Rua das Flores 12', city: 'Porto', postalCode: '4050-262', country: 'PT' },
			}),
			responses: { 201: answer('The customer.', 'Customer'), ...failures(400, 401, 409, 413, 415) },
		},
	},
	'/customers/{customerId}': {
		get: {
			operationId: 'getCustomer',
			summary: 'Look up a customer',
			description: 'One customer.',
			tags: ['customers'],
			parameters: [
				{ name: 'customerId', in: 'path', required: true, description: 'As returned at registration.', schema: customerIdSchema },
			],
			responses: { 200: answer('The customer.', 'Customer'), ...failures(400, 401, 404) },
		},
	},
};

const orderPaths: OpenApiDocument['paths'] = {
	'/orders': {
		get: {
			operationId: 'listOrders',
			summary: 'List orders',
			description: 'Orders that fit every filter given, newest first.',
			tags: ['orders'],
			parameters: [
				{
					name: 'status',
					in: 'query',
					explode: false,
					description: 'Any of these, separated by commas: `status=placed,packed`.',
					schema: { type: 'array', items: { type: 'string', enum: STATUSES }, maxItems: STATUSES.length },
				},
				{ name: 'customerId', in: 'query', description: 'Only orders of this customer.', schema: customerIdSchema },
				{
					name: 'placedAfter',
					in: 'query',
					description: 'Placed at this time or later (RFC 3339).',
					schema: { type: 'string', format: 'date-time' },
				},
				limit,
				offset,
			],
			responses: { 200: answer('A page of orders.', 'OrderPage'), ...failures(400, 401) },
		},
		post: {
			operationId: 'placeOrder',
			summary: 'Place an order',
			description: 'Orders books for a customer and takes them off the shelves. All lines are taken, or none.',
			tags: ['orders'],
			parameters: [
				{
					name: 'Idempotency-Key',
					in: 'header',
					description: 'A repeated request with the same key answers with the order that the first one placed.',
					schema: { type: 'string', minLength: 8, maxLength: 64 },
				},
			],
			requestBody: json('NewOrder', {
				customerId: 'cus-1',
				lines: [{ isbn: '9780141439518', copies: 2 }],
				delivery: { method: 'post', address: null },
				giftMessage: 'Happy birthday!',
			}),
			responses: { 201: answer('The order.', 'Order'), ...failures(400, 401, 404, 409, 413, 415) },
		},
	},
	'/orders/{orderId}': {
		get: {
			operationId: 'getOrder',
			summary: 'Look up an order',
			description: 'One order with its lines and notes.',
			tags: ['orders'],
			parameters: [orderId],
			responses: { 200: answer('The order.', 'Order'), ...failures(400, 401, 404) },
		},
	},
	'/orders/{orderId}/notes': {
		post: {
			operationId: 'addOrderNote',
			summary: 'Write a note on an order',
			description: 'Adds a note for the staff, or for the customer to read.',
			tags: ['orders'],
			parameters: [orderId],
			requestBody: {
				required: true,
				content: {
					'application/x-www-form-urlencoded': { schema: ref('NewNote'), example: { text: 'Ring twice', visibleToCustomer: false } },
				},
			},
			responses: { 201: answer('The order with its notes.', 'Order'), ...failures(400, 401, 404, 413, 415) },
		},
	},
};

const servicePaths: OpenApiDocument['paths'] = {
	'/status': {
		get: {
			operationId: 'getStatus',
			summary: 'Is the shop open',
			description: 'The only operation that requires no key.',
			tags: ['service'],
			security: [],
			responses: { 200: answer('The state of the shop.', 'Status', { open: true, books: 8 }) },
		},
	},
};

export const paths: OpenApiDocument['paths'] = { ...bookPaths, ...customerPaths, ...orderPaths, ...servicePaths };
