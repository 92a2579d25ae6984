// The style of the page, which is that of the other pages of the service: light and dark, for screens from a phone's width up.

export const STYLE = `
:root { color-scheme: light dark; --ink: #1c2430; --soft: #4d5866; --paper: #ffffff; --ground: #eef1f5; --line: #79828e; --deed: #1f4fbf; --on-deed: #ffffff; --alarm: #a3161b; }
@media (prefers-color-scheme: dark) {
:root { --ink: #e8ecf2; --soft: #b3bdc9; --paper: #1b212a; --ground: #11151b; --line: #7d8896; --deed: #9dbcff; --on-deed: #0d1420; --alarm: #ff9c98; }
}
* { box-sizing: border-box; }
[hidden] { display: none !important; }
body { margin: 0; background: var(--ground); color: var(--ink); font: 1rem/1.5 system-ui, sans-serif; }
main { max-width: 28rem; margin: 0 auto; padding: 1.5rem 1.25rem 2rem; background: var(--paper); min-height: 100vh; overflow-wrap: anywhere; }
@media (min-width: 32rem) { main { margin: 10vh auto; padding: 2rem; min-height: 0; border-radius: .75rem; box-shadow: 0 1px 4px rgb(0 0 0 / .3); } }
.brand { margin: 0 0 1.25rem; color: var(--soft); font-size: .9rem; font-weight: 600; letter-spacing: .02em; }
h1 { margin: 0 0 1rem; font-size: 1.25rem; line-height: 1.35; }
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
.note { color: var(--soft); font-size: .95rem; }
.alert { padding: .6rem .9rem; color: var(--alarm); font-weight: 600; border: 1px solid; border-left-width: .35rem; border-radius: .5rem; }
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
:focus-visible { outline: 3px solid var(--deed); outline-offset: 2px; }
`;
