// Hostile code, with the way in which each run must end. Every run must end on time, and the next one must succeed.

export interface SandboxCase {
	id: string;
	/** The body of a tool's function of `parameters`. */
	code: string;
	/** The returned value, or a pattern for the failure's message; null: either, as long as the run ends. */
	expected: { value: unknown } | { error: RegExp } | null;
	/** Whether the run may send requests; a server listens at `parameters.url`. */
	mayRequest?: boolean;
}

const LATE = /took longer than \d+ ms, and was stopped/;
const MEMORY = /out of memory|string too long|too large to allocate|took more memory|took longer than/;
const STACK = /stack overflow|took more memory|took longer than/;

type Group = [what: string, code: string, expected?: unknown][];

const ending = (group: string, expected: SandboxCase['expected'], cases: Group): SandboxCase[] =>
	cases.map(([what, code]) => ({ id: `${group}: ${what}`, code, expected }));

/** @param cases triples, the third of which is the returned value */
const returning = (group: string, cases: Group): SandboxCase[] =>
	cases.map(([what, code, value]) => ({ id: `${group}: ${what}`, code, expected: { value } }));

const time: SandboxCase[] = [
	...ending('time', { error: LATE }, [
		['an endless loop', 'for (;;) {}'],
		['a loop that catches all', 'for (;;) { try { for (;;) {} } catch {} finally { continue; } }'],
		['a finally that returns', 'try { for (;;) {} } finally { return "free"; }'],
		['a finally that loops', 'try { for (;;) {} } finally { for (;;) {} }'],
		['a loop in a catch', 'try { null.x } catch { for (;;) {} }'],
		['an async loop', 'for (;;) await null;'],
		['a chain of promises', 'const go = () => Promise.resolve().then(go); await go();'],
		['an async function whose interruption is caught', 'const f = async () => { for (;;) {} }; for (;;) { try { await f(); } catch {} }'],
		['a promise whose executor loops', 'await new Promise(() => { for (;;) {} });'],
		['a thenable that never ends', 'const t = { then(ok) { ok(t); } }; await t;'],
		['a thenable that loops', 'return { then() { for (;;) {} } };'],
		['an endless generator', 'function* g() { for (;;) yield 1; } for (const one of g()) one;'],
		['an endless async generator', 'async function* g() { for (;;) yield 1; } for await (const one of g()) one;'],
		[
			'an iterator without an end, spread',
			'const i = { [Symbol.iterator]: () => ({ next: () => ({ done: false }) }) }; for (const one of i) one;',
		],
		['timers that set timers', 'const again = () => setTimeout(again, 0); again(); await new Promise((ok) => setTimeout(ok, 60000));'],
		[
			'microtasks that add microtasks',
			'const again = () => queueMicrotask(again); again(); await new Promise((ok) => setTimeout(ok, 60000));',
		],
		['sleep', 'await new Promise((ok) => setTimeout(ok, 60000));'],
		['a flood of timers at the end', 'await new Promise((ok) => setTimeout(ok, 30000)); return 1;'],
		['a regular expression that goes back', 'return /^(a+)+$/.test("a".repeat(40) + "!");'],
		['a regular expression of alternatives', 'return /^(?:a|a|a|b)*c$/.test("a".repeat(40));'],
		['a power of BigInts', 'let x = 3n; for (;;) x = (x * x) % (2n ** 20000n);'],
		['a search in a huge array-like', 'return Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1);'],
		['a search that includes', 'return Array.prototype.includes.call({ length: 2 ** 53 - 1 }, 1);'],
		['a reversal of a huge array-like', 'return Array.prototype.reverse.call({ length: 2 ** 53 - 1 });'],
		['a copy within a huge array-like', 'return Array.prototype.copyWithin.call({ length: 2 ** 53 - 1 }, 5, 0);'],
		['a last search in a huge array-like', 'return Array.prototype.lastIndexOf.call({ length: 2 ** 53 - 1 }, 1);'],
		['a comparator that loops', 'return [2, 1].sort(() => { for (;;) {} });'],
		['a getter of the result that loops', 'return { get a() { for (;;) {} } };'],
		['a toJSON that loops', 'return { toJSON() { for (;;) {} } };'],
		['a Proxy as the result whose trap loops', 'return new Proxy({}, { ownKeys() { for (;;) {} } });'],
		['an error whose message loops', 'throw Object.defineProperty(new Error(), "message", { get() { for (;;) {} } });'],
		['an error whose name loops', 'const e = new Error("x"); Object.defineProperty(e, "name", { get() { for (;;) {} } }); throw e;'],
		['a toString that loops when it is printed', 'console.log({ toJSON() { for (;;) {} } }); return 1;'],
		['a static block of a class', 'class A { static { for (;;) {} } } return A;'],
		['a tagged template', 'const t = () => { for (;;) {} }; return t`x`;'],
		['eval', 'eval("for (;;) {}");'],
		['Function', 'new Function("for (;;) {}")();'],
	]),
	...ending('time', null, [
		['a look-behind that goes back', 'return /(?<=^(?:a*)*)b$/.test("a".repeat(60) + "c");'],
		['a join of nothing, a billion times', 'return Array(1e9).join("x").length;'],
		['a padding', 'return "x".padEnd(2 ** 30 - 2, "yz").length;'],
		['String.raw of a huge array-like', 'return String.raw({ raw: { length: 2 ** 53 - 1 } }).length;'],
		['a BigInt as a text', 'return (3n ** (2n ** 22n)).toString().length;'],
		['a deep regular expression', 'return new RegExp("(".repeat(1e5) + ")".repeat(1e5)).test("x");'],
		['a million sorted keys', 'const o = {}; for (let i = 0; i < 1e6; i++) o["k" + i] = i; return Object.keys(o).sort().length;'],
		['a text parsed as JSON that is all depth', 'return JSON.parse("[".repeat(1e6));'],
		['a source of ten million brackets', 'return eval("[".repeat(1e7));'],
		['Array.from of a huge length', 'return Array.from({ length: 2 ** 32 - 1 }, () => 1).length;'],
		['a fill of a huge array', 'return new Array(2e8).fill(0).length;'],
	]),
];

