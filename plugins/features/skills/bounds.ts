// The most that an organization, a skill and a gateway may have.

import type { SkillBounds } from '../../../core/features.ts';

const MIB = 1024 * 1024;

/** A host of the Skills extension of MCP takes skills of 512 files and 16 MiB. */
export const BOUNDS: SkillBounds = { skills: 500, bytes: 64 * MIB, skillBytes: 4 * MIB, skillFiles: 64, assigned: 100 };

/** The most characters of JSON in `frontmatter`, and in `arguments`. */
export const MAX_FIELD_CHARS = 16_384;
