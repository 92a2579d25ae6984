// Bad requests to an authorization server, with the answers of ours and of oidc-provider and the reason for each difference. A `$name`
// stands for a value of the server under test: see `oauth-differential.test.ts`.

import { WHY as W } from './oauth-reasons.ts';

/** Fields of a form; null leaves the field out, a list repeats it. */
export type Fields = Record<string, string | null | string[]>;

/** `page 400`: shown to the user. `client invalid_scope`: sent to the client. `401 invalid_client`: at an endpoint that speaks JSON. */
export type Outcome = string;

export interface DifferentialCase {
	id: string;
	at: 'authorize' | 'token' | 'revoke' | 'register';
	/** The change to a valid request; a string is the whole body. */
	change: Fields | Record<string, unknown> | string;
	/** The valid request: `code` redeems a code, `refresh` refreshes. */
	base?: 'code' | 'refresh';
	headers?: Record<string, string>;
	/** The answer of both servers, or one for each. */
	answer: Outcome | { ours: Outcome; theirs: Outcome; why: string };
}

type Answer = DifferentialCase['answer'];
type Row = [id: string, change: DifferentialCase['change'], answer: Answer, headers?: Record<string, string>];

const rowsAt = (at: DifferentialCase['at'], rows: Row[], base?: 'code' | 'refresh'): DifferentialCase[] =>
	rows.map(([id, change, answer, headers]) => ({ id, at, change, answer, ...(headers && { headers }), ...(base && { base }) }));

const unlike = (ours: Outcome, theirs: Outcome, why: string): Answer => ({ ours, theirs, why });

const NO_HEADER = unlike('401 invalid_client', '400 invalid_request', W.HEADER_401);

