// Arguments in two layers: what models are shown, and what calls are checked against and sent as.

import type { Migration } from '../migrate.ts';

// Of operations that were imported before nothing more is known: they get it with the next import. `whole_hash` tells whoever keeps something
// compiled of the whole schema that it has changed.
const OPERATIONS = `
ALTER TABLE operations
	ADD COLUMN whole_parameters json,
	ADD COLUMN whole_hash text,
	ADD COLUMN answer_cut boolean NOT NULL DEFAULT false,
	ADD CHECK ((whole_parameters IS NULL) = (whole_hash IS NULL));
`;

// `bodies` is what was asked for; `flattened` is null where it could not be done, too.
const TOOLS = `
ALTER TABLE tools
	ADD COLUMN whole_hash text,
	ADD COLUMN bodies text NOT NULL DEFAULT 'nested' CHECK (bodies IN ('nested', 'flat')),
	ADD COLUMN flattened json;
`;

export const argumentLayers: Migration = { name: '0012-argument-layers', statements: [OPERATIONS, TOOLS] };
