// The catalog of the gateway, read at the start, told in one line, and read again after changes; and whether the gateway can be reached.

import { gatewayUrl } from '../gateway/address.ts';
import { type Catalog, readCatalog, WrongType } from '../gateway/catalog.ts';
import { Refusal } from '../gateway/refusals.ts';
import type { Context } from './context.ts';
import { deadline, pause } from './deadline.ts';

export class Discovery {
	readonly #context: Context;
	#catalog: Promise<Catalog> | null = null;

	constructor(context: Context) {
		this.#context = context;
	}

	/** @throws WrongType, Refusal */
	get(): Promise<Catalog> {
		if (this.#catalog) return this.#catalog;
		const reading = this.#read();
		this.#catalog = reading;
		reading.catch(() => {
			if (this.#catalog === reading) this.#catalog = null;
		});
		return reading;
	}

	/** Forgets what was read, since it changed. */
	forget(): void {
		this.#catalog = null;
	}

	/**
	 * Reads what there is, and says so; tries again for as long as the gateway is away. A credential that is refused is told, and what it may
	 * not list can be run all the same. @throws WrongType; Refusal for a gateway that is not there
	 */
	async start(): Promise<void> {
		const { limits, ending, tell } = this.#context;
		let told = '';
		for (let ms = limits.retryMs.first; !ending.aborted; ms = Math.min(ms * 2, limits.retryMs.longest)) {
			try {
				tell(lineOf(await this.get(), this.#context));
				return;
			} catch (error) {
				if (error instanceof WrongType || !(error instanceof Refusal)) throw error;
				if (error.kind === 'missing' || error.kind === 'organization') throw error;
				// Outages and refused credentials are told elsewhere, once for all requests.
				if (!['unreachable', 'credential', 'stopped'].includes(error.kind) && told !== error.message)
					tell(`The tools cannot be listed: ${error.message}`);
				told = error.message;
				if (error.kind === 'credential' || error.kind === 'forbidden') return;
				await pause(ms, ending);
			}
		}
	}

	async #read(): Promise<Catalog> {
		const { client, limits, ending } = this.#context;
		const time = deadline(limits.discoveryMs, ending);
		try {
			return await readCatalog(client, time.signal);
		} finally {
			time.clear();
		}
	}
}

const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;

/** The one line that users see at the start. */
function lineOf({ tools, skills }: Catalog, { settings: { serviceUrl, gateway, mode } }: Context): string {
	return `${gatewayUrl(serviceUrl, gateway)}: ${counted(tools.length, 'tool')}, ${counted(skills.length, 'skill')}, mode ${mode}`;
}
