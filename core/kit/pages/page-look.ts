// The look that the pages of the service share: colors in light and dark, and what every page has.

/** Style rules, before those of a page itself, which sets the width of `main`. */
export const PAGE_LOOK = `
:root { color-scheme: light dark; --ink: #1c2430; --soft: #4d5866; --paper: #ffffff; --ground: #eef1f5; --line: #79828e; --deed: #1f4fbf; --on-deed: #ffffff; --alarm: #a3161b; }
@media (prefers-color-scheme: dark) {
:root { --ink: #e8ecf2; --soft: #b3bdc9; --paper: #1b212a; --ground: #11151b; --line: #7d8896; --deed: #9dbcff; --on-deed: #0d1420; --alarm: #ff9c98; }
}
* { box-sizing: border-box; }
[hidden] { display: none !important; }
body { margin: 0; background: var(--ground); color: var(--ink); font: 1rem/1.5 system-ui, sans-serif; }
main { margin: 0 auto; padding: 1.5rem 1.25rem 2rem; background: var(--paper); min-height: 100vh; overflow-wrap: anywhere; }
.brand { margin: 0 0 1.25rem; color: var(--soft); font-size: .9rem; font-weight: 600; letter-spacing: .02em; }
h1 { margin: 0 0 1rem; font-size: 1.25rem; line-height: 1.35; }
.note { color: var(--soft); font-size: .95rem; }
.alert { padding: .6rem .9rem; color: var(--alarm); font-weight: 600; border: 1px solid; border-left-width: .35rem; border-radius: .5rem; }
:focus-visible { outline: 3px solid var(--deed); outline-offset: 2px; }
`;
