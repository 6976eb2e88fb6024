/** The list of keys, fetched when somebody asks for it. */
import type { VNode } from 'preact'
import { Dialog } from './dialog.ts'
import { html } from './html.ts'
import { areOff, areShown, layers, switchKeys } from './keys.ts'

const NAMES: Record<string, string> = { ' ': 'Space', ArrowUp: '↑', ArrowDown: '↓' }

/** The list of keys, under `?`. */
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
