/** The style of changes that wait. Loaded with their page. */
import { adoptStyle } from '#kit/web/style.ts'

adoptStyle(`
.change > header:last-child { border-bottom: 0; }
.change[data-s="fault"] { border-color: var(--lamp); }
.change .err { display: flex; gap: .5rem; padding-block: var(--s2); color: var(--fault); font-size: var(--t-small); }
.change .err .lamp { width: .625rem; height: .625rem; translate: 0 .3rem; }
.diff { table-layout: fixed; }
.diff th:first-child { width: 16rem; }
.diff tbody th { font-weight: 400; color: var(--ink-2); font-size: var(--t-small); border-bottom: 1px solid var(--grid); white-space: normal; overflow-wrap: anywhere; }
.diff tbody tr:last-child th { border-bottom: 0; }
.diff td { overflow-wrap: anywhere; }
.diff ins { text-decoration: none; font-weight: 500; }
.diff del { color: var(--ink-3); text-decoration: line-through; text-decoration-thickness: 1px; }
@container app (max-width: 44rem) {
  .diff th:first-child { width: 7.5rem; }
}`)
