// The bookshop's nouns, as JSON Schema 2020-12, and the answers that its operations share.

import type { Schema } from './document.ts';

export const GENRES = ['fiction', 'poetry', 'science', 'history', 'essays'];
export const BRANCHES = ['lisbon', 'porto', 'coimbra'];
export const CURRENCIES = ['EUR', 'USD', 'GBP'];
export const STATUSES = ['placed', 'packed', 'shipped'];

export const isbnSchema = { type: 'string', pattern: '^97[89][0-9]{10}$', examples: ['9780141439518'] };
export const orderIdSchema = { type: 'string', pattern: '^ord-[0-9]{4,8}$', examples: ['ord-1001'] };
export const customerIdSchema = { type: 'string', pattern: '^cus-[0-9]{1,8}$', examples: ['cus-1'] };

export const ref = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` });
export const answer = (description: string, name: string, example?: unknown): Schema => ({
	description,
	content: { 'application/json': { schema: ref(name), ...(example === undefined ? {} : { example }) } },
});

const object = (properties: Record<string, Schema>, optional: string[] = []): Schema => ({
	type: 'object',
	required: Object.keys(properties).filter((name) => !optional.includes(name)),
	additionalProperties: false,
	properties,
});

const text = (description: string, maxLength = 200): Schema => ({ type: 'string', minLength: 1, maxLength, description });
const copies = (minimum: number): Schema => ({ type: 'integer', minimum, maximum: 10_000, description: 'Number of copies.' });

const bookFields = {
	title: text('Title.'),
	authors: { type: 'array', items: text('Name of an author.'), minItems: 1, maxItems: 10 },
	genre: { type: 'string', enum: GENRES },
	published: { type: 'integer', minimum: 1450, maximum: 2100, description: 'Year of the first edition.' },
};

const newBookFields = { ...bookFields, priceCents: { type: 'integer', minimum: 0, description: 'In cents of EUR.' } };

const newCustomerFields = {
	name: text('Full name.'),
	email: { type: 'string', format: 'email', maxLength: 254 },
	address: ref('Address'),
};

const newOrderFields = {
	customerId: customerIdSchema,
	lines: {
		type: 'array',
		items: object({ isbn: isbnSchema, copies: copies(1) }),
		minItems: 1,
		maxItems: 20,
		description: 'The books ordered, one line per book.',
	},
	delivery: object({
		method: { type: 'string', enum: ['post', 'courier', 'pickup'] },
		address: { oneOf: [ref('Address'), { type: 'null' }], description: 'Null: the customer’s own.' },
	}),
	giftMessage: { type: ['string', 'null'], maxLength: 300, description: 'Printed on the card; null for none.' },
};

const page = (name: string, item: string): Schema =>
	object({
		[name]: { type: 'array', items: ref(item) },
		total: { type: 'integer', minimum: 0, description: 'Number of items on all pages.' },
		nextOffset: { type: ['integer', 'null'], description: 'Null on the last page.' },
	});

export const schemas: Record<string, Schema> = {
	Address: object({
		street: text('Street and number.'),
		city: text('City.', 100),
		postalCode: text('Postal code.', 12),
		country: { type: 'string', pattern: '^[A-Z]{2}$', description: 'ISO 3166-1 alpha-2.' },
	}),
	Price: object({
		amount: { type: 'integer', minimum: 0, description: 'In cents of the currency.' },
		currency: { type: 'string', enum: CURRENCIES },
	}),
	StockLevel: object({ branch: { type: 'string', enum: BRANCHES }, copies: copies(0) }),
	StockCount: object({ copies: copies(0) }),
	Book: object({ isbn: isbnSchema, ...bookFields, price: ref('Price'), stock: { type: 'array', items: ref('StockLevel') } }),
	NewBook: object({ isbn: isbnSchema, ...newBookFields }),
	BookChange: { ...object(newBookFields, Object.keys(newBookFields)), minProperties: 1 },
	BookPage: page('books', 'Book'),
	NewCustomer: object(newCustomerFields),
	Customer: object({ id: customerIdSchema, ...newCustomerFields }),
	NewOrder: object(newOrderFields, ['giftMessage']),
	NewNote: object({ text: text('The text of the note.', 500), visibleToCustomer: { type: 'boolean', default: false } }, [
		'visibleToCustomer',
	]),
	Order: object({
		id: orderIdSchema,
		...newOrderFields,
		status: { type: 'string', enum: STATUSES },
		total: ref('Price'),
		placedAt: { type: 'string', format: 'date-time' },
		notes: { type: 'array', items: object({ text: { type: 'string' }, visibleToCustomer: { type: 'boolean' } }) },
	}),
	OrderPage: page('orders', 'Order'),
	Status: object({ open: { type: 'boolean' }, books: { type: 'integer', minimum: 0 } }),
	Failure: object({
		code: { type: 'string', description: 'For programs.' },
		message: { type: 'string', description: 'For people.' },
	}),
};

export const responses = {
	400: answer('Something in the request is not as described.', 'Failure', { code: 'invalid', message: 'query limit must be <= 50' }),
	401: answer('The key is missing or not known.', 'Failure', { code: 'key_needed', message: 'Send your key as X-Shop-Key.' }),
	404: answer('There is no such resource.', 'Failure', { code: 'not_found', message: 'There is no order ord-9999.' }),
	409: answer('The request conflicts with the current state.', 'Failure', {
		code: 'sold_out',
		message: 'Only 3 copies of 9780141439518 are left.',
	}),
	413: answer('The body is too large.', 'Failure'),
	415: answer('The media type of the body is not supported.', 'Failure'),
};
