// A fault that the error tracker may be told: what was thrown, and the names of where it happened.

/** Nothing of it is sent as it is: `events.ts` chooses. */
export interface Fault {
	/** A sentence of our own, never one with input in it. */
	what: string;
	/** An error, or the text of its stack. */
	thrown: unknown;
	/** The code and the status that were answered. */
	code?: string;
	status?: number;
	/** `kind:name`. */
	plugin?: string;
	/** The address of the gateway without the host, such as `acme/main`. */
	gateway?: string;
	organizationId?: string;
	requestId?: string;
}

/** Takes a fault. It neither waits nor throws. */
export type Report = (fault: Fault) => void;
