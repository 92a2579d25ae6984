// Tests of zips that are made by fflate and then altered: the claims of a hostile one differ from its contents.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { strToU8, zipSync } from 'fflate';
import { threadCpuMs } from '../../test/helpers/clock.ts';
import { GatewayError } from '../contract/errors.ts';
import { isZip, readFiles, unzip } from './files.ts';

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');
const textsOf = (files: ReadonlyMap<string, Uint8Array>): Record<string, string> =>
	Object.fromEntries([...files].map(([path, bytes]) => [path, Buffer.from(bytes).toString()]));

/** Returns the error of a refused reading. */
function refusal(read: () => unknown): GatewayError {
	try {
		read();
	} catch (error) {
		assert.ok(error instanceof GatewayError, String(error));
		assert.equal(error.code, 'validation_failed');
		return error;
	}
	throw new assert.AssertionError({ message: 'accepted' });
}

/** Returns a copy with the numbers after each mark of an entry (local: PK34, directory: PK12) changed. */
function patched(zip: Uint8Array, mark: '0304' | '0102', offset: number, bytes: number[]): Uint8Array {
	const copy = Buffer.from(zip);
	const at = copy.indexOf(Buffer.from(`504b${mark}`, 'hex'));
	assert.ok(at >= 0);
	Buffer.from(bytes).copy(copy, at + offset);
	return copy;
}

test('files are accepted as texts, as bytes and as a zip', () => {
	assert.deepEqual(textsOf(readFiles({ 'a.yaml': 'a: é', 'b/c.bin': { base64: base64(strToU8('bytes')) } })), {
		'a.yaml': 'a: é',
		'b/c.bin': 'bytes',
	});
	const zip = zipSync({ 'a.yaml': strToU8('a: 1'), b: { 'c.txt': [strToU8('stored'), { level: 0 }], 'empty.txt': strToU8('') } });
	assert.ok(isZip(zip));
	assert.deepEqual(textsOf(readFiles(base64(zip))), { 'a.yaml': 'a: 1', 'b/c.txt': 'stored', 'b/empty.txt': '' });
});

test('files that macOS adds to a zip, and folders, are ignored', () => {
	const zip = zipSync({ 'a.yaml': strToU8('a'), '__MACOSX/._a.yaml': strToU8('x'), 'b/': new Uint8Array(), 'b/.DS_Store': strToU8('x') });
	assert.deepEqual([...unzip(zip, '/files').keys()], ['a.yaml']);
});

