// Everything a plugin may import, and nothing else. The first part is for every plugin, the second for features.

export { organizationOf, userIdOf } from './access.ts';
export { parseRange } from './addresses.ts';
export { DEFAULT_MAX_BYTES, MAX_DEPTH, parseJson, readBody } from './body.ts';
export type * from './contracts.ts';
export type { Core } from './core.ts';
export { CREDENTIALS, credentialPlace, isCredentialType } from './credentials.ts';
export { asGatewayError, ERRORS, type ErrorCode, type ErrorDetail, GatewayError, invalid, notFound } from './errors.ts';
export { headerNameFault, headerValueFault } from './headers.ts';
export { OPERATION_FILTERS } from './import-request.ts';
export { type RunResult, toolConfig, toolPlace } from './invoke.ts';
export { authPlace, gatewayPlace } from './mount.ts';
export { passwordRule } from './passwords.ts';
export { unknownType } from './registry.ts';
export { isReserved } from './reserved.ts';
export { body, clientSignal, description, displayName, pageOf, pageQuery, removalQuery, success, UNREAD } from './rest.ts';
export { assertBounded } from './schema-cost.ts';
export { compileArguments, patternFault } from './schemas.ts';
export type * from './store.ts';
export { GATEWAY_KEY_PREFIX, hashKey, mintKey } from './tokens.ts';
