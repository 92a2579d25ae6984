// How comments begin: a docstring is a sentence whose subject is the thing documented, and no comment is an ellipsis.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import ts from 'typescript5';
import { readSources } from './rooms.ts';

const ELLIPSIS = /^(?:Of|What|Whose|Who|Where|As)\b/;
/** Lines that title a section. */
const RULE = /[─═=*-]{2,}/g;

/** Comments of a source, each with the line that it begins on and its text without marks. Lines of `//` that follow each other are one. */
function commentsOf(text: string): { line: number; said: string }[] {
	const file = ts.createSourceFile('source.ts', text, ts.ScriptTarget.Latest, true);
	const found: { line: number; last: number; isLine: boolean; said: string }[] = [];
	const lineOf = (at: number): number => file.getLineAndCharacterOfPosition(at).line;
	for (const { pos, end, kind } of rangesOf(file)) {
		const [line, isLine] = [lineOf(pos), kind === ts.SyntaxKind.SingleLineCommentTrivia];
		// A comment behind code is one of its own.
		const isAlone = text.slice(text.lastIndexOf('\n', pos) + 1, pos).trim() === '';
		const before = found.at(-1);
		if (isLine && isAlone && before?.isLine && before.last === line - 1) before.last = line;
		else found.push({ line, last: isAlone ? lineOf(end) : -1, isLine, said: bare(text.slice(pos, end)) });
	}
	return found.map(({ line, said }) => ({ line: line + 1, said }));
}

/** Comments lie before tokens and behind them; from the tree, so that a string or a regular expression is not mistaken for one. */
function rangesOf(file: ts.SourceFile): ts.CommentRange[] {
	const ranges = new Map<number, ts.CommentRange>();
	const keep = (found: ts.CommentRange[] | undefined): void => {
		for (const range of found ?? []) ranges.set(range.pos, range);
	};
	const visit = (node: ts.Node): void => {
		const children = node.getChildren(file).filter(({ kind }) => !ts.SyntaxKind[kind].startsWith('JSDoc'));
		for (const child of children) visit(child);
		if (children.length > 0) return;
		// The space before a token of JSX is text.
		if (node.kind === ts.SyntaxKind.JsxText) return;
		keep(ts.getLeadingCommentRanges(file.text, node.getFullStart()));
		keep(ts.getTrailingCommentRanges(file.text, node.getEnd()));
	};
	visit(file);
	return [...ranges.values()].sort((a, b) => a.pos - b.pos);
}

/** The first words of a comment; in a block, of its first line that has any. */
const bare = (comment: string): string =>
	comment
		.replace(/^\/\*\*?|^\/\/+|\*\/$/g, '')
		.replace(/^\s*\*+/gm, '')
		.replace(RULE, '')
		.trim();

/** Such a word behind the marks of a comment, be it one or a part of a text: a source without any need not be parsed. */
const CANDIDATE = /(?:\/\/|\/\*|\*)[\s*/─═=-]*(?:Of|What|Whose|Who|Where|As)\b/;

const ellipsesOf = (text: string): string[] =>
	(CANDIDATE.test(text) ? commentsOf(text) : [])
		.filter(({ said }) => ELLIPSIS.test(said))
		.map(({ line, said }) => `${line}: ${said.split('\n')[0]}`);

const SAMPLES: [id: string, text: string, found: string[]][] = [
	[
		'a docstring, a line, a section',
		'/** Of a. */\nlet a;\n// What b.\nlet b;\n// ── Whose c ──\nlet c;',
		['1: Of a.', '3: What b.', '5: Whose c'],
	],
	['a docstring of several lines', '/**\n * Where it is.\n * More.\n */\nlet a;', ['1: Where it is.']],
	['a comment behind code, and the one after it', 'let a; // Who is it\n// As it was\nlet b;', ['1: Who is it', '2: As it was']],
	['the second of several lines', '// It is the one\n// Of them all.\nlet a;', []],
	['the first of several lines', '// Of them all\n// it is one.\nlet a;', ['1: Of them all']],
	['two comments with a line between', '// One.\n\n// Of two.\nlet a;', ['3: Of two.']],
	[
		'strings, templates, regular expressions',
		// biome-ignore lint/suspicious/noTemplateCurlyInString: it is the source that is read
		"let a = '// Of'; let b = `/* What */ ${a}// Of`; let c = /\\/\\/ Of/; let d = a / 2; // fine",
		[],
	],
	[
		'a comment inside of a template, an object, an end',
		// biome-ignore lint/suspicious/noTemplateCurlyInString: it is the source that is read
		'let a = `${/* Of b */ b}`;\nlet o = { /** As c */ c: 1 };\n// Who',
		['1: Of b', '2: As c', '3: Who'],
	],
	['words that only begin alike', '/** Offers. */ let a; /** Whoever. */ let b; /** Assigns. */ let c; /** Whatever. */ let d;', []],
	['a member, a parameter, a type', 'interface A {\n\t/** Of it. */\n\ta: 1;\n}\nfunction f(/* What */ a: 1) {}', ['2: Of it.', '5: What']],
];

for (const [id, text, found] of SAMPLES) test(`the comments of ${id} are found`, () => assert.deepEqual(ellipsesOf(text), found));

test('no comment begins with an ellipsis', () => {
	const sources = readSources('{core,db,adapters,importers,plugins,testing,demo,proxy,test}/**/*.ts');
	assert.ok(sources.length > 500);
	const ellipses = sources.flatMap(({ file, text }) => ellipsesOf(text).map((found) => `${file}:${found}`));
	assert.deepEqual(ellipses, []);
});
