// The style of the page, which is that of the other pages of the service: light and dark, for screens from a phone's width up.

import { PAGE_LOOK } from '../../../../core/features.ts';

export const STYLE = `${PAGE_LOOK}main { max-width: 28rem; }
@media (min-width: 32rem) { main { margin: 10vh auto; padding: 2rem; min-height: 0; border-radius: .75rem; box-shadow: 0 1px 4px rgb(0 0 0 / .3); } }
h1:has(bdi) { font-weight: 450; }
bdi { font-weight: 700; }
dl bdi { font-weight: inherit; }
dl { margin: 1rem 0; padding: .75rem 1rem; border: 1px solid var(--line); border-radius: .5rem; }
dt { color: var(--soft); font-size: .9rem; }
dd + dt { margin-top: .6rem; }
dd { margin: 0; }
.host { font: 700 1.35rem/1.4 ui-monospace, monospace; }
ul, ol { padding-left: 1.5rem; }
li { margin: .25rem 0; }
a { color: var(--deed); }
label { display: block; margin: 1rem 0 .25rem; }
input, select { width: 100%; padding: .6rem .7rem; font: inherit; color: inherit; background: transparent; border: 1px solid var(--line); border-radius: .5rem; }
fieldset { margin: 1rem 0; padding: .5rem 1rem .75rem; border: 1px solid var(--line); border-radius: .5rem; }
.choice { margin: .4rem 0 0; }
button:disabled { opacity: .6; cursor: default; }
legend { padding: 0 .25rem; }
.choice input, select { width: auto; margin-right: .4rem; }
button, .button { display: block; width: 100%; margin-top: 1rem; padding: .7rem 1rem; font: inherit; font-weight: 600; color: var(--on-deed); background: var(--deed); border: 1px solid var(--deed); border-radius: .5rem; cursor: pointer; text-align: center; text-decoration: none; }
.plain { color: var(--ink); background: transparent; border-color: var(--line); }
.link { display: inline-block; width: auto; margin: 0; padding: .65rem 0; font-weight: 600; color: var(--deed); background: none; border: 0; text-align: left; text-decoration: underline; }
.below { margin-top: 1.5rem; padding-top: .5rem; border-top: 1px solid var(--line); }
`;
