// The requests that a server answers at its door, without hapi's lifecycle: those to gateways, and to transports at fixed addresses.

import type { Request } from '@hapi/hapi';
import type { Answer, AnswerHeaders } from './answer.ts';

export type Answerer = (request: Request) => Promise<Answer>;

/** The head of the answer that was sent. */
export interface Sent {
	/** 499 when the client left before. */
	status: number;
	headers: AnswerHeaders;
}

export interface Door {
	/** Answers requests to gateways. */
	atGateways: Answerer;
	/** Told of each request that was answered at the door, when its answer is over. */
	ended(request: Request, sent: Sent): void;
}

declare module '@hapi/hapi' {
	interface ServerApplicationState {
		/** Absent: hapi answers everything. */
		door?: Door;
	}
	interface PluginSpecificConfiguration {
		/** Answers the requests of the route at the door. */
		answerer?: Answerer;
	}
}
