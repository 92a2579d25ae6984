// Health endpoints (specification 4.8): public, and exempt from every limit.

import type { Request, Server, ServerRoute } from '@hapi/hapi';
import Joi from 'joi';
import { type Core, count, type Feature, operation, shape } from '../../../core/features.ts';
import { DISK, disk, MEMORY, memory } from './machine.ts';

/** A dependency that has not answered within this time counts as unreachable. */
const PATIENCE_MS = 1500;

interface Dependency {
	status: 'ok' | 'unreachable' | 'not_configured';
	ms?: number;
}

const ms = count.optional().description('Milliseconds until the answer, or until the check was given up.');
const DEPENDENCIES = {
	database: shape({ status: Joi.string().valid('ok', 'unreachable'), ms }),
	redis: shape({ status: Joi.string().valid('ok', 'unreachable', 'not_configured'), ms }),
};

const report = (checks: Record<string, Joi.Schema>): Joi.ObjectSchema =>
	shape({
		success: Joi.boolean(),
		data: shape({ status: Joi.string().valid('ok', 'unavailable', 'stopping'), checks: shape(checks) }),
	});

const UNREACHABLE = 'The database, or Redis where one is configured, cannot be reached';

export default {
	kind: 'feature',
	api: 1,
	name: 'health',
	summary: 'Health, liveness and readiness of this process.',
	config: Joi.object({}),
	segments: ['health'],
	register(server: Server, _config, core) {
		server.route([liveness, readiness(core), health(core)]);
	},
} satisfies Feature;

const liveness = operation({
	method: 'GET',
	path: '/health/live',
	id: 'checkLiveness',
	summary: 'Tells that the process is running; nothing else is checked.',
	need: 'public',
	answer: shape({ status: Joi.string().valid('ok'), uptimeSeconds: count }).meta({ schema: 'Liveness' }),
	handler: () => ({ status: 'ok', uptimeSeconds: Math.floor(process.uptime()) }),
});

const readiness = (core: Core): ServerRoute =>
	operation({
		method: 'GET',
		path: '/health/ready',
		id: 'checkReadiness',
		summary: 'Tells within 2 s whether requests should be sent here.',
		need: 'public',
		bare: true,
		answer: report(DEPENDENCIES).meta({ schema: 'Readiness' }),
		alsoAnswers: { 503: `${UNREACHABLE}, or the service is stopping.` },
		handler: async (request) => {
			const checks = await dependencies(core);
			const state = core.leaving.aborted ? 'stopping' : stateOf(checks);
			return answer(request, state, checks);
		},
	});

const health = (core: Core): ServerRoute =>
	operation({
		method: 'GET',
		path: '/health',
		id: 'checkHealth',
		summary: 'Shows the database, Redis, disk and memory.',
		description: 'Low disk space or memory is reported, but is not a 503.',
		need: 'public',
		bare: true,
		answer: report({ ...DEPENDENCIES, disk: DISK, memory: MEMORY }).meta({ schema: 'Health' }),
		alsoAnswers: { 503: `${UNREACHABLE}.` },
		handler: async (request) => {
			const [checks, space] = await Promise.all([dependencies(core), disk(core.config.dataDir)]);
			return answer(request, stateOf(checks), { ...checks, disk: space, memory: memory() });
		},
	});

type State = 'ok' | 'unavailable' | 'stopping';

const answer = (request: Request, status: State, checks: object) =>
	request.generateResponse({ success: status === 'ok', data: { status, checks } }).code(status === 'ok' ? 200 : 503);

async function dependencies(core: Core): Promise<Record<string, Dependency>> {
	const redis: Promise<Dependency> = core.shared.distributed
		? probe(() => core.shared.ping())
		: Promise.resolve({ status: 'not_configured' });
	const [database, shared] = await Promise.all([probe(() => core.store.ping()), redis]);
	return { database, redis: shared };
}

async function probe(ping: () => Promise<void>): Promise<Dependency> {
	const started = performance.now();
	const late = new Promise<never>((_resolve, reject) => setTimeout(reject, PATIENCE_MS, new Error('late')).unref());
	const status = await Promise.race([ping(), late]).then(
		() => 'ok' as const,
		() => 'unreachable' as const,
	);
	return { status, ms: Math.round(performance.now() - started) };
}

const stateOf = (checks: Record<string, Dependency>): State =>
	Object.values(checks).some(({ status }) => status === 'unreachable') ? 'unavailable' : 'ok';
