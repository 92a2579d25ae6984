// Forbidden destinations of outbound calls, as users, documents and name servers spell them. `{port}` is a canary that must never be
// contacted.

export interface EgressCase {
	id: string;
	input: string;
	expected: 'egress_refused';
	/** Addresses that the name server returns for the host, for cases with a name. */
	answers?: string[];
	/** Ranges that the operator opened; the destination is refused all the same. */
	allow?: string[];
}

const literal = (group: string, hosts: string[]): EgressCase[] =>
	hosts.map((host) => ({ id: `${group}: ${host}`, input: `http://${host}:{port}/`, expected: 'egress_refused' }));

const named = (group: string, answers: string[][]): EgressCase[] =>
	answers.map((addresses) => ({
		id: `${group}: a name with ${addresses.join(' and ')}`,
		input: 'http://named.example:{port}/',
		expected: 'egress_refused',
		answers: addresses,
	}));

const whole = (group: string, inputs: string[]): EgressCase[] =>
	inputs.map((input) => ({ id: `${group}: ${JSON.stringify(input)}`, input, expected: 'egress_refused' }));

const METADATA = ['169.254.169.254', '169.254.170.2', '100.100.100.200', '192.0.0.192', '168.63.129.16'];
const METADATA_V6 = [
	'fd00:ec2::254',
	'fd20:ce::254',
	'fe80::a9fe:a9fe',
	'::ffff:169.254.169.254',
	'64:ff9b::169.254.169.254',
	'2002:a9fe:a9fe::1',
];

export const EGRESS_CASES: EgressCase[] = [
	...literal('1 spellings', [
		'127.0.0.1',
		'2130706433',
		'0x7f.1',
		'0x7f000001',
		'0177.0.0.1',
		'127.1',
		'127.0.1',
		'１２７.０.０.１',
		'127。0。0。1',
		'%31%32%37.0.0.1',
	]),
	...literal('2 unspecified', ['0.0.0.0', '0', '0.1.2.3', '[::]']),
	...literal('3 carried', [
		'[::ffff:7f00:1]',
		'[::ffff:127.0.0.1]',
		'[::127.0.0.1]',
		'[::ffff:0:127.0.0.1]',
		'[64:ff9b::127.0.0.1]',
		'[64:ff9b::8.8.8.8]',
	]),
	...literal('3 carried', [
		'[64:ff9b:1::127.0.0.1]',
		'[64:ff9b:1:7f00:0:100::]',
		'[2002:7f00:1::1]',
		'[2002:808:808::1]',
		'[2001::7f00:1]',
		'[2001:0:808:808::80ff:fffe]',
	]),
	...literal('4 special IPv6', [
		'[::1]',
		'[fe80::1]',
		'[fec0::1]',
		'[fc00::1]',
		'[fdff:ffff::1]',
		'[ff02::1]',
		'[100::1]',
		'[2001:db8::1]',
		'[3fff::1]',
		'[2001:5::1]',
		'[2001:1ff::1]',
		'[5f00::1]',
		'[4000::1]',
	]),
	...literal('4 special IPv4', [
		'224.0.0.1',
		'239.255.255.250',
		'240.0.0.1',
		'255.255.255.255',
		'192.0.2.1',
		'198.51.100.1',
		'203.0.113.1',
		'192.88.99.1',
		'192.0.0.8',
	]),
	...literal('5 metadata', [...METADATA, ...METADATA_V6.map((address) => `[${address}]`)]),
	...literal('6 private', [
		'10.0.0.1',
		'172.16.0.1',
		'172.31.255.255',
		'192.168.0.1',
		'100.64.0.1',
		'100.127.255.255',
		'198.18.0.1',
		'198.19.255.255',
		'127.255.255.254',
	]),
	...literal('7 local names', ['localhost', 'LOCALHOST', 'localhost.', 'anything.localhost', 'a.b.localhost.']),
	...named('7 resolved', [
		['127.0.0.1'],
		['::1'],
		['10.1.2.3'],
		['169.254.169.254'],
		['::ffff:192.168.1.1'],
		['64:ff9b::a00:1'],
		['fe80::1%lo'],
		['not an address'],
	]),
	...named('8 mixed', [
		['93.184.216.34', '127.0.0.1'],
		['127.0.0.1', '93.184.216.34'],
		['2606:4700::1111', 'fd00::1'],
		['93.184.216.34', '2606:4700::1111', '0.0.0.0'],
	]),
	...whole('11 ambiguous', [
		'http://good.example@127.0.0.1:{port}/',
		'http://user:secret@127.0.0.1:{port}/',
		'http://good.example\\@127.0.0.1:{port}/',
		'http:\\\\127.0.0.1:{port}/',
		'http://127.0.0.1\t:{port}/',
		'http://127.0.\n0.1:{port}/',
		'http://127.0.0.1:{port}/\r\nHost: other',
		'http://127.0.0.1:{port}/\u0000',
		'//127.0.0.1:{port}/',
		'http:127.0.0.1:{port}/',
		'/etc/passwd',
		'',
	]),
	...[
		'http://127.0.0.1\t:{port}/',
		'http://127.0.\n0.1:{port}/',
		'http://127.0.0.1:{port}/\u0000',
		'http:\\\\127.0.0.1:{port}/',
		'http://a@127.0.0.1:{port}/',
	].map(
		(input): EgressCase => ({
			id: `11 ambiguous though opened: ${JSON.stringify(input)}`,
			input,
			expected: 'egress_refused',
			allow: ['127.0.0.1'],
		}),
	),
	...whole('12 schemes', [
		'file:///etc/passwd',
		'gopher://127.0.0.1:{port}/',
		'data:text/plain,hello',
		'ftp://127.0.0.1:{port}/',
		'ws://127.0.0.1:{port}/',
		'javascript:alert(1)',
		'unix:/run/s.sock',
	]),
	...whole('13 ports', [
		...[22, 23, 25, 53, 110, 143, 445, 587, 1433, 3306, 3389, 5432, 5672, 5900, 6000, 6379, 6667, 9092, 10080, 11211, 27017].map(
			(port) => `http://8.8.8.8:${port}/`,
		),
		'https://api.example:25/',
		'http://8.8.8.8:0/',
	]),
	...[...METADATA, ...METADATA_V6].map((address): EgressCase => {
		const host = address.includes(':') ? `[${address}]` : address;
		const allow = ['0.0.0.0/0', '::/0', address, `http://${host}:80`, 'http://named.example:80'];
		return { id: `5 opened metadata: ${address}`, input: `http://${host}/latest/meta-data/`, expected: 'egress_refused', allow };
	}),
	...[...METADATA, ...METADATA_V6].map((address): EgressCase => {
		const allow = ['0.0.0.0/0', '::/0', address, 'http://named.example'];
		return {
			id: `5 opened metadata by name: ${address}`,
			input: 'http://named.example/',
			expected: 'egress_refused',
			allow,
			answers: [address],
		};
	}),
];
