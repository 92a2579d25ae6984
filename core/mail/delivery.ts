// The two ways to deliver a mail: over the mail server of MAIL_*, or as a file in the data folder.

import { mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { SendMailOptions } from 'nodemailer';
import type { Config } from '../config/config.ts';
import { parseAddress } from '../kit/ip-addresses.ts';
import { lazy } from '../kit/lazy.ts';
import type { Message } from './mail.ts';

/** Tries once to deliver a message. @throws Error whose `code` says what failed */
export type Deliver = (id: string, message: Message, signal: AbortSignal) => Promise<void>;

const SMTPS_PORT = 465;
const CONNECT_TIMEOUT_MS = 5000;
/** Limit of silence after the server's greeting. */
const SOCKET_TIMEOUT_MS = 10_000;
/** Limit of a whole try: a server that answers byte by byte is never silent. */
const TRY_TIMEOUT_MS = 30_000;

/** A message is plain text; no file or URL is ever read for it. */
const NO_FETCHING = { disableFileAccess: true, disableUrlAccess: true };

export function overSmtp({ host, port, username, password }: NonNullable<Config['mail']>, from: string): Deliver {
	const options = {
		...NO_FETCHING,
		host,
		port,
		secure: port === SMTPS_PORT,
		// A password is never sent in the clear, whatever a machine in between answers to EHLO.
		requireTLS: username !== null && !isLoopback(host),
		// A relay on this machine has a self-signed certificate, and no machine lies in between.
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

/** Writes mails into a folder, for a machine without a mail server: `<time>-<id>.eml`, readable by the service's own user. */
export function intoFolder(folder: string, from: string): Deliver {
	const options = { ...NO_FETCHING, streamTransport: true, buffer: true, newline: 'unix' } as const;
	const composer = lazy(async () => (await import('nodemailer')).createTransport(options));
	return async (id, message) => {
		const { message: composed } = await (await composer()).sendMail(compose(id, message, from));
		const [head = ''] = composed.toString().split('\n\n');
		// The text is written unencoded, so that a link can be copied from a pager.
		const content = `${head.replace(/^(Content-Transfer-Encoding:) .*$/m, '$1 8bit')}\n\n${message.text}`;
		await mkdir(folder, { recursive: true, mode: 0o700 });
		const time = new Date().toISOString().replace(/[-:.]/g, '');
		const file = join(folder, `${time}-${id}.eml`);
		// Whoever watches the folder finds whole mails only.
		await writeFile(`${file}.part`, content, { mode: 0o600, flag: 'wx' });
		await rename(`${file}.part`, file);
	};
}

/** Composes a message. The envelope is set explicitly: the recipient is not parsed from a header. */
function compose(id: string, { to, subject, text }: Message, from: string): SendMailOptions {
	return {
		from: { name: 'Gatehouse', address: from },
		to: { name: '', address: to },
		envelope: { from, to: [to] },
		// The id is the same for every try, so that a server can recognise a mail that it had already accepted.
		messageId: `<${id}@${from.slice(from.lastIndexOf('@') + 1)}>`,
		subject,
		text,
		// RFC 3834 §5: automatic responders do not answer it.
		headers: { 'auto-submitted': 'auto-generated' },
	};
}

function isLoopback(host: string): boolean {
	return host === 'localhost' || parseAddress(host)?.range() === 'loopback';
}
