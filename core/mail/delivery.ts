// The two ways that a mail goes: to the mail server of MAIL_*, or as a file into the data folder.

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { SendMailOptions } from 'nodemailer';
import type { Config } from '../config/config.ts';
import { parseAddress } from '../http/addresses.ts';
import { lazy } from '../kit/lazy.ts';
import type { Message } from './mail.ts';

/** One try. @throws Error whose `code` says what failed */
export type Deliver = (id: string, message: Message, signal: AbortSignal) => Promise<void>;

const SMTPS_PORT = 465;
const CONNECT_TIMEOUT_MS = 5000;
/** Of silence, once the server has greeted. */
const SOCKET_TIMEOUT_MS = 10_000;
/** Of a whole try: a server that answers byte by byte is never silent. */
const TRY_TIMEOUT_MS = 30_000;

/** A message holds texts alone; neither a file nor a URL is ever to be read for it. */
const NO_FETCHING = { disableFileAccess: true, disableUrlAccess: true };

export function overSmtp({ host, port, username, password }: NonNullable<Config['mail']>, from: string): Deliver {
	const options = {
		...NO_FETCHING,
		host,
		port,
		secure: port === SMTPS_PORT,
		// A password never crosses a network in the clear, whatever a machine between us and the server answers to EHLO.
		requireTLS: username !== null && !isLoopback(host),
		// A relay on this machine has a certificate that nobody signed, and nobody between us and it.
		...(isLoopback(host) && { tls: { rejectUnauthorized: false } }),
		...(username !== null && { auth: { user: username, pass: password ?? '' } }),
		dnsTimeout: CONNECT_TIMEOUT_MS,
		connectionTimeout: CONNECT_TIMEOUT_MS,
		greetingTimeout: CONNECT_TIMEOUT_MS,
		socketTimeout: SOCKET_TIMEOUT_MS,
	};
	const transport = lazy(async () => (await import('nodemailer')).createTransport(options));
	return async (id, message, signal) => {
		const limited = AbortSignal.any([signal, AbortSignal.timeout(TRY_TIMEOUT_MS)]);
		await (await transport()).sendMail({ ...compose(id, message, from), signal: limited });
	};
}

/** For a machine without a mail server: `<time>-<id>.eml`, readable by the service's own user. */
export function intoFolder(folder: string, from: string): Deliver {
	const options = { ...NO_FETCHING, streamTransport: true, buffer: true, newline: 'unix' } as const;
	const composer = lazy(async () => (await import('nodemailer')).createTransport(options));
	return async (id, message) => {
		const { message: composed } = await (await composer()).sendMail(compose(id, message, from));
		const [head = ''] = composed.toString().split('\n\n');
		// The text as it is: whoever reads it with a pager copies a link out of it, which no encoding shall have broken.
		const content = `${head.replace(/^(Content-Transfer-Encoding:) .*$/m, '$1 8bit')}\n\n${message.text}`;
		await mkdir(folder, { recursive: true, mode: 0o700 });
		const time = new Date().toISOString().replace(/[-:.]/g, '');
		await writeFile(join(folder, `${time}-${id}.eml`), content, { mode: 0o600, flag: 'wx' });
	};
}

/** The envelope is given, not derived: who gets it is not read out of a header. */
function compose(id: string, { to, subject, text }: Message, from: string): SendMailOptions {
	return {
		from: { name: 'Gatehouse', address: from },
		to: { name: '', address: to },
		envelope: { from, to: [to] },
		// The same on every try, so that a server which took one and broke off can tell the next for the same mail.
		messageId: `<${id}@${from.slice(from.lastIndexOf('@') + 1)}>`,
		subject,
		text,
		// RFC 3834 §5: no machine shall answer it.
		headers: { 'auto-submitted': 'auto-generated' },
	};
}

function isLoopback(host: string): boolean {
	return host === 'localhost' || parseAddress(host)?.range() === 'loopback';
}
