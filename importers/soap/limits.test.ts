// Messages that are larger than a model reads: shown in part, checked in full, and written as far as they are modelled.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertBounded, compileArguments, type JsonObject, LEFT_OUT, type Operation } from '../../core/index.ts';
import { content, documentOf, readOne } from '../../test/helpers/soap.ts';

const SHOWN = /^Models are shown the schema without “W\d+”.*: arguments are checked against the whole one\.$/;
const UNMODELLED =
	/^The model of “W\d+”.* is too large and was left out: it accepts anything, which is sent in the order in which it is given\.$/;

interface Widths {
	/** Number of types, each nested in the one before, and of their elements. */
	types: number;
	members: number;
	words?: string;
}

/** A document whose message holds `a` of the first type, which holds `next` of the second, and so on. */
const chainOf = ({ types, members, words = '' }: Widths): Promise<Operation> => {
	const note = words === '' ? '' : `<xs:annotation><xs:documentation>${words}</xs:documentation></xs:annotation>`;
	const elements = Array.from({ length: members }, (_, m) => `<xs:element name="member${m}" type="xs:int" minOccurs="0"/>`).join('');
	const wide = Array.from(
		{ length: types },
		(_, n) =>
			`<xs:complexType name="W${n}">${note}<xs:sequence>${elements}<xs:element name="next" type="t:W${n + 1}" minOccurs="0"/></xs:sequence></xs:complexType>`,
	);
	const root = content('<xs:sequence><xs:element name="a" type="t:W0"/></xs:sequence>');
	return readOne(documentOf(`${root}${wide.join('')}<xs:complexType name="W${types}"/>`));
};

const accepts = (schema: JsonObject, args: object): boolean => compileArguments(schema)(args as JsonObject).length === 0;
const nested = (levels: number, inside: object): object => (levels === 0 ? inside : { next: nested(levels - 1, inside) });

test('The nearest part of a message that is too large is shown, and arguments are checked against the whole', async () => {
	// The first exceeds the levels, the second the characters.
	for (const [widths, level] of [
		[{ types: 100, members: 1 }, 61],
		[{ types: 50, members: 10, words: 'y'.repeat(490) }, 50],
	] as const) {
		const { parameters, whole, outcome, reasons } = await chainOf(widths);
		assert.equal(outcome, 'degraded');
		assert.equal(reasons.length, 1, reasons.join());
		assert.match(reasons.join(), SHOWN);
		assert.ok(JSON.stringify(parameters).length < 70_000);
		assert.deepEqual(Object(parameters['$defs'])[`W${level - 1}`], { description: LEFT_OUT });
		const wrong = { a: nested(level - 1, { member0: 'x' }) };
		assert.ok(whole && accepts(parameters, wrong) && !accepts(whole, wrong));
		assert.ok(accepts(whole, { a: nested(level - 1, { member0: 1 }) }) && !accepts(parameters, { a: nested(1, { member0: 'x' }) }));
		assertBounded(whole, '/parameters');
	}
	assert.equal((await chainOf({ types: 5, members: 1 })).whole, null);
});

test('An answer whose schema is too large is reported as such', async () => {
	const { outputSchema, answerCut } = await chainOf({ types: 100, members: 1 });
	assert.deepEqual([outputSchema, answerCut], [null, true]);
	const small = await chainOf({ types: 5, members: 1 });
	assert.deepEqual([small.outputSchema === null, small.answerCut ?? false], [false, false]);
	const unanswered = documentOf(content(''))
		.replace('<output message="t:In"/>', '')
		.replace('<output><soap:body use="literal"/></output>', '');
	const none = await readOne(unanswered);
	assert.deepEqual([none.outputSchema, none.answerCut ?? false], [null, false]);
});

