// Mail that the service sends: over MAIL_*, or as files in the data folder if there is no mail server. A bounded queue
// lies between requests and the server, which may be down, slow or silent.

import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { Config } from '../config/config.ts';
import { invalid } from '../contract/errors.ts';
import type { Log } from '../contract/nouns.ts';
import { isBareAddress, oneLine } from '../kit/mail-address.ts';
import { type Deliver, intoFolder, overSmtp } from './delivery.ts';

export interface Message {
	/** One bare address; anything else is refused by `send`. @throws validation_failed */
	to: string;
	subject: string;
	/** Plain text. */
	text: string;
}

export interface Mail {
	/**
	 * Queues the message and returns at once; sending and retrying happen in the background. A message that cannot be sent is logged
	 * without its address or text. Returns false when the queue is full, or when the account has its share of it.
	 * @param account the organization whose people cause the mail; null: nobody who is logged in, as for a password reset
	 */
	send(message: Message, account: string | null): boolean;
	/** Waits a few seconds for messages in the queue. */
	close(): Promise<void>;
}

const AT_ONCE = 2;
const MOST_WAITING = 100;
/** The messages of one account that may wait, so that those of others still find a place. */
const MOST_OF_ACCOUNT = 25;
/** Pauses before the second and the third try. */
const PAUSES_MS = [1000, 4000];
const CLOSE_MS = 5000;
const MAX_SUBJECT = 200;

export function createMail(config: Config, log: Log): Mail {
	if (config.mail) return new MailQueue(overSmtp(config.mail, config.mailFrom), log);
	const folder = join(config.dataDir, 'mail');
	log.info({ folder }, 'MAIL_HOST is not set: mails are written as files');
	return new MailQueue(intoFolder(folder, config.mailFrom), log);
}

interface Posted {
	id: string;
	message: Message;
	account: string | null;
	tries: number;
}

class MailQueue implements Mail {
	readonly #deliver: Deliver;
	readonly #log: Log;
	readonly #ending = new AbortController();
	#waiting: Posted[] = [];
	#pausing = new Map<Posted, NodeJS.Timeout>();
	#running = 0;
	#closing = false;
	#idle: (() => void) | null = null;

	constructor(deliver: Deliver, log: Log) {
		this.#deliver = deliver;
		this.#log = log;
	}

	send(message: Message, account: string | null): boolean {
		if (!isBareAddress(message.to)) throw invalid('/to', '"to" must be one e-mail address and nothing else');
		const waiting = [...this.#waiting, ...this.#pausing.keys()];
		const isShareFull = account !== null && waiting.filter((posted) => posted.account === account).length >= MOST_OF_ACCOUNT;
		if (this.#closing || isShareFull || waiting.length >= MOST_WAITING) {
			this.#log.warn({ waiting: waiting.length, isShareFull }, 'a mail was dropped: too many wait');
			return false;
		}
		this.#waiting.push({ id: randomBytes(8).toString('hex'), message: plain(message), account, tries: 0 });
		this.#next();
		return true;
	}

	async close(): Promise<void> {
		this.#closing = true;
		// Messages that wait for a retry get their last try now.
		for (const [posted, timer] of this.#pausing) {
			clearTimeout(timer);
			this.#waiting.push(posted);
		}
		this.#pausing.clear();
		this.#next();
		if (this.#running > 0) await this.#finish();
		this.#ending.abort();
	}

	/** Resolves when the queue is empty, or after CLOSE_MS. */
	#finish(): Promise<void> {
		return new Promise((resolve) => {
			const giveUp = setTimeout(() => {
				this.#log.warn({ unsent: this.#waiting.length + this.#running }, 'stopped with mails unsent');
				this.#waiting = [];
				resolve();
			}, CLOSE_MS);
			this.#idle = () => {
				clearTimeout(giveUp);
				resolve();
			};
		});
	}

	#next(): void {
		while (this.#running < AT_ONCE) {
			const posted = this.#waiting.shift();
			if (!posted) break;
			this.#running++;
			void this.#try(posted);
		}
		if (this.#running === 0) this.#idle?.();
	}

	async #try(posted: Posted): Promise<void> {
		posted.tries++;
		try {
			await this.#deliver(posted.id, posted.message, this.#ending.signal);
		} catch (error) {
			this.#failed(posted, error);
		} finally {
			this.#running--;
			this.#next();
		}
	}

	#failed(posted: Posted, error: unknown): void {
		const pauseMs = PAUSES_MS[posted.tries - 1];
		if (this.#closing || pauseMs === undefined || isFinal(error)) {
			// The error's own text quotes the server, and servers quote addresses.
			this.#log.warn({ mailId: posted.id, tries: posted.tries, error: codeOf(error) }, 'a mail could not be sent');
			return;
		}
		const timer = setTimeout(() => {
			this.#pausing.delete(posted);
			this.#waiting.push(posted);
			this.#next();
		}, pauseMs);
		this.#pausing.set(posted, timer.unref());
	}
}

/** Removes control characters and line breaks, since subjects and texts contain names chosen by users. */
function plain({ to, subject, text }: Message): Message {
	return { to, subject: oneLine(subject).slice(0, MAX_SUBJECT), text: text.replace(/[^\P{Cc}\n\t]/gu, '') };
}

/** RFC 5321 §4.2.1: after a 5yz reply "the SMTP client SHOULD NOT repeat the exact request". */
function isFinal(error: unknown): boolean {
	const { responseCode } = error as { responseCode?: unknown };
	return typeof responseCode === 'number' && responseCode >= 500;
}

function codeOf(error: unknown): string {
	const { code } = error as { code?: unknown };
	return typeof code === 'string' && /^[A-Z0-9_]{1,40}$/.test(code) ? code : 'unknown';
}
