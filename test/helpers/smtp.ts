// A real SMTP server that returns the mails it received, and one that accepts connections and stays silent.

import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import PostalMime, { type Email } from 'postal-mime';
import { SMTPServer, type SMTPServerSession } from 'smtp-server';
import { PATIENCE_MS } from './clock.ts';

export interface ReceivedMail {
	/** The envelope: the sender and the actual recipients. */
	from: string;
	to: string[];
	mail: Email;
	raw: string;
	secure: boolean;
	user: string | null;
}

export interface TestSmtp extends AsyncDisposable {
	/** The variables that point a service at this server. */
	env: Record<string, string>;
	/** Resolves with the next mail that was not returned yet. */
	next(): Promise<ReceivedMail>;
	/** The number of attempted logins. */
	readonly logins: number;
	/** The number of recipients named so far, refused ones included. */
	readonly tries: number;
	/** The number of mails that were not returned yet. */
	readonly waiting: number;
	stop(): Promise<void>;
}

const certificate = (part: string): string =>
	readFileSync(new URL(`../fixtures/tls/upstream.example.${part}.pem`, import.meta.url), 'utf8');

interface SmtpOptions {
	host?: string;
	/** Reply codes for the first recipients, in order. */
	refusals?: number[];
	/** The only login that is accepted. */
	login?: { user: string; pass: string } | null;
	/** Offers STARTTLS with a self-signed certificate; without it, logins are accepted unencrypted. */
	tls?: boolean;
}

export async function startSmtp({ host = '127.0.0.1', refusals = [], login = null, tls = false }: SmtpOptions = {}): Promise<TestSmtp> {
	const inbox = createInbox();
	let tries = 0;
	let logins = 0;
	const server = new SMTPServer({
		...(tls ? { key: certificate('key'), cert: certificate('cert') } : { disabledCommands: ['STARTTLS'], allowInsecureAuth: true }),
		authOptional: login === null,
		onAuth: ({ username, password }, _session, callback) => {
			logins++;
			callback(username === login?.user && password === login?.pass ? null : new Error('wrong'), { user: username });
		},
		onRcptTo: (_address, _session, callback) => callback(refusal(refusals[tries++])),
		onData: (stream, session, callback) => {
			void receive(stream, session).then((mail) => {
				inbox.put(mail);
				callback();
			});
		},
	});
	server.on('error', () => undefined);
	await new Promise<void>((resolve) => server.listen(0, host, resolve));
	// The server listens on TCP, so the address has this form.
	const { port } = server.server.address() as AddressInfo;
	const stop = (): Promise<void> => new Promise((resolve) => server.close(() => resolve()));
	return {
		env: { MAIL_HOST: host, MAIL_PORT: String(port), ...(login && { MAIL_USER: login.user, MAIL_PASS: login.pass }) },
		next: () => inbox.next(),
		get logins() {
			return logins;
		},
		get tries() {
			return tries;
		},
		get waiting() {
			return inbox.waiting();
		},
		stop,
		[Symbol.asyncDispose]: stop,
	};
}

const refusal = (code: number | undefined): Error | null =>
	code === undefined ? null : Object.assign(new Error('not now'), { responseCode: code });

async function receive(stream: NodeJS.ReadableStream, session: SMTPServerSession): Promise<ReceivedMail> {
	const content = await buffer(stream);
	const { mailFrom, rcptTo } = session.envelope;
	return {
		from: mailFrom ? mailFrom.address : '',
		to: rcptTo.map(({ address }) => address),
		mail: await PostalMime.parse(content),
		raw: content.toString(),
		secure: session.secure,
		user: typeof session.user === 'string' ? session.user : null,
	};
}

function createInbox(): { put(mail: ReceivedMail): void; next(): Promise<ReceivedMail>; waiting(): number } {
	const arrived: ReceivedMail[] = [];
	const waiters: ((mail: ReceivedMail) => void)[] = [];
	return {
		put(mail) {
			const waiter = waiters.shift();
			if (waiter) waiter(mail);
			else arrived.push(mail);
		},
		next() {
			const mail = arrived.shift();
			if (mail) return Promise.resolve(mail);
			return new Promise((resolve, reject) => {
				const take = (received: ReceivedMail): void => {
					clearTimeout(timer);
					resolve(received);
				};
				const timer = setTimeout(() => {
					waiters.splice(waiters.indexOf(take), 1);
					reject(new Error('no mail came'));
				}, PATIENCE_MS);
				waiters.push(take);
			});
		},
		waiting: () => arrived.length,
	};
}

interface MuteSmtp extends AsyncDisposable {
	env: Record<string, string>;
	connections(): number;
	stop(): Promise<void>;
}

export async function startMuteSmtp(): Promise<MuteSmtp> {
	const sockets = new Set<Socket>();
	const server = createServer((socket) => void sockets.add(socket.on('error', () => undefined)));
	server.listen(0, '127.0.0.1');
	await once(server, 'listening');
	// This server listens on TCP too.
	const { port } = server.address() as AddressInfo;
	const stop = async (): Promise<void> => {
		for (const socket of sockets) socket.destroy();
		server.close();
		await once(server, 'close');
	};
	return {
		env: { MAIL_HOST: '127.0.0.1', MAIL_PORT: String(port) },
		connections: () => sockets.size,
		stop,
		[Symbol.asyncDispose]: stop,
	};
}