const AUTHORIZE: Row[] = [
	['no client_id', { client_id: null }, 'page 400'],
	['an unknown client', { client_id: 'nobody' }, 'page 400'],
	['client_id twice', { client_id: ['$client', '$client'] }, 'page 400'],
	['client_id of two clients', { client_id: ['$client', '$other'] }, 'page 400'],
	['an empty client_id', { client_id: '' }, 'page 400'],
	['a redirect_uri that is not registered', { redirect_uri: 'https://evil.example/callback' }, 'page 400'],
	['a redirect_uri with another path', { redirect_uri: 'http://127.0.0.1:7777/other' }, 'page 400'],
	['a redirect_uri with a longer path', { redirect_uri: 'http://127.0.0.1:7777/callback/' }, 'page 400'],
	['a redirect_uri with a query', { redirect_uri: 'http://127.0.0.1:7777/callback?a=b' }, 'page 400'],
	['a redirect_uri with a fragment', { redirect_uri: 'http://127.0.0.1:7777/callback#a' }, 'page 400'],
	['a redirect_uri with a user name', { redirect_uri: 'http://a@127.0.0.1:7777/callback' }, 'page 400'],
	['a redirect_uri to another loopback address', { redirect_uri: 'http://localhost:7777/callback' }, 'page 400'],
	['a redirect_uri over https', { redirect_uri: 'https://127.0.0.1:7777/callback' }, 'page 400'],
	['a redirect_uri with a script', { redirect_uri: 'javascript:alert(1)' }, 'page 400'],
	['a redirect_uri that is no URI', { redirect_uri: 'callback' }, 'page 400'],
	['redirect_uri twice', { redirect_uri: ['$redirect', '$redirect'] }, unlike('page 400', 'client invalid_request', W.REDIRECT_TWICE)],
	['no redirect_uri, of a client with one', { redirect_uri: null }, 'login'],
	['no redirect_uri, of a client with two', { redirect_uri: null, client_id: '$two' }, 'page 400'],
	['no response_type', { response_type: null }, 'client invalid_request'],
	['an unknown response_type', { response_type: 'magic' }, 'client unsupported_response_type'],
	['the implicit grant', { response_type: 'token' }, 'client unsupported_response_type'],
	['a hybrid flow', { response_type: 'code id_token' }, 'client unsupported_response_type'],
	['an ID token', { response_type: 'id_token', nonce: 'n' }, 'client unsupported_response_type'],
	['response_type in capitals', { response_type: 'CODE' }, 'client unsupported_response_type'],
	['response_type twice', { response_type: ['code', 'code'] }, 'client invalid_request'],
	['response_mode fragment', { response_mode: 'fragment' }, unlike('client invalid_request', 'login', W.ONE_MODE)],
	['response_mode form_post', { response_mode: 'form_post' }, unlike('client invalid_request', 'login', W.ONE_MODE)],
	[
		'an unknown response_mode',
		{ response_mode: 'pigeon' },
		unlike('client invalid_request', 'client unsupported_response_mode', W.MODE_CODE),
	],
	['no code_challenge', { code_challenge: null }, 'client invalid_request'],
	['no code_challenge and no method', { code_challenge: null, code_challenge_method: null }, 'client invalid_request'],
	['no code_challenge_method', { code_challenge_method: null }, 'client invalid_request'],
	['code_challenge_method plain', { code_challenge_method: 'plain' }, 'client invalid_request'],
	['an unknown code_challenge_method', { code_challenge_method: 'S512' }, 'client invalid_request'],
	['code_challenge_method in lower case', { code_challenge_method: 's256' }, 'client invalid_request'],
	['a code_challenge that is too short', { code_challenge: 'a'.repeat(42) }, 'client invalid_request'],
	['a code_challenge of 44 characters', { code_challenge: 'a'.repeat(44) }, unlike('client invalid_request', 'login', W.CHALLENGE_LENGTH)],
	['a code_challenge of other characters', { code_challenge: `${'a'.repeat(42)}!` }, 'client invalid_request'],
	['a padded code_challenge', { code_challenge: `${'a'.repeat(43)}=` }, 'client invalid_request'],
	['code_challenge twice', { code_challenge: ['$challenge', '$challenge'] }, 'client invalid_request'],
	['an unknown scope', { scope: 'fly' }, 'login'],
	['an unknown scope beside a known one', { scope: 'tools:read fly' }, 'login'],
	['a scope of bad characters', { scope: 'tools:read "x"' }, 'client invalid_scope'],
	['scope twice', { scope: ['tools:read', 'tools:read'] }, 'client invalid_request'],
	['a scope of blanks', { scope: '  ' }, 'client invalid_scope'],
	['state twice', { state: ['a', 'b'] }, 'client invalid_request'],
	['another resource', { resource: 'https://other.example/' }, 'client invalid_target'],
	['a resource that is no URI', { resource: 'here' }, 'client invalid_target'],
	['a resource with a fragment', { resource: '$resource#a' }, 'client invalid_target'],
	['a foreign resource beside its own', { resource: ['$resource', 'https://other.example/'] }, 'client invalid_target'],
	['a request object', { request: 'e30.e30.' }, 'client request_not_supported'],
	['a request object by reference', { request_uri: 'https://evil.example/request' }, 'client request_uri_not_supported'],
	['prompt none, with nobody logged in', { prompt: 'none' }, unlike('login', 'client login_required', W.NO_PROMPT)],
	['an unknown prompt', { prompt: 'nicely' }, unlike('login', 'client invalid_request', W.NO_PROMPT)],
	['an unknown parameter twice', { foo: ['a', 'b'] }, unlike('client invalid_request', 'login', W.TWICE)],
];

