// A WSDL of any size, built like those of large products: each operation has its own request and response, which share types that refer to
// each other and to subtypes.

const MEMBERS = ['string', 'long', 'decimal', 'boolean', 'dateTime', 'int'];
/** The size of one operation with its types. */
const KB_EACH = 4.3;

/** Makes the WSDL. @param megabytes its least size */
export function largeWsdl(megabytes: number): string {
	const count = Math.ceil((megabytes * 1024) / KB_EACH) + 1;
	const range = Array.from({ length: count }, (_, index) => index);
	const types = range.map((n) => typesOf(n, count)).join('');
	const messages = range
		.map(
			(n) =>
				`<message name="In${n}"><part name="body" element="t:Request${n}"/></message><message name="Out${n}"><part name="body" element="t:Response${n}"/></message>`,
		)
		.join('\n');
	const operations = range
		.map(
			(n) =>
				`<operation name="Operation${n}"><documentation>Does the ${n}th thing.</documentation><input message="t:In${n}"/><output message="t:Out${n}"/></operation>`,
		)
		.join('\n');
	const body = '<soap:body use="literal"/>';
	const bound = range
		.map(
			(n) =>
				`<operation name="Operation${n}"><soap:operation soapAction="urn:large#${n}"/><input>${body}</input><output>${body}</output></operation>`,
		)
		.join('\n');
	return `<?xml version="1.0" encoding="UTF-8"?>
<definitions name="Large" targetNamespace="urn:large" xmlns="http://schemas.xmlsoap.org/wsdl/" xmlns:t="urn:large" xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns:soap="http://schemas.xmlsoap.org/wsdl/soap/">
<types><xs:schema targetNamespace="urn:large" elementFormDefault="qualified">${types}</xs:schema></types>
${messages}
<portType name="LargePort">${operations}</portType>
<binding name="LargeBinding" type="t:LargePort"><soap:binding style="document" transport="http://schemas.xmlsoap.org/soap/http"/>
${bound}</binding>
<service name="Large"><port name="LargePort" binding="t:LargeBinding"><soap:address location="https://large.example/soap"/></port></service>
</definitions>`;
}

function typesOf(n: number, count: number): string {
	const members = Array.from({ length: 18 }, (_, index) => {
		const note = `<xs:annotation><xs:documentation>The ${index}th member of the ${n}th object.</xs:documentation></xs:annotation>`;
		return `<xs:element name="Member_${index}" type="xs:${MEMBERS[index % MEMBERS.length]}" minOccurs="${index % 2}">${note}</xs:element>`;
	});
	const references = [1, 7, 31].map(
		(step) => `<xs:element name="Reference_${step}" type="t:Object${(n + step) % count}" minOccurs="0" maxOccurs="unbounded"/>`,
	);
	const base = n % 3 === 0 ? null : `t:Object${n - (n % 3)}`;
	const sequence = `<xs:sequence>${members.join('\n')}${references.join('\n')}</xs:sequence><xs:attribute name="Version_${n}" type="xs:string"/>`;
	const content =
		base === null ? sequence : `<xs:complexContent><xs:extension base="${base}">${sequence}</xs:extension></xs:complexContent>`;
	return `<xs:complexType name="Object${n}">${content}</xs:complexType>
<xs:element name="Request${n}"><xs:complexType><xs:sequence><xs:element name="Filter" type="t:Object${n}"/><xs:element name="Page" type="xs:int" minOccurs="0"/></xs:sequence></xs:complexType></xs:element>
<xs:element name="Response${n}"><xs:complexType><xs:sequence><xs:element name="Result" type="t:Object${n}" minOccurs="0" maxOccurs="unbounded"/></xs:sequence></xs:complexType></xs:element>
`;
}
