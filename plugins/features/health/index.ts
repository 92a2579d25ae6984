// Health endpoints (specification 4.8): public, and outside every limit.

import { statfs } from 'node:fs/promises';
import { freemem, totalmem } from 'node:os';
import type { Server } from '@hapi/hapi';
import Joi from 'joi';
import { type Core, type Feature, success } from '../../../core/index.ts';

/** A dependency that has not answered by then counts as unreachable. */
const PATIENCE_MS = 1500;

interface Check {
	status: 'ok' | 'unreachable' | 'not_configured';
	[figure: string]: string | number;
}

export default {
	kind: 'feature',
	name: 'health',
	summary: 'Health, liveness and readiness of this process.',
	config: Joi.object({}),
	register(server: Server, _config, core) {
		const options = { auth: false as const };
		server.route([
			{
				method: 'GET',
				path: '/health/live',
				options,
				handler: () => success({ status: 'ok', uptimeSeconds: Math.floor(process.uptime()) }),
			},
			{
				method: 'GET',
				path: '/health/ready',
				options,
				handler: async (_request, h) => {
					const checks = await dependencies(core);
					return h.response(report(checks)).code(allReachable(checks) ? 200 : 503);
				},
			},
			{
				method: 'GET',
				path: '/health',
				options,
				handler: async (_request, h) => {
					const checks = await dependencies(core);
					return h.response(report({ ...checks, disk: await disk(core), memory: memory() })).code(allReachable(checks) ? 200 : 503);
				},
			},
		]);
	},
} satisfies Feature;

async function dependencies(core: Core): Promise<Record<string, Check>> {
	const redis: Promise<Check> = core.shared.distributed ? probe(() => core.shared.ping()) : Promise.resolve({ status: 'not_configured' });
	const [database, shared] = await Promise.all([probe(() => core.store.ping()), redis]);
	return { database, redis: shared };
}

async function probe(ping: () => Promise<void>): Promise<Check> {
	const started = performance.now();
	const late = new Promise<never>((_resolve, reject) => setTimeout(reject, PATIENCE_MS, new Error('late')).unref());
	try {
		await Promise.race([ping(), late]);
		return { status: 'ok', ms: Math.round(performance.now() - started) };
	} catch {
		return { status: 'unreachable', ms: Math.round(performance.now() - started) };
	}
}

async function disk(core: Core): Promise<Check> {
	try {
		const { bavail, blocks, bsize } = await statfs(core.config.dataDir).catch(() => statfs('.'));
		return { status: 'ok', freeBytes: bavail * bsize, totalBytes: blocks * bsize };
	} catch {
		return { status: 'unreachable' };
	}
}

const memory = (): Check => ({
	status: 'ok',
	residentBytes: process.memoryUsage.rss(),
	freeBytes: freemem(),
	totalBytes: totalmem(),
});

const allReachable = (checks: Record<string, Check>): boolean => Object.values(checks).every(({ status }) => status !== 'unreachable');

const report = (checks: Record<string, Check>) => ({
	success: allReachable(checks),
	data: { status: allReachable(checks) ? 'ok' : 'unavailable', checks },
});
