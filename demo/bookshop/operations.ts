// The bookshop's operations, by operationId, on a stock kept in memory. Requests arrive checked against the document.

import { BRANCHES } from './schemas.ts';
import { type Book, type Customer, type NewOrder, type Note, type Order, openShop, type Price, type Shop } from './shop.ts';

export interface Answer {
	status: number;
	body?: object;
	headers?: Record<string, string>;
}

export interface Input<P = unknown, B = unknown> {
	/** Parameters of the path, the query and the headers, under the names and with the types of the document. */
	parameters: P;
	body: B;
}

export type Handler = (input: Input) => Answer;

/** A refusal that the document declares. */
export class Refusal extends Error {
	readonly status: number;
	readonly code: string;
	constructor(status: number, code: string, message: string) {
		super(message);
		this.status = status;
		this.code = code;
	}
}

type Isbn = { isbn: string };
type Currency = { 'X-Currency': Price['currency'] };
type Paging = { limit: number; offset: number };
type BookFilter = { q?: string; genre?: string[]; maxPriceCents?: number; inStock: boolean; sort: 'title' | 'price' | 'published' };
type OrderFilter = { status?: string[]; customerId?: string; placedAfter?: string };
type NewBook = Omit<Book, 'stock'>;

/** P and B restate the types that the document promises, against which the request was checked. */
const checked =
	<P, B = undefined>(run: (input: Input<P, B>) => Answer): Handler =>
	(input) =>
		run(input as Input<P, B>);

/** Opens a shop with its initial stock: every start has the same books. */
export function createOperations(): Record<string, Handler> {
	const shop = openShop();
	return { ...bookOperations(shop), ...customerOperations(shop), ...orderOperations(shop), getStatus: () => status(shop) };
}

const status = (shop: Shop): Answer => ({ status: 200, body: { open: true, books: shop.books.size } });

const bookOperations = (shop: Shop): Record<string, Handler> => ({
	listBooks: checked<BookFilter & Paging & Currency>(({ parameters }) => {
		const books = searchBooks(shop, parameters).map((book) => showBook(book, parameters['X-Currency']));
		return { status: 200, body: pageOf('books', books, parameters) };
	}),
	addBook: checked<unknown, NewBook>(({ body }) => {
		if (shop.books.has(body.isbn)) throw new Refusal(409, 'isbn_taken', `Book ${body.isbn} is in the catalogue already.`);
		const book = { ...body, stock: new Map<string, number>() };
		shop.books.set(book.isbn, book);
		return { status: 201, body: showBook(book, 'EUR'), headers: { location: `/books/${book.isbn}` } };
	}),
	getBook: checked<Isbn & Currency & { branch?: string[] }>(({ parameters }) => {
		const book = findBook(shop, parameters.isbn);
		return { status: 200, body: showBook(book, parameters['X-Currency'], parameters.branch) };
	}),
	updateBook: checked<Isbn, Partial<Omit<NewBook, 'isbn'>>>(({ parameters, body }) => {
		const book = Object.assign(findBook(shop, parameters.isbn), body);
		return { status: 200, body: showBook(book, 'EUR') };
	}),
	removeBook: checked<Isbn>(({ parameters: { isbn } }) => {
		findBook(shop, isbn);
		const ordered = [...shop.orders.values()].some(({ lines }) => lines.some((line) => line.isbn === isbn));
		if (ordered) throw new Refusal(409, 'ordered', `Book ${isbn} is in an order.`);
		shop.books.delete(isbn);
		return { status: 204 };
	}),
	setStock: checked<Isbn & { branch: string }, { copies: number }>(({ parameters: { isbn, branch }, body }) => {
		findBook(shop, isbn).stock.set(branch, body.copies);
		return { status: 200, body: { branch, copies: body.copies } };
	}),
});

const customerOperations = (shop: Shop): Record<string, Handler> => ({
	createCustomer: checked<unknown, Omit<Customer, 'id'>>(({ body }) => {
		const taken = [...shop.customers.values()].some(({ email }) => email.toLowerCase() === body.email.toLowerCase());
		if (taken) throw new Refusal(409, 'email_taken', 'There is a customer with this e-mail address.');
		const customer = { id: `cus-${shop.customers.size + 1}`, ...body };
		shop.customers.set(customer.id, customer);
		return { status: 201, body: customer, headers: { location: `/customers/${customer.id}` } };
	}),
	getCustomer: checked<{ customerId: string }>(({ parameters }) => ({ status: 200, body: findCustomer(shop, parameters.customerId) })),
});