for (const path of [
	...['', '/a', '../a', 'a/../b', './a', 'a//b', 'a/.', 'a\\b', 'C:/a', 'file:a', 'http://a/b', 'a\u0000', 'a\nb'],
	...['x'.repeat(501), `${'a/'.repeat(60)}b`],
]) {
	test(`the path ${JSON.stringify(path.slice(0, 20))} is refused, in a map and in a zip`, () => {
		const inMap = refusal(() => readFiles({ 'ok.yaml': '', [path]: 'x' }));
		assert.match(inMap.details[0]?.path ?? '', /^\/files\//);
		assert.match(inMap.message, /is not a valid file path/);
		if (path !== '') assert.match(refusal(() => unzip(zipSync({ [path]: strToU8('x') }), '/files')).message, /is not a valid file path/);
	});
}

test('invalid base64 is refused, naming the file', () => {
	assert.equal(refusal(() => readFiles({ 'a/b': { base64: 'a-b' } })).details[0]?.path, '/files/a~1b');
	assert.equal(refusal(() => readFiles('not base64')).details[0]?.path, '/files');
});

test('bytes that are no zip, a truncated zip and an empty zip are refused', () => {
	const zip = zipSync({ 'a.yaml': strToU8('a: 1'.repeat(1000)), 'b.yaml': strToU8('b') });
	assert.match(refusal(() => unzip(strToU8('PK\u0003\u0004 no'), '/files')).message, /cannot be read/);
	for (let end = 1; end < zip.length; end += 7) refusal(() => unzip(zip.subarray(0, end), '/files'));
	assert.match(refusal(() => unzip(zipSync({}), '/files')).message, /no files/);
	assert.match(refusal(() => unzip(zipSync({ 'a/': new Uint8Array() }), '/files')).message, /no files/);
});

test('a zip with any byte changed is read or refused, and nothing else', () => {
	const zip = zipSync({ 'a.yaml': strToU8('a: 1'.repeat(20)), 'b.yaml': [strToU8('b'), { level: 0 }] });
	for (let at = 0; at < zip.length; at++) {
		for (const value of [0, 0xff, (zip[at] ?? 0) ^ 1]) {
			const copy = Buffer.from(zip);
			copy[at] = value;
			try {
				unzip(copy, '/files');
			} catch (error) {
				assert.ok(error instanceof GatewayError, `${at}: ${String(error)}`);
			}
		}
	}
});

test('a bomb is refused before it is inflated, by the sizes in its directory', () => {
	const size = [0, 0, 0x10, 0x04];
	assert.equal(Buffer.from(size).readUInt32LE(), 65 * 1024 * 1024);
	// Nothing of it is inflated, so that the sizes alone are those of a bomb.
	const bomb = patched(patched(zipSync({ 'a.yaml': new Uint8Array(1024) }), '0102', 24, size), '0304', 22, size);
	assert.match(refusal(() => unzip(bomb, '/files')).message, /larger than 64 MiB/);
	const parts = Object.fromEntries(Array.from({ length: 5 }, (_, index) => [`${index}.yaml`, new Uint8Array(13 * 1024 * 1024)]));
	assert.match(refusal(() => unzip(zipSync(parts), '/files')).message, /larger than 64 MiB/);
});

test('a bomb whose directory lies is cut while it is inflated', async () => {
	const bomb = zipSync({ 'a.yaml': new Uint8Array(60 * 1024 * 1024) });
	// The size of the content, in the directory and before the content: 10 bytes.
	const lying = patched(patched(bomb, '0102', 24, [10, 0, 0, 0]), '0304', 22, [10, 0, 0, 0]);
	const whole = await threadCpuMs(() => unzip(bomb, '/files'));
	const refuse = (): Promise<number> =>
		threadCpuMs(() => assert.match(refusal(() => unzip(lying, '/files')).message, /larger than the zip’s directory says/));
	// A collection of garbage may fall into any of them.
	const cut = Math.min(await refuse(), await refuse(), await refuse());
	assert.ok(cut < whole / 2, `${cut} ms, ${whole} ms for all of it`);
});

test('a directory that names files or sizes that do not match is refused', () => {
	const zip = zipSync({ 'a.yaml': strToU8('a: 1'), 'b.yaml': strToU8('b') });
	assert.match(refusal(() => unzip(patched(zip, '0102', 46, [0x78]), '/files')).message, /directory does not name/);
	assert.match(refusal(() => unzip(patched(zip, '0304', 30, [0x78]), '/files')).message, /directory does not name/);
	assert.match(refusal(() => unzip(patched(zip, '0102', 24, [99, 0, 0, 0]), '/files')).message, /smaller than the zip’s directory says/);
	const twice = Buffer.from(zipSync({ 'a.yaml': strToU8('a'), 'b.yaml': strToU8('b') }).map((byte) => (byte === 0x62 ? 0x61 : byte)));
	assert.match(refusal(() => unzip(twice, '/files')).message, /twice/);
});

test('more than 2,000 files are refused', () => {
	const many = zipSync(Object.fromEntries(Array.from({ length: 2_001 }, (_, index) => [`${index}`, new Uint8Array()])));
	assert.match(refusal(() => unzip(many, '/files')).message, /more than 2000 files/);
});

test('files that are larger than 64 MiB together are refused', () => {
	const half = 'x'.repeat(33 * 1024 * 1024);
	assert.match(refusal(() => readFiles({ a: half, b: half })).message, /larger than 64 MiB/);
});
