import { authContract } from '../../testing/index.ts';
import none from './none/index.ts';

authContract(none, {
	config: {},
	bad: [
		{ config: { key: 1 }, says: /"key" is not allowed/ },
		{ config: { token: 'x' }, says: /"token" is not allowed/ },
	],
	admitted: [{}],
	refused: [],
	isOpen: true,
});