test('A type that the executor’s model leaves out accepts anything in the whole schema, too, since only the service knows its names', async () => {
	const { parameters, whole, definition, reasons } = await chainOf({ types: 400, members: 10 });
	assert.equal(reasons.length, 2);
	assert.match(reasons[0] ?? '', UNMODELLED);
	assert.match(reasons[1] ?? '', SHOWN);
	const [, name = ''] = /“(W\d+)”/.exec(reasons[0] ?? '') ?? [];
	assert.deepEqual(Object(whole?.['$defs'])[name], { description: LEFT_OUT });
	assert.equal(Object(definition['types'])[name].open, true);
	assert.ok(JSON.stringify(parameters).length < 70_000 && JSON.stringify(definition).length < 75_000);
	assert.ok(Object.keys(parameters['$defs'] as JsonObject).length <= 61);
	compileArguments(parameters);
	const { a } = { a: nested(Number(name.slice(1)), { '{urn:other}x': 'x' }) };
	assert.ok(whole && accepts(whole, { a }) && !accepts(whole, { a: nested(70, { '{urn:other}x': 'x' }) }));
});

const simple = (name: string, inside: string): string => `<xs:simpleType name="${name}">${inside}</xs:simpleType>`;

test('Unions of unions are described up to a size, though each level holds the one before ten times', async () => {
	const member = (base: string) => (_: unknown, n: number) =>
		`<xs:simpleType><xs:restriction base="${base}"><xs:minInclusive value="${n}"/></xs:restriction></xs:simpleType>`;
	const union = (level: number): string =>
		simple(
			`U${level}`,
			`<xs:union>${Array.from({ length: 10 }, member(level === 0 ? 'xs:decimal' : `t:U${level - 1}`)).join('')}</xs:union>`,
		);
	const unions = (levels: number): Promise<Operation> =>
		readOne(
			documentOf(
				content(`<xs:sequence><xs:element name="a" type="t:U${levels}"/></xs:sequence>`) +
					Array.from({ length: levels + 1 }, (_, level) => union(level)).join(''),
			),
		);
	assert.equal((await unions(1)).outcome, 'converted');
	const { parameters, outcome, reasons } = await unions(4);
	assert.equal(outcome, 'degraded');
	assert.match(reasons.join(), /^The union in line \d+ is too large to be described: it accepts any text\.$/);
	assert.ok(JSON.stringify(parameters).length < 70_000);
});

test('Arguments that repeat a long enumeration a hundred times are skipped, before they are written', async () => {
	const values = Array.from({ length: 300 }, (_, n) => `<xs:enumeration value="${String(n).padEnd(200, 'x')}"/>`).join('');
	const elements = (count: number): string =>
		content(`<xs:sequence>${Array.from({ length: count }, (_, n) => `<xs:element name="a${n}" type="t:E"/>`).join('')}</xs:sequence>`);
	const type = simple('E', `<xs:restriction base="xs:string">${values}</xs:restriction>`);
	assert.equal((await readOne(documentOf(elements(2) + type))).outcome, 'converted');
	const { outcome, reasons } = await readOne(documentOf(elements(100) + type));
	assert.deepEqual([outcome, reasons], ['skipped', ['Its arguments take more than a million characters to describe.']]);
});

test('A chain of types that would overflow the stack skips the operation', async () => {
	const count = 10_000;
	const groups = Array.from(
		{ length: count },
		(_, n) => `<xs:attributeGroup name="G${n}"><xs:attributeGroup ref="t:G${n + 1}"/></xs:attributeGroup>`,
	);
	const types = simple('R', '<xs:restriction base="t:R"/>').repeat(count);
	for (const schema of [
		`${content('<xs:attributeGroup ref="t:G0"/>')}${groups.join('')}<xs:attributeGroup name="G${count}"/>`,
		`<xs:redefine schemaLocation="x.xsd">${types}</xs:redefine>${content('<xs:sequence><xs:element name="a" type="t:R"/></xs:sequence>')}`,
	]) {
		const { outcome, reasons } = await readOne(documentOf(schema));
		assert.deepEqual([outcome, reasons], ['skipped', ['The chain of its types is too long to be followed.']]);
	}
});
