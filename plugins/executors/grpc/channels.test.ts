// Tests where calls go: TLS, the guard, and connections that are kept, broken, closed.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Metadata } from '@grpc/grpc-js';
import { GatewayError, type JsonObject } from '../../../core/index.ts';
import { until } from '../../../test/helpers/clock.ts';
import { failure } from '../../../test/helpers/egress.ts';
import { apiAt } from '../../../test/helpers/executor.ts';
import { grpcServer } from '../../../test/helpers/grpc.ts';
import { configOf, type GrpcCallOptions, grpcCall, run, textOf } from '../../../test/helpers/grpc-run.ts';
import { CERTIFICATE, httpUpstream, LOOPBACK_CERTIFICATE, tcpUpstream, tlsListener } from '../../../test/helpers/upstream.ts';
import { Channel, targetOf } from './channels.ts';
import type { GrpcConfig } from './config.ts';
import { exchange } from './exchange.ts';
import grpc from './index.ts';

test('https is TLS: the certificate must be for the host, and trusted by the roots of the config', async (t) => {
	const server = await grpcServer(t, { tls: 'upstream.example' });
	const at = (host: string): GrpcCallOptions => ({ api: apiAt(`https://${host}:${server.port}`), allow: ['127.0.0.1'] });
	const roots = { rootCertificates: CERTIFICATE };
	const good = await run(t, server, 'Shop_GetItem', { name: 'x' }, { ...at('upstream.example'), more: roots });
	assert.partialDeepStrictEqual(good.structured, { title: 'A chair' });
	const wrong: [GrpcCallOptions, Partial<GrpcConfig>][] = [
		[at('upstream.example'), {}],
		[at('other.example'), roots],
	];
	for (const [call, more] of wrong) {
		const error = await failure(run(t, server, 'Shop_GetItem', { name: 'x' }, { ...call, more }), 'upstream_failed');
		assert.match(error.message, /certificate is not trusted, or is for another name/);
	}
	await assert.rejects(configOf('Shop_GetItem', { rootCertificates: '-----BEGIN CERTIFICATE-----\nx' }), /must be PEM certificates/);
	assert.equal(server.metadata.length, 1);
});

test('a certificate may be for an IP address, which is not sent as the server name (RFC 6066 §3)', async (t) => {
	const server = await grpcServer(t, { tls: 'loopback' });
	const more = { rootCertificates: LOOPBACK_CERTIFICATE };
	const good = await run(t, server, 'Shop_GetItem', { name: 'x' }, { api: apiAt(`https://127.0.0.1:${server.port}`), more });
	assert.partialDeepStrictEqual(good.structured, { title: 'A chair' });
	const named = run(t, server, 'Shop_GetItem', { name: 'x' }, { api: apiAt(`https://upstream.example:${server.port}`), more });
	assert.match((await failure(named, 'upstream_failed')).message, /certificate is not trusted, or is for another name/);
	const told: string[] = [];
	const listening = await tlsListener(t, (name) => told.push(name));
	for (const host of ['127.0.0.1', 'upstream.example'])
		await failure(run(t, server, 'Shop_GetItem', {}, { api: apiAt(`https://${host}:${listening.port}`) }), 'upstream_failed');
	assert.deepEqual([listening.connections() >= 2, [...new Set(told)]], [true, ['upstream.example']]);
});

test('if nothing listens, or another protocol does, the run fails without showing an address', async (t) => {
	const refusing = await failure(
		run(
			t,
			{ port: 1 },
			'Shop_GetItem',
			{ name: 'x' },
			{ api: apiAt('http://upstream.example:9'), allow: ['127.0.0.1', 'http://upstream.example:9'] },
		),
		'upstream_failed',
	);
	assert.match(refusing.message, /^upstream\.example:9 could not be reached by gRPC: it refuses connections\.$/);
	const http = await httpUpstream(t, (_request, response) => response.end('hello'));
	const closing = await tcpUpstream(t, (socket) => socket.destroy());
	for (const { port } of [http, closing])
		await failure(
			run(t, { port }, 'Shop_GetItem', { name: 'x' }, { more: { timeoutMs: 3000 } }).then((result) =>
				Promise.reject(new Error(textOf(result))),
			),
			'upstream_failed',
		);
});

