/** The style of the macro pages: steps as a list that opens, what a run did, what would be sent. Loaded with them. */
import { adoptStyle } from '#kit/web/style.ts'

adoptStyle(`
.acts.tabs { gap: 0; flex-wrap: nowrap; }
.tabs .btn { border-radius: 0; margin-left: -1px; }
.tabs .btn:first-child { border-radius: var(--radius) 0 0 var(--radius); }
.tabs .btn:last-child { border-radius: 0 var(--radius) var(--radius) 0; }
.tabs .btn[aria-current] { background: var(--sunken); font-weight: 600; }
.last-run { display: inline-flex; align-items: center; gap: .4rem; color: inherit; }
.last-run .lamp { width: .625rem; height: .625rem; }
.step-list { display: grid; grid-template-columns: minmax(0, 1fr); }
.step-list > li { padding: var(--s2) var(--s4); }
.step-list > li + li { border-top: 1px solid var(--grid); }
.step-item[data-s] { box-shadow: inset 3px 0 0 var(--lamp); }
.step-head { display: flex; align-items: center; gap: var(--s2); min-height: var(--control); }
.step-head .link { display: flex; flex: 1; align-items: center; gap: .6rem; min-width: 0; color: inherit; text-align: left; overflow-wrap: anywhere; }
.step-head .link > b { min-width: 1.2em; }
.step-head .link > span { min-width: 0; }
.step-head .acts { flex-wrap: nowrap; gap: 0; }
.step-head .up, .step-head .down { display: inline-flex; rotate: 90deg; }
.step-head .down { rotate: -90deg; }
.step-fields { display: grid; grid-template-columns: minmax(0, 1fr); gap: var(--s3); padding: var(--s2) 0 var(--s3); }
.step-fields .name-row > .btn { margin-left: auto; }
.add-step { display: flex; flex-wrap: wrap; gap: var(--s2); }
.add-step .input { flex: 0 1 12rem; }
.branch { min-width: 0; margin: 0; padding: 0 0 var(--s2); border: 1px solid var(--line); border-radius: var(--radius); }
.branch legend { margin-left: var(--s3); padding: 0 var(--s1); font-size: var(--t-small); font-weight: 500; }
.step-fields .wide { grid-column: 1 / -1; align-content: start; }
.macro .keep .in { padding-block: var(--s2); }
.macro .keep .primary { margin-left: auto; }
.macro .keep { position: sticky; bottom: 0; z-index: 3; }
.trace li { display: grid; grid-template-columns: 1rem 4.5rem minmax(0, 1fr); gap: var(--s2); align-items: baseline; padding: var(--s2) var(--s4); overflow-wrap: anywhere; }
.trace li + li { border-top: 1px solid var(--grid); }
.trace .lamp { width: .625rem; height: .625rem; }
.trace .when, .sent .when { color: var(--ink-3); font-size: var(--t-small); white-space: nowrap; }
.trace li[data-s="fault"] p { color: var(--c); }
.trial { display: grid; grid-template-columns: minmax(0, 1fr); gap: var(--s3); border-top: 1px solid var(--line); }
.trial .trace li { padding-inline: 0; }
.sent li { display: grid; grid-template-columns: 6.5rem minmax(0, 1fr); gap: var(--s2); align-items: baseline; min-height: 1.75rem; overflow-wrap: anywhere; }
@container app (max-width: 44rem) {
  .macro .keep { bottom: calc(3.5rem + env(safe-area-inset-bottom)); }
  .trace li { grid-template-columns: 1rem minmax(0, 1fr); row-gap: 0; }
  .trace .when { grid-column: 2; }
  .trace li > div { grid-column: 2; }
  .sent li { grid-template-columns: minmax(0, 1fr); gap: 0; }
  .table.fold tr > .when a { display: inline-flex; min-height: 2rem; }
}`)
