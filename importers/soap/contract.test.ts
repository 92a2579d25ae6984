import executor from '../../plugins/executors/soap/index.ts';
import { content, documentOf, fixture, shopFiles } from '../../test/helpers/soap.ts';
import { type ImporterSample, importerContract } from '../../testing/importer.ts';
import importer from './index.ts';

const PORT_TYPE = /<((?:wsdl:)?)portType\b[\s\S]*?<\/\1portType>/;
const OPERATION = /<((?:wsdl:)?)operation\b[\s\S]*?<\/\1operation>/g;

/** Documents that the tests count and reorder as text; in each the only port type for SOAP comes first. */
function sampleOf(name: string, text: string, more: Partial<ImporterSample> = {}): ImporterSample {
	const operations = PORT_TYPE.exec(text)?.[0].match(OPERATION) ?? [];
	const left = [...operations];
	const shuffled = text.replace(PORT_TYPE, (portType) => portType.replace(OPERATION, () => left.pop() ?? ''));
	return { name, text, operations: operations.length, shuffled, ...more };
}

/** Operations with one name, or with names that differ only in case, or in characters that a tool's name cannot have. */
const CLASHES: [name: string, input: string][] = [
	['send', 'a'],
	['send', 'b'],
	['SEND', 'c'],
	['sen.d', 'd'],
	['sen-d', 'e'],
	['größe', 'f'],
];
const operationsOf = (inside: string): string =>
	CLASHES.map(([name, input]) => `<operation name="${name}"><input name="${input}"${inside}</operation>`).join('');
const clashing = documentOf(content(''))
	.replace(/<operation name="Do"><input.*?<\/operation>/, operationsOf(' message="t:In"/>'))
	.replace(/<operation name="Do"><soap.*?<\/operation>/, operationsOf('><soap:body use="literal"/></input>'));

/** A hostile text, escaped and without most control characters, which XML cannot write. */
const escaped = (text: string): string =>
	text
		.replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd]/g, '')
		.replaceAll('&', '&amp;')
		.replaceAll('<', '&lt;');

importerContract(importer, {
	executors: [executor],
	samples: [
		sampleOf('weather', fixture('weather.wsdl')),
		sampleOf('QuickBooks', fixture('qbws.wsdl')),
		sampleOf('a shop in several files', fixture('shop.wsdl'), { source: { path: 'shop.wsdl', files: shopFiles() } }),
		sampleOf('clashing names', clashing),
	],
	foreign: [
		'{"openapi":"3.1.0","paths":{}}',
		'type Query { a: String }',
		'syntax = "proto3";',
		'<html><body>definitions</body></html>',
		'<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"/>',
	],
	broken: [
		{ text: documentOf(content('')).replace('</types>', ''), at: /line 7, column \d+/ },
		{ text: documentOf(content('')).slice(0, -20), at: /line \d+, column \d+/ },
		{ text: `<!DOCTYPE d>${documentOf(content(''))}`, at: /line 1, column \d+: a DOCTYPE/ },
	],
	described: (text) =>
		documentOf(
			content(
				`<xs:sequence><xs:element name="a"><xs:annotation><xs:documentation>${escaped(text)}</xs:documentation></xs:annotation></xs:element></xs:sequence>`,
			),
		).replace('<operation name="Do"><input m', `<operation name="Do"><documentation>${escaped(text)}</documentation><input m`),
});
