// Reasons why our authorization server answers a bad request differently from oidc-provider, with the section that allows or requires it.

export const WHY = {
	REDIRECT_TWICE:
		'OAuth 2.1 §4.1.2.1: with an invalid redirect URI nobody is redirected. Of two, one may be another’s; they take the first and go there.',
	ONE_MODE:
		'RFC 8414 §2: our metadata names query as the only response mode. Theirs names these, too, and so they are no bad requests there.',
	MODE_CODE:
		'RFC 6749 §4.1.2.1: invalid_request is for an “invalid parameter value”; unsupported_response_mode, which they send, is no code of OAuth 2.1 (it is of OpenID’s FAPI).',
	CHALLENGE_LENGTH:
		'RFC 7636 §4.2: base64url of a SHA-256 hash has 43 characters, so no verifier can ever fit this. They find out at the token endpoint.',
	NO_PROMPT:
		'prompt is of OpenID Connect Core §3.1.2.1, which we do not offer; RFC 6749 §3.1: a server “MUST ignore unrecognized request parameters”.',
	TWICE:
		'RFC 6749 §3.1, §3.2: parameters “MUST NOT be included more than once”, whichever they are; they look only at those that they know.',
	VERIFIER_SHAPE:
		'RFC 7636 §4.6: a verifier that does not fit is invalid_grant, and one of another shape fits nothing. They look at its shape first, as a parameter of the request.',
	HEADER_401:
		'RFC 6749 §5.2: “If the client attempted to authenticate via the "Authorization" request header field, the authorization server MUST respond with an HTTP 401”. They call it a malformed request.',
	ONE_PLACE:
		'RFC 7591 §2: token_endpoint_auth_method is the method that the client uses. They take the secret at either place, and then refuse the code, which is another client’s.',
	UNAUTHORIZED_CLIENT: 'RFC 6749 §5.2: unauthorized_client is for a client that “is not authorized to use this authorization grant type”.',
	METADATA_CODE:
		'RFC 7591 §3.2.2 knows invalid_client_metadata for what is wrong with the metadata, and no invalid_request, which is RFC 6749’s.',
	HTTPS_OR_LOOPBACK:
		'MCP, authorization §Communication Security: “All redirect URIs MUST be either localhost or use HTTPS.” They take what RFC 8252 §7.1 allows.',
	NO_USER_INFO: 'RFC 3986 §7.6: user names in URIs mislead who reads them, and our page shows the host of this one to who decides.',
	NO_WILDCARD: 'OAuth 2.1 §2.3.1: redirect URIs are compared as simple strings, so a “*” is no host that anybody has (RFC 1123 §2.1).',
	GRANTS_THAT_ARE:
		'RFC 7591 §3.2.1: the server “MAY reject or replace any of the client’s requested metadata values”; we register what there is of them, and say so.',
	NO_USE: 'RFC 7591 §2.1: without authorization_code there is no way to any token here. They let a client be that nothing can come of.',
	NOT_KEPT:
		'RFC 7591 §2: “The authorization server MUST ignore any client metadata sent by the client that it does not understand”; this one is neither kept nor shown.',
	SCOPE_TOLD: 'RFC 7591 §2: a server may give a client a default set of scopes; the answer says which (§3.2.1).',
};
