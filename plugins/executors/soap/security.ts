// WS-Security UsernameToken (OASIS, profile 1.1.1): sends the API's stored basic_auth credential in the message instead of in HTTP.

import { WSSecurity } from 'soap/lib/security/WSSecurity.js';
import { GatewayError, type OutboundRequest, secretsAdded } from '../../../core/index.ts';

/** `Call.sign`, the only part of a call that is used here. */
export type Sign = (request: OutboundRequest) => Promise<OutboundRequest>;

/** Any other stored credential is sent where it always is, beside the token. */
const OTHERS: NonNullable<OutboundRequest['security']> = [['api_key'], ['bearer_token'], ['oauth2'], []];

export interface SignedMessage {
	/** The header element; empty without a stored basic_auth credential of the request's origin. */
	token: string;
	/** The request with the credentials that are sent in HTTP. */
	request: OutboundRequest;
	/** Values of both that an upstream may repeat and the caller must not read. */
	secrets: string[];
}

/** @param request the request without its body */
export async function signInMessage(request: OutboundRequest, kind: 'text' | 'digest', sign: Sign): Promise<SignedMessage> {
	const signed = await sign({ ...request, security: [['basic_auth'], []] });
	const others = await sign({ ...request, security: OTHERS });
	const shown = signed.headers?.['authorization'];
	// A header that is there without basic_auth, too, is the caller's own, and can become a token only if it is Basic.
	const isOther = shown === others.headers?.['authorization'] && !BASIC.test(shown ?? '');
	const token = shown === undefined || shown === request.headers?.['authorization'] || isOther ? '' : usernameToken(shown, kind);
	return { token, request: others, secrets: [...secretsAdded(request, signed), ...secretsAdded(request, others)] };
}

const BASIC = /^Basic ([A-Za-z0-9+/=]+)$/;

function usernameToken(authorization: string, kind: 'text' | 'digest'): string {
	const [, encoded = ''] = BASIC.exec(authorization) ?? [];
	const text = Buffer.from(encoded, 'base64').toString('utf8');
	const colon = text.indexOf(':');
	// A preview shows that there is a credential, but no part of it.
	const [username, password] = colon < 0 ? [HIDDEN, HIDDEN] : [text.slice(0, colon), text.slice(colon + 1)];
	assertWritable(username, password);
	const options = {
		passwordType: kind === 'digest' ? 'PasswordDigest' : 'PasswordText',
		hasNonce: true,
		hasTimeStamp: false,
		mustUnderstand: true,
	};
	return new WSSecurity(username, password, options).toXML();
}

const HIDDEN = '…';

/** Refuses text that the package would not escape: what looks like a CDATA section, and control characters, which XML cannot hold. */
function assertWritable(...texts: string[]): void {
	if (texts.some((text) => text.startsWith('<![CDATA[') || /[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/u.test(text)))
		throw new GatewayError('validation_failed', 'The stored basic_auth credential cannot be written into a message.');
}
