// Everything a plugin may import, and nothing else. The first part is for every plugin, the second for features.

export { actorOf, clientOf, type Need, organizationOf, requirePermission, storeOf, userIdOf } from './access.ts';
export { parseRange } from './addresses.ts';
export { compileArguments } from './arguments/compile.ts';
export { patternFault } from './arguments/linear-regexp.ts';
export { assertBounded } from './arguments/looks.ts';
export { type CutSchema, MAX_WHOLE_CHARS, WholeSchemas } from './arguments/whole.ts';
export { DEFAULT_MAX_BYTES, MAX_DEPTH, parseFormBody, parseJson, readBody } from './body.ts';
export { cleanText, quote } from './clean-text.ts';
export type * from './contracts.ts';
export { tokenCookie } from './cookies.ts';
export type { Core } from './core.ts';
export { CREDENTIALS, credentialPlace, isCredentialType } from './credential-types.ts';
export { shownPlace } from './credentials.ts';
export { secretsAdded, withoutSecrets } from './echoes.ts';
export { asGatewayError, ERRORS, type ErrorCode, type ErrorDetail, GatewayError, invalid, notFound } from './errors.ts';
export { type Asked, FairQueue, type Limits as QueueLimits } from './fair-queue.ts';
export { headerNameFault, headerRules, headerValueFault, holdsSecret } from './headers.ts';
export { hasEnded } from './import-jobs.ts';
export { MAX_PRESETS } from './import-report.ts';
export { BODIES, IMPORT_BODY, OPERATION_FILTERS } from './import-request.ts';
export type { RunResult } from './invoke.ts';
export { membersOf, type Outline, outlineJson } from './json-outline.ts';
export { pointerToken } from './json-pointer.ts';
export { type KeySetRules, readKeySet } from './key-sets.ts';
export { lazy } from './lazy.ts';
export type * from './lent.ts';
export { beginLogin, checkPassword } from './logins.ts';
export type { Message } from './mail.ts';
export { isBareAddress, oneLine } from './mail-address.ts';
export { moment } from './moment.ts';
export { authPlace, gatewayPlace } from './mount.ts';
export { MAX_NAME_CHARS, type Named, nameOperations } from './names.ts';
export type * from './nouns.ts';
export { describeApi } from './openapi.ts';
export {
	accept,
	expectedVersion,
	type Operation as ApiOperation,
	operation,
	setCookie,
	showPreferences,
	showVersion,
} from './operation.ts';
export { assertPassable, PASS_THROUGH } from './pass-through.ts';
export { anyPassword, passwordRule } from './passwords.ts';
export { PERMISSIONS, type Permission, permissionsOf, permissionToGrant, ROLES, type Role } from './permissions.ts';
export { unknownType } from './registry.ts';
export { isReserved } from './reserved.ts';
export {
	body,
	clientSignal,
	count,
	description,
	displayName,
	emailAddress,
	filterOf,
	jsonObject,
	listQuery,
	page,
	pageOf,
	removal,
	removalQuery,
	shape,
	text,
	timestamp,
	uuid,
	words,
} from './rest.ts';
export { saveContext } from './saving.ts';
export { LEFT_OUT } from './schema-shapes.ts';
export {
	bearerChallenge,
	bearerToken,
	findSecret,
	keyHeaderOf,
	keyHeaderRule,
	MAX_SECRET_LENGTH,
	type SecretPlaces,
	secretPlaces,
} from './secret-places.ts';
export { plainSlug, slugs } from './slugs.ts';
export type * from './store.ts';
export { TimeSlice } from './time-slice.ts';
export { ACCESS_KEY_PREFIX, GATEWAY_KEY_PREFIX, hashKey, LOGIN_LIFETIME_MS, type Login, mintKey } from './tokens.ts';
export { namedPlace, openedConfig, toolConfig, toolPlace } from './tool-entry.ts';
export {
	bodyExcerpt,
	charsetOf,
	decodeText,
	excerptOf,
	failedResult,
	isJsonType,
	isTextType,
	jsonResult,
	statusLine,
	textResult,
} from './upstream-results.ts';
export { httpUrl, parsedUrl } from './urls.ts';
export { audiencesOf, PUBLIC_KEY_ALGORITHMS, type PublicKeyAlgorithm, type TokenKeys, verifyToken } from './verify-token.ts';
export { VERSION } from './version.ts';
export {
	attributeOf,
	decodeXml,
	parseXml,
	parseXmlGradually,
	resolveName,
	type XmlBounds,
	type XmlElement,
} from './xml.ts';
export { escapeXml, escapeXmlAttribute, isNcName, xmlDecimal, xmlScalar, xmlText } from './xml-text.ts';
