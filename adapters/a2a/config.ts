// The configurations: what the owners of a gateway say, and what the operator says for all of them.

import { createPrivateKey, type KeyObject } from 'node:crypto';
import Joi from 'joi';
import { httpUrl } from '../../core/index.ts';
import type { Retention } from './tasks.ts';

export interface Config extends Retention {
	discovery: 'full' | 'minimal';
	version: string;
	documentationUrl?: string;
	iconUrl?: string;
}

export interface Operator {
	signingKey?: string;
}

const page = httpUrl.max(2048);

export const config = Joi.object<Config>({
	discovery: Joi.valid('full', 'minimal')
		.default('full')
		.description(
			'What the public card tells: all skills with their schemas, or only what the agent is and how to log in; the rest is in the extended card.',
		),
	taskRetentionHours: Joi.number()
		.integer()
		.min(1)
		.max(720)
		.default(24)
		.description(
			'Hours for which a task is kept after its last change. An organization keeps 100,000 at most: beyond that, those that ended first go.',
		),
	version: Joi.string().max(64).default('1.0.0').description('The version of the agent, as its card tells it.'),
	documentationUrl: page.description('A page about the agent, for its card.'),
	iconUrl: page.description('An icon of the agent, for its card.'),
});

/** Reads a private key of P-256 in PEM; line breaks may be written as `\n`, as in variables. @throws Error */
export function readSigningKey(text: string): KeyObject {
	const key = createPrivateKey(text.replaceAll('\\n', '\n'));
	if (key.asymmetricKeyType !== 'ec' || key.asymmetricKeyDetails?.namedCurve !== 'prime256v1') throw new Error('another type of key');
	return key;
}

export const operator = Joi.object<Operator>({
	signingKey: Joi.string()
		.max(10_000)
		.custom((text: string, helpers) => {
			try {
				readSigningKey(text);
				return text;
			} catch {
				return helpers.message({ custom: '{{#label}} must be a private key of the curve P-256 in PEM (PKCS #8)' });
			}
		})
		.meta({ secret: true })
		.description('The private key (P-256, PEM) with which agent cards are signed by ES256. Without one they are not signed.'),
});