test('the guard decides where a call goes, and by what address', async (t) => {
	const server = await grpcServer(t);
	const config = await configOf('Shop_GetItem');
	for (const baseUrl of ['http://10.0.0.1:50051', 'http://169.254.169.254', `http://[::1]:${server.port}`, 'http://127.0.0.1:22']) {
		const call = grpcCall(t, { api: apiAt(baseUrl), allow: [] });
		await failure(grpc.execute({ name: 'x' }, config, call), 'egress_refused');
	}
	const named = await run(t, server, 'Shop_GetItem', { name: 'x' }, { api: apiAt(`http://upstream.example:${server.port}`) });
	assert.partialDeepStrictEqual(named.structured, { title: 'A chair' });
	assert.deepEqual(server.hosts, [`upstream.example:${server.port}`]);
	await failure(grpc.execute({ name: 'x' }, config, grpcCall(t)), 'validation_failed');
});

test('calls of one API share a connection, which is found again and asked for once', async (t) => {
	const server = await grpcServer(t);
	const asked: string[] = [];
	const tool = { id: 'tool', version: '1' } as NonNullable<GrpcCallOptions['tool']>;
	const call = grpcCall(t, {
		api: apiAt(`http://127.0.0.1:${server.port}`),
		tool,
		onConnect: (host, port) => asked.push(`${host}:${port}`),
	});
	const config = await configOf('Shop_GetItem');
	await Promise.all(Array.from({ length: 50 }, () => grpc.execute({ name: 'x' }, config, call)));
	for (let count = 0; count < 50; count++) await grpc.execute({ name: 'x' }, config, call);
	assert.equal(server.metadata.length, 100);
	assert.equal(server.connections(), 1);
	assert.deepEqual(asked, [`127.0.0.1:${server.port}`]);
});

test('a connection that broke is made again', async (t) => {
	const server = await grpcServer(t);
	const call = grpcCall(t, { api: apiAt(`http://127.0.0.1:${server.port}`) });
	const config = await configOf('Shop_GetItem');
	await grpc.execute({ name: 'x' }, config, call);
	server.disconnect();
	await until(async () => server.connections() === 0, 'disconnected');
	assert.partialDeepStrictEqual((await grpc.execute({ name: 'x' }, config, call)).structured, { title: 'A chair' });
});

test('an idle connection is closed, and opened again by the next call', async (t) => {
	const server = await grpcServer(t);
	const call = grpcCall(t, { api: apiAt(`http://127.0.0.1:${server.port}`) });
	const channel = new Channel({ address: '127.0.0.1', family: 4, port: server.port }, targetOf(call), undefined, 50);
	const parts = { path: '/shop.v1.Shop/GetItem', messages: [Buffer.of()], metadata: new Metadata(), timeoutMs: 5000, maxMessages: 1 };
	const ask = () => channel.use((client) => exchange(client, { ...parts, signal: call.signal }));
	for (const _round of [1, 2]) {
		const [first, second] = await Promise.all([ask(), ask()]);
		assert.deepEqual([first.status.code, second.status.code, server.connections()], [0, 0, 1]);
		await until(async () => server.connections() === 0, 'closed');
	}
});

test('every call passes the lane, and counts as failed if the server could not be reached or did not answer, not if it refused', async (t) => {
	const server = await grpcServer(t);
	const closing = await tcpUpstream(t, (socket) => socket.destroy());
	const heard: string[] = [];
	const calls: [what: string, at: { port: number }, tool: string, args: JsonObject, more?: Partial<GrpcConfig>][] = [
		['no connection', closing, 'Shop_GetItem', { name: 'x' }],
		['silent', server, 'Shop_Wait', {}, { timeoutMs: 200 }],
		['unavailable', server, 'Shop_Fail', { code: 14 }],
		['not found', server, 'Shop_Fail', { code: 5 }],
		['internal', server, 'Shop_Fail', { code: 13 }],
		['some of a stream', server, 'Shop_Watch', { count: 100, everyMs: 400 }, { timeoutMs: 3000 }],
		['well', server, 'Shop_GetItem', { name: 'x' }],
	];
	for (const [what, at, tool, args, more = {}] of calls)
		await run(t, at, tool, args, { more, onFailed: () => heard.push(what) }).catch(() => undefined);
	assert.deepEqual(heard, ['no connection', 'silent', 'unavailable']);
});

test('a call that the lane never admits sends nothing', async (t) => {
	const server = await grpcServer(t);
	const call = grpcCall(t, { api: apiAt(`http://127.0.0.1:${server.port}`) });
	const asked: string[] = [];
	const turn = async (url: string): Promise<never> => {
		asked.push(url);
		throw new GatewayError('rate_limited', 'Its lane is full.');
	};
	await failure(grpc.execute({ name: 'x' }, await configOf('Shop_GetItem'), { ...call, exchange: turn }), 'rate_limited');
	assert.deepEqual([asked, server.connections()], [[`http://127.0.0.1:${server.port}`], 0]);
});