const memory: SandboxCase[] = [
	...ending('memory', { error: MEMORY }, [
		['an array without an end', 'const a = []; for (;;) a.push(new Array(1000).fill(1));'],
		['a string that doubles', 'let s = "x"; for (;;) s += s;'],
		['a string split in pieces', 'return "x".repeat(2e7).split("").map((one) => one + one).join("").length;'],
		['a repeated string', 'const a = []; for (;;) a.push("x".repeat(1e6) + a.length);'],
		['one and a half gigabytes at once', 'return new Uint8Array(1.5e9).length;'],
		['typed arrays without an end', 'const a = []; for (;;) a.push(new Uint8Array(1e6).fill(1));'],
		['a shared buffer', 'return new SharedArrayBuffer(1e9).byteLength;'],
		['a resizable buffer', 'const b = new ArrayBuffer(1, { maxByteLength: 1e9 }); b.resize(1e9); return b.byteLength;'],
		['a BigInt that squares itself', 'let x = 3n; for (;;) x = x * x;'],
		['a shift of a BigInt', 'let x = 1n; for (;;) x = (x << 1000000n) | x;'],
		['a Map without an end', 'const m = new Map(); for (let i = 0; ; i++) m.set(i, { i });'],
		['closures without an end', 'let f = () => 0; for (;;) { const g = f; f = () => g; f.x = new Array(100).fill(1); }'],
		['promises that wait', 'const a = []; for (;;) a.push(new Promise(() => {}).then(() => 1));'],
		[
			'generators held',
			'function* g() { yield new Array(1000).fill(1); } const a = []; for (;;) { const one = g(); one.next(); a.push(one); }',
		],
		['symbols', 'const a = []; for (;;) a.push(Symbol("x".repeat(1000) + a.length));'],
		['a nested object', 'let o = {}; for (;;) o = { o, p: [o] };'],
		[
			'a memory error that is caught for ever',
			'const a = []; for (;;) { try { for (;;) a.push(new Array(1e5).fill(1)); } catch { a.x = 1; } }',
		],
		[
			'weak references and their finalizers',
			'const r = new FinalizationRegistry(() => 1); const a = []; for (;;) { const o = { x: new Array(1000).fill(1) }; r.register(o, 1); a.push(new WeakRef(o), o); }',
		],
	]),
];

