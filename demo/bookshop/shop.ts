// The bookshop's data: its books, its customers and their orders.

export interface Price {
	/** In cents of the currency. */
	amount: number;
	currency: 'EUR' | 'USD' | 'GBP';
}

export interface Book {
	isbn: string;
	title: string;
	authors: string[];
	genre: string;
	published: number;
	/** In cents of EUR. */
	priceCents: number;
	/** Copies by branch. */
	stock: Map<string, number>;
}

export interface Address {
	street: string;
	city: string;
	postalCode: string;
	country: string;
}

export interface Customer {
	id: string;
	name: string;
	email: string;
	address: Address;
}

export interface NewOrder {
	customerId: string;
	lines: { isbn: string; copies: number }[];
	delivery: { method: 'post' | 'courier' | 'pickup'; address: Address | null };
	giftMessage?: string | null;
}

export interface Note {
	text: string;
	visibleToCustomer: boolean;
}

export interface Order extends NewOrder {
	id: string;
	giftMessage: string | null;
	status: 'placed' | 'packed' | 'shipped';
	total: Price;
	/** RFC 3339. */
	placedAt: string;
	notes: Note[];
}

export interface Shop {
	books: Map<string, Book>;
	customers: Map<string, Customer>;
	orders: Map<string, Order>;
	/** Orders by the Idempotency-Key of their request. */
	ordersByKey: Map<string, Order>;
}

export function openShop(): Shop {
	const books = CATALOGUE.map(([isbn, title, author, genre, published, priceCents, lisbon, porto, coimbra]): Book => {
		const stock = new Map(Object.entries({ lisbon, porto, coimbra }));
		return { isbn, title, authors: [author], genre, published, priceCents, stock };
	});
	return {
		books: new Map(books.map((book) => [book.isbn, book])),
		customers: new Map([[FIRST_CUSTOMER.id, FIRST_CUSTOMER]]),
		orders: new Map(),
		ordersByKey: new Map(),
	};
}

type CatalogueLine = [
	isbn: string,
	title: string,
	author: string,
	genre: string,
	published: number,
	priceCents: number,
	lisbon: number,
	porto: number,
	coimbra: number,
];

const CATALOGUE: CatalogueLine[] = [
	['9780141439518', 'Pride and Prejudice', 'Jane Austen', 'fiction', 1813, 1295, 6, 3, 2],
	['9780142437247', 'Moby-Dick', 'Herman Melville', 'fiction', 1851, 1450, 2, 0, 1],
	['9780141439549', 'Middlemarch', 'George Eliot', 'fiction', 1871, 1395, 4, 1, 0],
	['9780140424393', 'Paradise Lost', 'John Milton', 'poetry', 1667, 1150, 1, 2, 1],
	['9780553380163', 'A Brief History of Time', 'Stephen Hawking', 'science', 1988, 1695, 5, 4, 3],
	['9780345539434', 'Cosmos', 'Carl Sagan', 'science', 1980, 1795, 0, 0, 0],
	['9780140449129', 'The Histories', 'Herodotus', 'history', 1502, 1595, 2, 2, 0],
	['9780140446029', 'Essays', 'Michel de Montaigne', 'essays', 1580, 1350, 3, 0, 2],
];

const FIRST_CUSTOMER: Customer = {
	id: 'cus-1',
	name: 'Inês Duarte',
	email: 'ines@example.com',
	address: { street: 'Rua das Flores 12', city: 'Porto', postalCode: '4050-262', country: 'PT' },
};
