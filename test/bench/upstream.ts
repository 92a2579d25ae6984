// The upstream of the benchmarks: one small response, as fast as node:http sends it. `/graphql` responds in the form of GraphQL, `/soap`
// with a SOAP envelope of the same item, and to a GET with its description; other paths with JSON. Paths below `/sized/<bytes>` respond with a
// list of items of about that size, paths below `/slow/<ms>` late, and paths
// below `/failing/<status>` with that status.

import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { announce } from './subject.ts';

const ITEM =
	'<path>/soap</path><title>Pride and Prejudice</title><authors>Jane Austen</authors><price currency="EUR">1295</price><copies>11</copies>';
const ENVELOPE = `<?xml version="1.0" encoding="utf-8"?><s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/"><s:Body><GetItemResponse xmlns="urn:items">${ITEM}</GetItemResponse></s:Body></s:Envelope>`;
const WSDL = `<definitions name="Items" targetNamespace="urn:items" xmlns="http://schemas.xmlsoap.org/wsdl/" xmlns:t="urn:items" xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns:soap="http://schemas.xmlsoap.org/wsdl/soap/">
<types><xs:schema targetNamespace="urn:items" elementFormDefault="qualified">
<xs:complexType name="Price"><xs:simpleContent><xs:extension base="xs:int"><xs:attribute name="currency" type="xs:string"/></xs:extension></xs:simpleContent></xs:complexType>
<xs:element name="GetItem"><xs:complexType><xs:sequence><xs:element name="id" type="xs:string"/></xs:sequence></xs:complexType></xs:element>
<xs:element name="GetItemResponse"><xs:complexType><xs:sequence><xs:element name="path" type="xs:string"/><xs:element name="title" type="xs:string"/>
<xs:element name="authors" type="xs:string" maxOccurs="unbounded"/><xs:element name="price" type="t:Price"/><xs:element name="copies" type="xs:int"/></xs:sequence></xs:complexType></xs:element>
</xs:schema></types>
<message name="In"><part name="body" element="t:GetItem"/></message><message name="Out"><part name="body" element="t:GetItemResponse"/></message>
<portType name="ItemsPort"><operation name="GetItem"><input message="t:In"/><output message="t:Out"/></operation></portType>
<binding name="ItemsBinding" type="t:ItemsPort"><soap:binding style="document" transport="http://schemas.xmlsoap.org/soap/http"/>
<operation name="GetItem"><soap:operation soapAction="urn:items#GetItem"/><input><soap:body use="literal"/></input><output><soap:body use="literal"/></output></operation></binding>
<service name="Items"><port name="ItemsPort" binding="t:ItemsBinding"><soap:address location="http://127.0.0.1/soap"/></port></service>
</definitions>`;

function answerSoap({ method }: IncomingMessage, response: ServerResponse): void {
	const text = method === 'GET' ? WSDL : ENVELOPE;
	response.writeHead(200, { 'content-type': 'text/xml; charset=utf-8', 'content-length': Buffer.byteLength(text) }).end(text);
}

const itemOf = (path: string | undefined): object => ({
	path,
	title: 'Pride and Prejudice',
	authors: ['Jane Austen'],
	price: { amount: 1295, currency: 'EUR' },
	copies: 11,
});

const lists = new Map<number, string>();

/** Returns a list of items of so many bytes or a little less, made once for each size. */
function listOf(sizeBytes: number): string {
	const item = JSON.stringify(itemOf('/items/42'));
	const text = lists.get(sizeBytes) ?? `[${Array.from({ length: Math.floor(sizeBytes / (item.length + 1)) }, () => item).join()}]`;
	lists.set(sizeBytes, text);
	return text;
}

function answerJson(text: string, response: ServerResponse): void {
	response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }).end(text);
}

const server = createServer((request, response) => {
	const { url = '' } = request;
	if (url === '/soap') return answerSoap(request, response);
	const [, kind, amount] = url.split('/', 3);
	if (kind === 'failing') return void response.writeHead(Number(amount), { 'content-type': 'text/plain' }).end('It fails.');
	if (kind === 'sized') return answerJson(listOf(Number(amount)), response);
	const item = itemOf(url);
	const text = JSON.stringify(url === '/graphql' ? { data: { item } } : item);
	if (kind === 'slow') setTimeout(answerJson, Number(amount), text, response);
	else answerJson(text, response);
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');
// A server that listens on TCP has an AddressInfo.
announce(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, async () => server.closeAllConnections());