const orderOperations = (shop: Shop): Record<string, Handler> => ({
	listOrders: checked<OrderFilter & Paging>(({ parameters }) => ({
		status: 200,
		body: pageOf('orders', filterOrders(shop, parameters), parameters),
	})),
	placeOrder: checked<{ 'Idempotency-Key'?: string }, NewOrder>(({ parameters, body }) => {
		const key = parameters['Idempotency-Key'];
		const former = key === undefined ? undefined : shop.ordersByKey.get(key);
		const order = former ?? placeOrder(shop, body);
		if (key !== undefined) shop.ordersByKey.set(key, order);
		return { status: 201, body: order, headers: { location: `/orders/${order.id}` } };
	}),
	getOrder: checked<{ orderId: string }>(({ parameters }) => ({ status: 200, body: findOrder(shop, parameters.orderId) })),
	addOrderNote: checked<{ orderId: string }, Note>(({ parameters, body }) => {
		const order = findOrder(shop, parameters.orderId);
		order.notes.push(body);
		return { status: 201, body: order };
	}),
});

function searchBooks(shop: Shop, filter: BookFilter): Book[] {
	const words = (filter.q ?? '').toLowerCase().split(/\s+/).filter(Boolean);
	const fits = (book: Book): boolean => {
		const spine = [book.title, ...book.authors].join(' ').toLowerCase();
		if (!words.every((word) => spine.includes(word))) return false;
		if (filter.genre && !filter.genre.includes(book.genre)) return false;
		if (filter.maxPriceCents !== undefined && book.priceCents > filter.maxPriceCents) return false;
		return !filter.inStock || copiesLeft(book) > 0;
	};
	const order = {
		title: (a: Book, b: Book) => a.title.localeCompare(b.title),
		price: (a: Book, b: Book) => a.priceCents - b.priceCents,
		published: (a: Book, b: Book) => a.published - b.published,
	};
	return [...shop.books.values()].filter(fits).sort(order[filter.sort]);
}

const filterOrders = (shop: Shop, { status, customerId, placedAfter }: OrderFilter): Order[] =>
	[...shop.orders.values()]
		.filter((order) => !status || status.includes(order.status))
		.filter((order) => customerId === undefined || order.customerId === customerId)
		.filter((order) => placedAfter === undefined || Date.parse(order.placedAt) >= Date.parse(placedAfter))
		.reverse();

function pageOf(name: string, items: object[], { limit, offset }: Paging): object {
	const end = offset + limit;
	return { [name]: items.slice(offset, end), total: items.length, nextOffset: end < items.length ? end : null };
}

/** Places an order: everything is checked before anything is taken. */
function placeOrder(shop: Shop, wanted: NewOrder): Order {
	findCustomer(shop, wanted.customerId);
	const copiesByIsbn = new Map<string, number>();
	for (const { isbn, copies } of wanted.lines) copiesByIsbn.set(isbn, (copiesByIsbn.get(isbn) ?? 0) + copies);
	let amount = 0;
	for (const [isbn, copies] of copiesByIsbn) {
		const book = findBook(shop, isbn);
		const left = copiesLeft(book);
		if (left < copies) throw new Refusal(409, 'sold_out', `Only ${left} copies of ${isbn} are left.`);
		amount += copies * book.priceCents;
	}
	for (const [isbn, copies] of copiesByIsbn) takeCopies(findBook(shop, isbn), copies);
	const order: Order = {
		id: `ord-${1000 + shop.orders.size + 1}`,
		...wanted,
		giftMessage: wanted.giftMessage ?? null,
		status: 'placed',
		total: { amount, currency: 'EUR' },
		placedAt: new Date().toISOString(),
		notes: [],
	};
	shop.orders.set(order.id, order);
	return order;
}

const copiesLeft = (book: Book): number => book.stock.values().reduce((sum, copies) => sum + copies, 0);

function takeCopies(book: Book, wanted: number): void {
	let missing = wanted;
	for (const [branch, copies] of book.stock) {
		const taken = Math.min(copies, missing);
		book.stock.set(branch, copies - taken);
		missing -= taken;
	}
}

const CENTS_PER_EURO_CENT: Record<Price['currency'], number> = { EUR: 1, USD: 1.1, GBP: 0.85 };

function showBook({ priceCents, stock, ...book }: Book, currency: Price['currency'], branches = BRANCHES): object {
	return {
		...book,
		price: { amount: Math.round(priceCents * CENTS_PER_EURO_CENT[currency]), currency },
		stock: branches.map((branch) => ({ branch, copies: stock.get(branch) ?? 0 })),
	};
}

const findBook = (shop: Shop, isbn: string): Book => found(shop.books.get(isbn), `book ${isbn}`);
const findCustomer = (shop: Shop, id: string): Customer => found(shop.customers.get(id), `customer ${id}`);
const findOrder = (shop: Shop, id: string): Order => found(shop.orders.get(id), `order ${id}`);

function found<T>(thing: T | undefined, what: string): T {
	if (thing === undefined) throw new Refusal(404, 'not_found', `There is no ${what}.`);
	return thing;
}