const REDEEM: Row[] = [
	['no grant_type', { grant_type: null }, '400 invalid_request'],
	['an unknown grant_type', { grant_type: 'magic' }, '400 unsupported_grant_type'],
	['grant_type password', { grant_type: 'password', username: 'a', password: 'b' }, '400 unsupported_grant_type'],
	['grant_type client_credentials', { grant_type: 'client_credentials' }, '400 unsupported_grant_type'],
	['grant_type implicit', { grant_type: 'implicit' }, '400 unsupported_grant_type'],
	['grant_type of a name that every object has', { grant_type: 'constructor' }, '400 unsupported_grant_type'],
	['grant_type twice', { grant_type: ['authorization_code', 'authorization_code'] }, '400 invalid_request'],
	['no code', { code: null }, '400 invalid_request'],
	['an empty code', { code: '' }, '400 invalid_request'],
	['an unknown code', { code: 'nothing' }, '400 invalid_grant'],
	['a code that has been used', { code: '$usedCode' }, '400 invalid_grant'],
	['the code of another client', { client_id: '$other' }, '400 invalid_grant'],
	['code twice', { code: ['$code', '$code'] }, '400 invalid_request'],
	['no code_verifier', { code_verifier: null }, '400 invalid_grant'],
	['another code_verifier', { code_verifier: 'b'.repeat(43) }, '400 invalid_grant'],
	[
		'a code_verifier that is too short',
		{ code_verifier: 'b'.repeat(42) },
		unlike('400 invalid_grant', '400 invalid_request', W.VERIFIER_SHAPE),
	],
	[
		'a code_verifier that is too long',
		{ code_verifier: 'b'.repeat(129) },
		unlike('400 invalid_grant', '400 invalid_request', W.VERIFIER_SHAPE),
	],
	[
		'a code_verifier of other characters',
		{ code_verifier: `${'b'.repeat(42)}!` },
		unlike('400 invalid_grant', '400 invalid_request', W.VERIFIER_SHAPE),
	],
	['the challenge as its verifier', { code_verifier: '$challenge' }, '400 invalid_grant'],
	['no redirect_uri', { redirect_uri: null }, '200'],
	['another redirect_uri', { redirect_uri: 'http://127.0.0.1:7778/callback' }, '400 invalid_grant'],
	['another resource', { resource: 'https://other.example/' }, '400 invalid_target'],
	['a resource that is no URI', { resource: 'here' }, '400 invalid_target'],
	['no client_id', { client_id: null }, '400 invalid_request'],
	['an unknown client', { client_id: 'nobody' }, '401 invalid_client'],
	['client_id twice', { client_id: ['$client', '$client'] }, '400 invalid_request'],
	['a secret of a public client', { client_secret: 'guess' }, '401 invalid_client'],
	['a confidential client without its secret', { client_id: '$confidential' }, '401 invalid_client'],
	['another secret', { client_id: '$confidential', client_secret: 'guess' }, '401 invalid_client'],
	['another secret in the header', { client_id: null }, '401 invalid_client', { authorization: 'Basic $confidential:guess' }],
	['an unknown client in the header', { client_id: null }, '401 invalid_client', { authorization: 'Basic nobody:guess' }],
	[
		'a secret twice, in header and body',
		{ client_id: null, client_secret: '$secret' },
		'400 invalid_request',
		{ authorization: 'Basic $confidential:$secret' },
	],
	[
		'another client_id than in the header',
		{ client_id: '$other' },
		'400 invalid_request',
		{ authorization: 'Basic $confidential:$secret' },
	],
	['a header without a secret', { client_id: null }, NO_HEADER, { authorization: 'Basic $confidential:' }],
	['a header that is no base64', { client_id: null }, NO_HEADER, { authorization: 'Basic !!!' }],
	['a header without a colon', { client_id: null }, NO_HEADER, { authorization: 'Basic YWJj' }],
	['a header that is wrongly encoded', { client_id: null }, NO_HEADER, { authorization: 'Basic a%zz:b%zz' }],
	['a header of another scheme', {}, NO_HEADER, { authorization: 'Bearer abc' }],
	[
		'the right secret at the wrong place',
		{ client_id: null },
		unlike('401 invalid_client', '400 invalid_grant', W.ONE_PLACE),
		{ authorization: 'Basic $posting:$postingSecret' },
	],
	['JSON', '{"grant_type":"authorization_code"}', '400 invalid_request', { 'content-type': 'application/json' }],
	['no body', '', '400 invalid_request'],
	['an unknown parameter twice', { foo: ['a', 'b'] }, unlike('400 invalid_request', '200', W.TWICE)],
];

