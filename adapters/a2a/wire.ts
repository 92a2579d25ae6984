// The objects of A2A 1.0 as JSON carries them; tasks keep messages and artifacts in this form, whatever version a client speaks.

import type { Json, JsonObject } from '../../core/index.ts';

export type TaskState =
	| 'TASK_STATE_SUBMITTED'
	| 'TASK_STATE_WORKING'
	| 'TASK_STATE_COMPLETED'
	| 'TASK_STATE_FAILED'
	| 'TASK_STATE_CANCELED'
	| 'TASK_STATE_INPUT_REQUIRED'
	| 'TASK_STATE_REJECTED'
	| 'TASK_STATE_AUTH_REQUIRED';

/** Each state with its name in 0.3. */
export const STATES: Readonly<Record<TaskState, string>> = {
	TASK_STATE_SUBMITTED: 'submitted',
	TASK_STATE_WORKING: 'working',
	TASK_STATE_COMPLETED: 'completed',
	TASK_STATE_FAILED: 'failed',
	TASK_STATE_CANCELED: 'canceled',
	TASK_STATE_INPUT_REQUIRED: 'input-required',
	TASK_STATE_REJECTED: 'rejected',
	TASK_STATE_AUTH_REQUIRED: 'auth-required',
};

/** Exactly one of `text`, `raw` (base64), `url` and `data`. */
export type Part = {
	text?: string;
	raw?: string;
	url?: string;
	data?: Json;
	mediaType?: string;
	filename?: string;
	metadata?: JsonObject;
};

export type Role = 'ROLE_USER' | 'ROLE_AGENT';

export type Message = {
	messageId: string;
	contextId?: string;
	taskId?: string;
	role: Role;
	parts: Part[];
	metadata?: JsonObject;
	extensions?: string[];
	referenceTaskIds?: string[];
};

export type Artifact = { artifactId: string; name: string; parts: Part[] };

export type Status = { state: TaskState; timestamp: string; message?: Message };

/** A task as clients see it. */
export type WireTask = { id: string; contextId: string; status: Status; artifacts?: Artifact[]; history?: Message[] };

/** An event of a stream, or a notification: it has exactly one member. */
export type StreamResponse =
	| { task: WireTask }
	| { statusUpdate: { taskId: string; contextId: string; status: Status } }
	| { artifactUpdate: { taskId: string; contextId: string; artifact: Artifact; lastChunk: true } };

/** Types are aliases without index signatures; all of them are JSON. */
export const asJson = (value: object): JsonObject => value as JsonObject;

export const PROTOCOLS = ['1.0', '0.3'] as const;
export type Protocol = (typeof PROTOCOLS)[number];
