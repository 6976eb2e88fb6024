/** The style of a device's traffic. Loaded with it. */
import { adoptStyle } from '#kit/web/style.ts'

adoptStyle(`
.with-traffic { --side: minmax(0, 1.2fr); }
.panel > .tools.wire-tools { display: flex; flex-wrap: wrap; align-items: center; gap: var(--s2); padding: var(--s2) var(--s4); }
.panel > p.in { padding-block: var(--s2); }
.panel > p.in.lane { padding-block: 0 var(--s2); }
.wire-box { max-height: min(32rem, 60vh); overflow: auto; border-top: 1px solid var(--line); }
.wire-box:focus-visible { outline-offset: -2px; }
.wire li { display: grid; grid-template-columns: 6.5rem 1rem minmax(0, 1fr); gap: var(--s2); align-items: baseline; padding: .2rem var(--s4); font-size: var(--t-small); }
.wire li + li { border-top: 1px solid var(--grid); }
.wire .at { font-family: var(--mono); font-size: .75rem; color: var(--ink-3); }
.wire .what { min-width: 0; overflow-wrap: anywhere; white-space: pre-wrap; }
.wire .what i { color: var(--ink-3); }
.wire [data-way="note"] { background: var(--sunken); }
@container app (max-width: 44rem) {
  .panel > .tools.wire-tools .input { flex: 1 1 100%; }
  .wire li { grid-template-columns: 1rem minmax(0, 1fr); }
  .wire .at { grid-column: 2; grid-row: 1; }
  .wire .what { grid-column: 2; }
}`)
