// The callers that a gateway admits, as a protocol publishes them, and a request as an authentication method sees it. Types only.

import type { Context } from './context.ts';
import type { Gateway, Incoming, KeyLocation } from './nouns.ts';

/**
 * How a client authenticates, in the terms that OpenAPI's `securitySchemes`, A2A's `securitySchemes` and UTCP's `auth` share: each of them is
 * made of it. It is published, so it never contains a secret.
 */
export type SecurityScheme = { description?: string } & (
	| { type: 'apiKey'; in: KeyLocation; name: string }
	/** `scheme`: an authentication scheme of RFC 9110 §11.1, such as `bearer` or `basic`. `bearerFormat`: a hint, such as `JWT`. */
	| { type: 'http'; scheme: string; bearerFormat?: string }
	/** `metadataUrl`: the metadata of the authorization server (RFC 8414). */
	| { type: 'oauth2'; flows: OAuthFlows; metadataUrl?: string }
	| { type: 'openIdConnect'; openIdConnectUrl: string }
	| { type: 'mutualTLS' }
);

/** The flows of OAuth that have a place in all of these documents; at least one. */
export type OAuthFlows = {
	authorizationCode?: OAuthFlow & { authorizationUrl: string; pkceRequired?: boolean };
	clientCredentials?: OAuthFlow;
	deviceAuthorization?: OAuthFlow & { deviceAuthorizationUrl: string };
};

export type OAuthFlow = {
	tokenUrl: string;
	refreshUrl?: string;
	/** Each scope with its meaning. */
	scopes: Record<string, string>;
};

/** A method that admits callers to a gateway: a client satisfies any one of them. A type alias, since replies send it as JSON. */
export type Admission = {
	/** The name of the method, such as `api_key`. */
	method: string;
	required: boolean;
	/** The value of WWW-Authenticate for a request without a credential. */
	challenge?: string;
	/** Null for a method that admits everyone without a credential; absent when the method does not tell. */
	scheme?: SecurityScheme | null;
};

/** The context of an authentication method: it always has a gateway. */
export interface GateContext<O = unknown> extends Context<O> {
	gateway: Readonly<Gateway>;
}

/** A request whose body was received, but not read: it is neither inflated nor parsed, and `body` is null. */
export interface Received extends Incoming {
	/** The content as it was sent, in its content coding: what HMAC schemes sign, and Content-Digest (RFC 9530 §2) is of. Empty without one. */
	rawBody: Buffer;
}
