// Arguments in two layers: those shown to models, and those that calls are checked against and sent with.

import type { Migration } from '../migrate.ts';

// Operations imported earlier get these columns with their next import. `whole_hash` tells users of the compiled whole schema that it has
// changed.
const OPERATIONS = `
ALTER TABLE operations
	ADD COLUMN whole_parameters json,
	ADD COLUMN whole_hash text,
	ADD COLUMN answer_cut boolean NOT NULL DEFAULT false,
	ADD CHECK ((whole_parameters IS NULL) = (whole_hash IS NULL));
`;

// `bodies` is the requested layout; `flattened` is null also when flattening was not possible.
const TOOLS = `
ALTER TABLE tools
	ADD COLUMN whole_hash text,
	ADD COLUMN bodies text NOT NULL DEFAULT 'nested' CHECK (bodies IN ('nested', 'flat')),
	ADD COLUMN flattened json;
`;

export const argumentLayers: Migration = { name: '0012-argument-layers', statements: [OPERATIONS, TOOLS] };
