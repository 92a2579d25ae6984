// Skills of an organization: instructions for models, with files, assigned to gateways.

import { tell } from '../audited.ts';
import type { Migration } from '../migrate.ts';

// `files` lists the files with their hashes, so that a gateway is served, and a change logged, without their contents.
const SKILLS = `
CREATE TABLE skills (
	id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
	seq bigint GENERATED ALWAYS AS IDENTITY,
	organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
	name text NOT NULL,
	description text NOT NULL,
	frontmatter json NOT NULL,
	arguments json NOT NULL,
	files json NOT NULL,
	bytes integer NOT NULL,
	version integer NOT NULL DEFAULT 1,
	created_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
	updated_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
	UNIQUE (organization_id, id),
	CONSTRAINT skills_name UNIQUE (organization_id, name)
);
CREATE INDEX skills_list ON skills (organization_id, seq);
CREATE TRIGGER revise BEFORE UPDATE ON skills FOR EACH ROW EXECUTE FUNCTION revise();
CREATE TABLE skill_files (
	organization_id uuid NOT NULL,
	skill_id uuid NOT NULL,
	path text NOT NULL,
	content bytea NOT NULL,
	PRIMARY KEY (skill_id, path),
	FOREIGN KEY (organization_id, skill_id) REFERENCES skills (organization_id, id) ON DELETE CASCADE
);
CREATE TABLE gateway_skills (
	id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
	seq bigint GENERATED ALWAYS AS IDENTITY,
	organization_id uuid NOT NULL,
	gateway_id uuid NOT NULL,
	skill_id uuid NOT NULL,
	created_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
	CONSTRAINT gateway_skills_skill UNIQUE (gateway_id, skill_id),
	FOREIGN KEY (organization_id, gateway_id) REFERENCES gateways (organization_id, id) ON DELETE CASCADE,
	FOREIGN KEY (organization_id, skill_id) REFERENCES skills (organization_id, id) ON DELETE CASCADE
);
CREATE INDEX gateway_skills_list ON gateway_skills (organization_id, gateway_id, seq);
CREATE INDEX gateway_skills_by_skill ON gateway_skills (organization_id, skill_id);
`;

// A change of a file is one of its skill, whose row lists it.
const ANNOUNCE = ['skills', 'gateway_skills'].flatMap((table) =>
	[
		['insert', 'NEW'],
		['update', 'NEW'],
		['delete', 'OLD'],
	].map(
		([event, side]) =>
			`CREATE TRIGGER announce_${event} AFTER ${event} ON ${table} REFERENCING ${side} TABLE AS touched
			FOR EACH STATEMENT EXECUTE FUNCTION announce('org:', 'organization_id');`,
	),
);

export const skills: Migration = {
	name: '0020-skills',
	statements: [SKILLS, ...ANNOUNCE, ...tell(20, 'skills'), ...tell(20, 'gateway_skills')],
};