const REFRESH: Row[] = [
	['no refresh_token', { refresh_token: null }, '400 invalid_request'],
	['an unknown refresh token', { refresh_token: 'nothing' }, '400 invalid_grant'],
	['an access token in its place', { refresh_token: '$access' }, '400 invalid_grant'],
	['a code in its place', { refresh_token: '$code' }, '400 invalid_grant'],
	['the refresh token of another client', { client_id: '$other' }, '400 invalid_grant'],
	['refresh_token twice', { refresh_token: ['$refresh', '$refresh'] }, '400 invalid_request'],
	['more scopes than were granted', { scope: 'tools:read tools:execute gateway:read' }, '400 invalid_scope'],
	['an unknown scope', { scope: 'fly' }, '400 invalid_scope'],
	['a scope of bad characters', { scope: 'tools:read "x"' }, '400 invalid_scope'],
	['scope twice', { scope: ['tools:read', 'tools:read'] }, '400 invalid_request'],
	['another resource', { resource: 'https://other.example/' }, '400 invalid_target'],
	[
		'a client that may not refresh',
		{ client_id: '$still' },
		unlike('400 unauthorized_client', '400 invalid_request', W.UNAUTHORIZED_CLIENT),
	],
	['an unknown client', { client_id: 'nobody' }, '401 invalid_client'],
	['a secret of a public client', { client_secret: 'guess' }, '401 invalid_client'],
];

const REVOKE: Row[] = [
	['no token', { token: null }, '400 invalid_request'],
	['an unknown token', { token: 'nothing' }, '200'],
	['a token of another client', { client_id: '$other' }, '200'],
	['an unknown hint', { token_type_hint: 'magic' }, '200'],
	['a wrong hint', { token_type_hint: 'access_token' }, '200'],
	['token twice', { token: ['$refresh', '$refresh'] }, '400 invalid_request'],
	['no client', { client_id: null }, '400 invalid_request'],
	['an unknown client', { client_id: 'nobody' }, '401 invalid_client'],
	['another secret', { client_id: '$confidential', client_secret: 'guess' }, '401 invalid_client'],
	['another secret in the header', { client_id: null }, '401 invalid_client', { authorization: 'Basic $confidential:guess' }],
	['a code', { token: '$code' }, '200'],
	['JSON', '{"token":"a"}', '400 invalid_request', { 'content-type': 'application/json' }],
];

