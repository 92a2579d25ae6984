// The entry point for plugins of every kind but `feature`: they import this file and nothing else of core.

export { compileArguments } from './arguments/compile.ts';
export { patternFault } from './arguments/linear-regexp.ts';
export { assertBounded } from './arguments/looks.ts';
export { type CutSchema, MAX_WHOLE_CHARS, WholeSchemas } from './arguments/whole.ts';
export { VERSION } from './config/version.ts';
export type * from './contract/admission.ts';
export type * from './contract/agents.ts';
export type * from './contract/asking.ts';
export type * from './contract/call-options.ts';
export type * from './contract/context.ts';
export { asGatewayError, ERRORS, type ErrorCode, type ErrorDetail, GatewayError, invalid, notFound } from './contract/errors.ts';
export type * from './contract/following.ts';
export type * from './contract/jobs.ts';
export type * from './contract/kinds.ts';
export type * from './contract/models.ts';
export type * from './contract/nodes.ts';
export type * from './contract/nouns.ts';
export type * from './contract/organizations.ts';
export type * from './contract/outbound.ts';
export type * from './contract/providers.ts';
export type * from './contract/results.ts';
export type * from './contract/sandbox.ts';
export type * from './contract/server-events.ts';
export { bodyOfSkill, fillSkill, writeSkill } from './contract/skill-document.ts';
export type * from './contract/skills.ts';
export { headerNameFault, headerRules, headerValueFault, holdsSecret } from './egress/headers.ts';
export { eventsOf, linesOf, type ServerSentEvent } from './egress/stream-text.ts';
export { schemesByName } from './gateways/security-schemes.ts';
export { parseFormBody, parseJson, parseMessage } from './http/body.ts';
export { knowsTag } from './http/conditions.ts';
export { Feed } from './http/feed.ts';
export {
	bearerChallenge,
	bearerToken,
	findSecret,
	keyHeaderOf,
	keyHeaderRule,
	MAX_SECRET_LENGTH,
	type SecretPlaces,
	secretPlaces,
} from './identity/credential-places.ts';
export { type KeySetRules, readKeySet } from './identity/key-sets.ts';
export { claimedScopes } from './identity/token-scopes.ts';
export { audiencesOf, PUBLIC_KEY_ALGORITHMS, type PublicKeyAlgorithm, type TokenKeys, verifyToken } from './identity/verify-token.ts';
export { LEFT_OUT } from './imports/compare/shapes.ts';
export { BoundedMap } from './kit/bounded-map.ts';
export { cleanText, grouped, quote } from './kit/clean-text.ts';
export { FairQueue, type Limits as QueueLimits, type QueueRequest } from './kit/fair-queue.ts';
export { secretsAdded, withoutSecrets } from './kit/hidden-secrets.ts';
export { faultsIn } from './kit/input-faults.ts';
export { deepFreeze, hasManyNames, isObject, MANY_NAMES, printWithin } from './kit/json.ts';
export { hasInfinity, quoteLongIntegersAtOnce } from './kit/json-numbers.ts';
export { membersOf, type Outline, outlineJson } from './kit/json-outline.ts';
export { atFragment, escapeToken, pointerToken, tokensOf, unescapeToken } from './kit/json-pointer.ts';
export { lazy } from './kit/lazy.ts';
export { mediaTypeOf } from './kit/media-type.ts';
export { PAGE_LOOK } from './kit/pages/page-look.ts';
export { raceWith } from './kit/race.ts';
export { hasItem, isSameJson } from './kit/search/json-search.ts';
export { holds } from './kit/search/text-search.ts';
export { SizedCache, withOwnMemory } from './kit/sized-cache.ts';
export { TimeSlice } from './kit/time-slice.ts';
export { type Named, nameOperations } from './kit/tool-names.ts';
export {
	bodyExcerpt,
	charsetOf,
	decodeTextGradually,
	excerptOf,
	failedResult,
	isJsonType,
	isTextType,
	jsonResult,
	statusLine,
	textResult,
} from './kit/tool-results.ts';
export { httpUrl, parsedUrl } from './kit/urls.ts';
export { attributeOf, decodeXml, decodeXmlGradually, parseXml, parseXmlGradually, resolveName, type XmlElement } from './kit/xml.ts';
export { escapeXml, escapeXmlAttribute, isNcName, xmlDecimal, xmlScalar, xmlText } from './kit/xml-text.ts';
export { shape, timestamp } from './management/rest.ts';
export { whole as wholeAnswer } from './models/answers.ts';
export { askLanguageModel } from './models/language-model.ts';
export { listModels } from './models/model-list.ts';
export { historyOf, isBase64, promptText } from './models/prompts.ts';
export { providerFetch } from './models/provider-fetch.ts';
export { isStrictSchema } from './models/strict-schema.ts';
export { readStructured, repairing } from './models/structured.ts';
export { compileCacheFolder } from './process/compile-cache.ts';
export { endThread } from './process/end-thread.ts';
export { CLOCK_TOLERANCE_SECONDS } from './secrets/tokens.ts';
export { tracedMessage } from './telemetry/work-spans.ts';
export { failureOf } from './tools/failed-runs.ts';
export { hintsOf, isAdding } from './tools/hints.ts';
export { CREDENTIALS } from './upstreams/credential-types.ts';