const depth: SandboxCase[] = [
	...ending('depth', { error: STACK }, [
		['recursion', 'const f = () => f(); f();'],
		['recursion through map', 'const f = (...a) => [1].map(() => f(...a)); f(1, 2, 3);'],
		['recursion through a getter', 'const o = { get x() { return o.x; } }; return o.x;'],
		['recursion through toJSON', 'const o = { toJSON: () => JSON.stringify(o) }; return o;'],
		['recursion through sort', 'const f = () => [2, 1].sort(f); f();'],
		['recursion through replace', 'const f = () => "a".replace(/a/, f); return f();'],
		['recursion through a Proxy', 'let p = {}; for (let i = 0; i < 1e5; i++) p = new Proxy(p, {}); return p.x;'],
		['recursion through toString', 'const o = { toString: () => String(o) }; return String(o);'],
		['a deep array as the result', 'let a = []; for (let i = 0; i < 1e5; i++) a = [a]; return a;'],
	]),
	...ending('depth', null, [
		['functions bound a hundred thousand times', 'let f = () => 1; for (let i = 0; i < 1e5; i++) f = f.bind(null); return f();'],
		['a source of parentheses', 'return eval("(".repeat(1e5));'],
		['a chain of prototypes', 'let o = {}; for (let i = 0; i < 1e6; i++) o = Object.create(o); return o.x ?? null;'],
		['recursion that is caught on every level', 'const f = () => { try { f(); } catch { f(); } }; f();'],
		['recursion of awaits', 'const f = async () => { await f(); }; await f();'],
	]),
];

const reach: SandboxCase[] = [
	...returning('reach', [
		[
			'names of Node',
			'return ["process", "require", "module", "exports", "Buffer", "global", "__dirname", "setImmediate", "performance", "WebAssembly", "Worker", "postMessage", "std", "os", "print", "gc"].filter((name) => typeof globalThis[name] !== "undefined");',
			[],
		],
		[
			'the network, where it is not allowed',
			'return [typeof fetch, "fetch" in globalThis, typeof XMLHttpRequest, typeof WebSocket];',
			['undefined', false, 'undefined', 'undefined'],
		],
		['the constructor of a constructor', 'return typeof console.log.constructor.constructor("return this")().process;', 'undefined'],
		['the constructor of what the host gives', 'return typeof (class {}).constructor("return typeof process")();', 'string'],
		['this of a function', 'return (function () { return typeof this.process; })();', 'undefined'],
		['the caller of a function', 'const f = function () { return f.caller ?? null; }; return f();', null],
		['globals that are left for the next run', 'globalThis.left = 1; Object.prototype.left = 1; return left;', 1],
		['the arguments of the outer function', 'return [typeof arguments, arguments.length];', ['object', 1]],
		[
			'prepareStackTrace',
			'Error.prepareStackTrace = (_e, frames) => frames; const { stack } = new Error("x"); return typeof stack;',
			'string',
		],
		['frames of the host in a stack', 'return /node:|file:|worker|\\.ts/.test(new Error("x").stack);', false],
		[
			'a host function by its names',
			'return Object.getOwnPropertyNames(globalThis).some((name) => /host|kernel|desk/i.test(name));',
			false,
		],
		[
			'the value of a symbol of the registry',
			'return Symbol.for("nodejs.util.inspect.custom").toString() === "Symbol(nodejs.util.inspect.custom)";',
			true,
		],
		['its own address', 'return [typeof location, typeof navigator, typeof self];', ['undefined', 'undefined', 'undefined']],
		['what is private of other tools', 'return Object.keys(parameters);', ['url']],
		[
			'a result with a key that is a prototype',
			'return JSON.parse(\'{"__proto__": {"admin": true}}\');',
			JSON.parse('{"__proto__": {"admin": true}}'),
		],
		['a toString of its own', 'Object.prototype.toString = () => "[object Process]"; return String({});', '[object Process]'],
	]),
	...ending('reach', { error: /could not load|not supported|unsupported|ReferenceError|TypeError|Error/ }, [
		['a module of Node', 'return await import("node:fs");'],
		['a module by its path', 'return await import("/etc/passwd");'],
		['a module of data', 'return await import("data:text/javascript,export default 1");'],
		['require', 'return require("fs").readFileSync("/etc/passwd");'],
		['the main module', 'return process.mainModule.require("child_process");'],
		['process of a binding', 'return process.binding("fs");'],
		['Atomics', 'return Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1e9);'],
		['WebAssembly', 'return new WebAssembly.Memory({ initial: 65536 }).buffer.byteLength;'],
		['a throwing getter of the result', 'return { get a() { throw new Error("no"); } };'],
		['a Proxy as an error', 'throw new Proxy(new Error("x"), { get() { throw new Error("no"); } });'],
	]),
	...ending('reach', null, [
		[
			'every built-in replaced',
			'for (const name of Object.getOwnPropertyNames(globalThis)) { const it = globalThis[name]; for (const of of [it, it && it.prototype]) { if (of === null || (typeof of !== "object" && typeof of !== "function")) continue; for (const key of Reflect.ownKeys(of)) { try { of[key] = () => { throw 1; }; } catch {} } } } return 1;',
		],
		['then of all promises', 'Promise.prototype.then = function (ok) { ok("stolen"); return this; }; return 1;'],
		['JSON replaced', 'JSON.stringify = () => "{"; JSON.parse = () => ({}); return { a: 1 };'],
		['map and join replaced', 'Array.prototype.map = Array.prototype.join = () => { throw new Error("no"); }; console.log("x"); return 1;'],
		[
			'a setter on the prototype of arrays',
			'Object.defineProperty(Array.prototype, "0", { set() { for (;;) {} } }); const a = []; a[0] = 1; return a;',
		],
		['species', 'class P extends Promise { static get [Symbol.species]() { for (;;) {} } } return P.resolve(1).then(() => 1);'],
		['toPrimitive', 'return { [Symbol.toPrimitive]() { for (;;) {} }, a: 1 } + "";'],
		['hasInstance', 'Object.defineProperty(Error, Symbol.hasInstance, { value() { for (;;) {} } }); throw new Error("x");'],
	]),
];

