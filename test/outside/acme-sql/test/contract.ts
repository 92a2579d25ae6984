import type { Socket } from 'node:net';
import plugin from 'acme-sql';
import { type Behaviour, executorContract, tcpUpstream } from 'gatehouse/testing';

/** A message of PostgreSQL's protocol (https://www.postgresql.org/docs/current/protocol-message-formats.html). */
function message(type: string, body: Buffer = Buffer.alloc(0)): Buffer {
	const head = Buffer.alloc(5);
	head.write(type, 'latin1');
	head.writeInt32BE(body.length + 4, 1);
	return Buffer.concat([head, body]);
}

const int16 = (value: number): Buffer => Buffer.from([value >> 8, value & 255]);
const int32 = (value: number): Buffer => {
	const bytes = Buffer.alloc(4);
	bytes.writeInt32BE(value);
	return bytes;
};
const READY = message('Z', Buffer.from('I'));
const COLUMN = message(
	'T',
	Buffer.concat([int16(1), Buffer.from('text\0'), int32(0), int16(0), int32(25), int16(-1), int32(-1), int16(0)]),
);
const DENIED = message('E', Buffer.from('SERROR\0C42501\0Mpermission denied for table secrets\0\0'));
const row = (value: Buffer | null): Buffer =>
	message('D', Buffer.concat([int16(1), int32(value === null ? -1 : value.length), value ?? Buffer.alloc(0)]));

/** The first parameter of a Bind message. */
function parameterOf(bind: Buffer): Buffer | null {
	let at = bind.indexOf(0) + 1;
	at = bind.indexOf(0, at) + 1;
	at += 2 + 2 * bind.readInt16BE(at);
	const length = bind.readInt32BE(at + 2);
	return length < 0 ? null : bind.subarray(at + 6, at + 6 + length);
}

function flood(socket: Socket): void {
	const chunk = row(Buffer.alloc(65_536, 120));
	const more = (): void => {
		while (!socket.destroyed && socket.write(chunk));
	};
	socket.on('drain', more);
	more();
}

/** Serves one connection: trusts whoever comes, and answers each query with its first parameter. */
function serve(socket: Socket, behaviour: Behaviour): void {
	let rest: Buffer = Buffer.alloc(0);
	let isStarted = false;
	let parameter: Buffer | null = null;
	const answer = (type: string, body: Buffer): void => {
		if (type === 'B') parameter = parameterOf(body);
		if (type !== 'S') return;
		const begun = Buffer.concat([message('1'), message('2'), COLUMN]);
		if (behaviour === 'fail') socket.write(Buffer.concat([DENIED, READY]));
		else if (behaviour !== 'endless') socket.write(Buffer.concat([begun, row(parameter), message('C', Buffer.from('SELECT 1\0')), READY]));
		else flood(socket);
	};
	socket.on('data', (chunk) => {
		if (behaviour === 'hang') return;
		if (behaviour === 'reset') return void socket.destroy();
		if (behaviour === 'nonsense') return void socket.end(Buffer.from([0, 255, 254, 60, 104]));
		rest = Buffer.concat([rest, chunk]);
		for (;;) {
			const head = isStarted ? 1 : 0;
			if (rest.length < head + 4 || rest.length < head + rest.readInt32BE(head)) return;
			const end = head + rest.readInt32BE(head);
			const [type, body] = [rest.toString('latin1', 0, head), rest.subarray(head + 4, end)];
			rest = rest.subarray(end);
			if (isStarted) answer(type, body);
			else socket.write(Buffer.concat([message('R', int32(0)), READY]));
			isStarted = true;
		}
	});
}

executorContract(plugin, {
	start: (t, behaviour) => tcpUpstream(t, (socket) => serve(socket, behaviour)),
	config(origin, more) {
		const { hostname, port } = new URL(origin);
		const at = { host: hostname.replace(/[[\]]/g, ''), ...(port !== '' && { port: Number(port) }), tls: false };
		return {
			...at,
			database: 'shop',
			user: 'reader',
			password: 'a password',
			query: 'SELECT $1::text AS text',
			parameters: ['text'],
			...more,
		};
	},
	echoed: ({ structured }) => (structured as { rows: { text: string }[] }).rows[0]?.text,
	bad: [
		{ config: {}, says: /"host" is required/ },
		{ config: { host: 'db.example', port: 70_000 }, says: /"port" must be a valid port/ },
		{ config: { host: 'db.example', database: 'a', user: 'b' }, says: /"query" is required/ },
	],
	timeoutField: 'timeoutMs',
	signed: null,
	hasAddress: true,
});
