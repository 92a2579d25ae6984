// The routes of the management API that an auth method has for what it keeps for a gateway. Types only.

import type { ObjectSchema, Schema } from 'joi';
import type { Context } from './context.ts';
import type { ErrorCode } from './errors.ts';
import type { Gateway, JsonObject, RecordPage } from './nouns.ts';

/** A route below `/gateways/{id}`, for members whose role allows it; the OpenAPI document contains it. */
export interface ManagementRoute<O = unknown> {
	/** GET needs `gateway:read`, all others `gateway:write`. Writes of `audited` records are logged in the caller's name. */
	method: 'GET' | 'POST' | 'PUT' | 'DELETE';
	/** The path, such as `/oauth/clients/{clientId}`. */
	path: string;
	/** The operationId, such as `listOauthClients`. */
	id: string;
	/** One sentence. */
	summary: string;
	/** The field that holds the records of a paged list, of a GET; absent for any other answer. */
	list?: string;
	/** The query parameters, beside those of a list's pages. Without it, others are refused. */
	query?: ObjectSchema;
	/**
	 * The body of a POST or PUT, which it must have then: JSON, whose texts are not converted. Fields marked `.meta({ secret: true })` are
	 * `writeOnly` in the document; the plugin must not answer with them.
	 */
	body?: ObjectSchema;
	/** Schema of `data`; for a `list`, of one item. */
	answer: Schema;
	/** A POST answers 201; with this, it is an action that creates nothing. */
	status?: 200;
	/** Errors that the handler throws beside those of any operation, such as `conflict`, for the document. */
	errors?: readonly ErrorCode[];
	/** A POST that takes an `Idempotency-Key`: its answer is kept for repetitions, so it must not show a secret. */
	idempotent?: true;
	/** Answers carry an `ETag`, and a request that changes something has the revision of `If-Match`. The handler answers with `{ data, revision }`, unless it removes. */
	versioned?: true;
	/** Answers the request; a list is answered with `items` and `nextCursor`, by the request's `page`. @throws not_found, precondition_failed */
	handler(request: ManagementRequest, context: Context<O>): Promise<ManagementAnswer>;
}

export type ManagementAnswer =
	| JsonObject
	| { items: JsonObject[]; nextCursor: string | null }
	| { data: JsonObject /** The record's own. */; revision: number };

export interface ManagementRequest {
	/** Absent only for a `universal` method, in a route of an organization. */
	gateway: Gateway;
	/** Parameters of the path. */
	params: Readonly<Record<string, string>>;
	/** The page to pass to `records.find`, in the order that lists of the API have. */
	page: RecordPage;
	/** The parameters that the route's `query` names, with its defaults. */
	query: Readonly<JsonObject>;
	/** The body, with the schema's defaults; null on a route without one. */
	body: Readonly<JsonObject> | null;
	/** The revision that `If-Match` requires: for `records.update`. Null when any will do. */
	revision: number | null;
}
