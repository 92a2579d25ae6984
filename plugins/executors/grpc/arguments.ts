// Finds the request among the arguments.

import { invalid, type Json, type JsonObject } from '../../../core/index.ts';
import type { GrpcConfig } from './config.ts';

/** A message to send; `at` is its JSON pointer, for error messages. */
export interface Request {
	json: Json;
	at: string;
}

/** @throws validation_failed */
export function messagesIn(args: JsonObject, { argument }: Pick<GrpcConfig, 'argument'>): Request[] {
	if (argument === undefined) return [{ json: args, at: '' }];
	const value = Object.hasOwn(args, argument) ? args[argument] : undefined;
	if (value === undefined) throw invalid(`/${argument}`, `${argument} is required but is missing.`);
	if (argument === 'request') return [{ json: value, at: '/request' }];
	if (!Array.isArray(value)) throw invalid('/messages', 'messages must be a list of the messages to send.');
	return value.map((json, index) => ({ json, at: `/messages/${index}` }));
}