const REGISTER: Row[] = [
	['no body', '', unlike('400 invalid_client_metadata', '400 invalid_request', W.METADATA_CODE)],
	['no JSON', '{', unlike('400 invalid_client_metadata', '400 invalid_request', W.METADATA_CODE)],
	['a list', '[]', unlike('400 invalid_client_metadata', '400 invalid_request', W.METADATA_CODE)],
	['null', 'null', unlike('400 invalid_client_metadata', '400 invalid_request', W.METADATA_CODE)],
	['a text', '"a"', unlike('400 invalid_client_metadata', '400 invalid_request', W.METADATA_CODE)],
	[
		'a form',
		'a=b',
		unlike('400 invalid_client_metadata', '400 invalid_request', W.METADATA_CODE),
		{ 'content-type': 'application/x-www-form-urlencoded' },
	],
	['no redirect_uris', { redirect_uris: undefined }, '400 invalid_redirect_uri'],
	['redirect_uris of none', { redirect_uris: [] }, '400 invalid_redirect_uri'],
	['redirect_uris that are no list', { redirect_uris: 'https://a.example/callback' }, '400 invalid_redirect_uri'],
	['a redirect URI that is no text', { redirect_uris: [1] }, '400 invalid_redirect_uri'],
	['a redirect URI that is no URI', { redirect_uris: ['callback'] }, '400 invalid_redirect_uri'],
	['a redirect URI with a fragment', { redirect_uris: ['https://a.example/callback#a'] }, '400 invalid_redirect_uri'],
	['a redirect URI over http', { redirect_uris: ['http://a.example/callback'] }, '400 invalid_redirect_uri'],
	['a redirect URI with a script', { redirect_uris: ['javascript:alert(1)'] }, '400 invalid_redirect_uri'],
	['a redirect URI with data', { redirect_uris: ['data:text/html,a'] }, '400 invalid_redirect_uri'],
	[
		'a redirect URI over ftp',
		{ redirect_uris: ['ftp://a.example/callback'] },
		unlike('400 invalid_redirect_uri', '201', W.HTTPS_OR_LOOPBACK),
	],
	[
		'a redirect URI of a scheme of its own',
		{ redirect_uris: ['com.example.app:/callback'] },
		unlike('400 invalid_redirect_uri', '201', W.HTTPS_OR_LOOPBACK),
	],
	[
		'a redirect URI of a scheme without a dot',
		{ redirect_uris: ['myapp:/callback'] },
		unlike('400 invalid_redirect_uri', '201', W.HTTPS_OR_LOOPBACK),
	],
	[
		'a redirect URI with a user name',
		{ redirect_uris: ['https://a:b@a.example/callback'] },
		unlike('400 invalid_redirect_uri', '201', W.NO_USER_INFO),
	],
	[
		'a redirect URI with a wildcard',
		{ redirect_uris: ['https://*.a.example/callback'] },
		unlike('400 invalid_redirect_uri', '201', W.NO_WILDCARD),
	],
	[
		'one bad redirect URI of two',
		{ redirect_uris: ['https://a.example/callback', 'http://a.example/callback'] },
		'400 invalid_redirect_uri',
	],
	['an unknown way to authenticate', { token_endpoint_auth_method: 'magic' }, '400 invalid_client_metadata'],
	['keys as the way to authenticate', { token_endpoint_auth_method: 'private_key_jwt' }, '400 invalid_client_metadata'],
	['a way to authenticate that is no text', { token_endpoint_auth_method: 1 }, '400 invalid_client_metadata'],
	[
		'an unknown grant type',
		{ grant_types: ['authorization_code', 'magic'] },
		unlike('201', '400 invalid_client_metadata', W.GRANTS_THAT_ARE),
	],
	[
		'grant types without a code',
		{ grant_types: ['refresh_token'], response_types: [] },
		unlike('400 invalid_client_metadata', '201', W.NO_USE),
	],
	['grant types that are no list', { grant_types: 'authorization_code' }, '400 invalid_client_metadata'],
	['an unknown response type', { response_types: ['magic'] }, '400 invalid_client_metadata'],
	['the implicit response type', { response_types: ['token'], grant_types: ['implicit'] }, '400 invalid_client_metadata'],
	['a name that is no text', { client_name: 1 }, '400 invalid_client_metadata'],
	['a name of 100 KB', { client_name: 'n'.repeat(100_000) }, unlike('400 invalid_client_metadata', '400 invalid_request', W.METADATA_CODE)],
	['a client_id of its own', { client_id: 'mine' }, '201'],
	['a secret of its own', { client_secret: 'mine', token_endpoint_auth_method: 'client_secret_post' }, '201'],
	['a URI of its policy with a script', { policy_uri: 'javascript:alert(1)' }, unlike('201', '400 invalid_client_metadata', W.NOT_KEPT)],
	['an unknown scope', { scope: 'fly' }, unlike('201', '400 invalid_client_metadata', W.SCOPE_TOLD)],
];

export const DIFFERENTIAL_CASES: DifferentialCase[] = [
	...rowsAt('authorize', AUTHORIZE),
	...rowsAt('token', REDEEM, 'code'),
	...rowsAt('token', REFRESH, 'refresh'),
	...rowsAt('revoke', REVOKE),
	...rowsAt('register', REGISTER),
];
