/** The style of the definition editor. Loaded with it. */
import { adoptStyle } from '#kit/web/style.ts'

adoptStyle(`
.definition textarea { min-height: 20rem; white-space: pre; overflow: auto; font-size: .75rem; line-height: 1.5; tab-size: 2; }
.line-faults { display: grid; grid-template-columns: minmax(0, 1fr); max-height: 14rem; overflow: auto; border: 1px solid var(--line); border-radius: var(--radius); }
.line-faults li { padding: 0 var(--s3); }
.line-faults li + li { border-top: 1px solid var(--grid); }
.line-faults .link { width: 100%; color: var(--fault); font-size: var(--t-small); text-align: left; overflow-wrap: anywhere; }
.console-panel .told { min-width: 0; overflow-wrap: anywhere; }
`)