const floods: SandboxCase[] = [
	...returning('flood', [
		['of lines', 'for (let i = 0; i < 2000; i++) console.log("x".repeat(100)); return 1;', 1],
		['of one line', 'console.log("x".repeat(1e6)); return 1;', 1],
		[
			'of timers',
			'let n = 0; try { for (;;) { setTimeout(() => 1, 1e6); n++; } } catch (error) { return [n, error.message]; }',
			[100, 'A run may wait for 100 timers at once.'],
		],
	]),
	...ending('flood', { error: /^The result is larger than 1 MB/ }, [
		['of a text', 'return "x".repeat(1024 * 1024);'],
		['of text that grows in UTF-8', 'return "\\u20ac".repeat(512 * 1024);'],
		['of escapes', 'return "\\u0001".repeat(256 * 1024);'],
		['of a sparse array', 'return new Array(3e5);'],
	]),
	...ending('flood', { error: /^The result holds more than 100000 values/ }, [['of small values', 'return new Array(2e5).fill(0);']]),
	...ending('flood', { error: /^The result is nested deeper than 128 levels/ }, [
		['of levels', 'let a = 1; for (let i = 0; i < 200; i++) a = [a]; return a;'],
	]),
	{
		id: 'flood: of requests',
		code: 'const all = await Promise.allSettled(Array.from({ length: 1000 }, () => fetch(parameters.url))); return all.filter(({ status }) => status === "fulfilled").length <= 20;',
		expected: { value: true },
		mayRequest: true,
	},
	{
		id: 'flood: of large answers',
		code: 'let total = 0; try { for (;;) total += (await (await fetch(parameters.url + "/large")).text()).length; } catch { return total <= 5 * 1024 * 1024; }',
		expected: { value: true },
		mayRequest: true,
	},
	{
		id: 'flood: of requests that never end',
		code: 'await Promise.all(Array.from({ length: 5 }, () => fetch(parameters.url + "/never")));',
		expected: { error: LATE },
		mayRequest: true,
	},
	{
		id: 'flood: a request to a place that the guard refuses',
		code: 'return fetch("http://169.254.169.254/latest/meta-data/").then(() => "reached", (error) => error.name);',
		expected: { value: 'TypeError' },
		mayRequest: true,
	},
	{
		id: 'flood: a file as a request',
		code: 'return fetch("file:///etc/passwd").then(() => "read", (error) => error.name);',
		expected: { value: 'TypeError' },
		mayRequest: true,
	},
];

export const SANDBOX_CASES: SandboxCase[] = [...time, ...memory, ...depth, ...reach, ...floods];
