// The schema of the jobs that a manifest declares.

import Joi, { type ObjectSchema, type Schema } from 'joi';
import type { JobHandler } from '../contract/jobs.ts';

/** The form of a job's name, which is a part of the name of its kind of run. */
const NAME = /^[a-z][a-z0-9_]{0,31}$/;
const DAY_MS = 24 * 60 * 60 * 1000;

const whole = (most: number): Schema => Joi.number().integer().min(1).max(most);

const handlerFields = {
	run: Joi.function().required(),
	attempts: whole(20),
	timeoutMs: whole(DAY_MS),
	places: whole(1000),
	perAccount: whole(1000),
} satisfies Record<keyof JobHandler, Schema>;

export const jobHandlers: ObjectSchema = Joi.object().pattern(NAME, Joi.object(handlerFields));
