/** Dialogs loaded on demand: the list of shortcuts, and the question before edits are left. */
import type { VNode } from 'preact'
import { Confirm, Dialog } from './dialog.ts'
import { html } from './html.ts'
import { areOff, areShown, layers, switchKeys } from './keys.ts'
import { leaving } from './route.ts'

// The list of shortcuts, loaded on demand.

const NAMES: Record<string, string> = { ' ': 'Space', ArrowUp: '↑', ArrowDown: '↓' }

/** The list of shortcuts, opened by `?`. */
export function KeysDialog(): VNode {
  const close = (): void => {
    areShown.value = false
  }
  const caps = (key: string): VNode[] => key.split(/(?<=\S) /).map((each) => html`<kbd>${NAMES[each] ?? each}</kbd> `)
  return html`<${Dialog} title="Keys" close=${close}>
    ${layers.map(
      (layer) => html`<section class="keys" key=${layer.title}><h3>${layer.title}</h3>
        <dl>${layer.keys().map((key) => html`<div><dt>${caps(key.key)}</dt><dd>${key.what}</dd></div>`)}</dl></section>`,
    )}
    <div><label class="switch"><input type="checkbox" role="switch" checked=${!areOff.value} onChange=${switchKeys} />
      Letter keys</label></div>
    <footer><button class="btn" type="button" onClick=${close}>Close keys</button></footer>
  </${Dialog}>`
}

/** The question, while it is open. */
export function LeaveQuestion(): VNode | null {
  const go = leaving.value
  if (!go) return null
  function close(): void {
    leaving.value = null
  }
  return html`<${Confirm} title="Leave without saving?" text="What was changed on this page is not saved."
    act="Discard changes" keep="Stay here" run=${go} close=${close} />`
}
