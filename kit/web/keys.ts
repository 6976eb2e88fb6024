/** Letter keys: each page says what it understands, `?` shows it, and inside fields they rest. */
import { signal } from '@preact/signals'
import type { VNode } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { Dialog } from './dialog.ts'
import { html } from './html.ts'

/** One key of a page. */
export interface Key {
  /** `KeyboardEvent.key`; two characters with a space for `g p`. */
  key: string
  what: string
  /** Returns false when it did not apply, so that the browser goes on with it. */
  run: (event: KeyboardEvent) => boolean | undefined
}

const OFF = 'plantroom.keys-off'
const layers: { title: string; keys: () => Key[] }[] = []
const isShown = signal(false)
const areOff = signal(typeof localStorage !== 'undefined' && localStorage.getItem(OFF) === '1')
let pendingG = 0

/** How long the letter after `g` may take. */
const SECOND_KEY_MS = 1500

/** Adds keys as long as the component is drawn; later layers are asked first. */
export function useKeys(title: string, keys: Key[]): void {
  const current = useRef(keys)
  current.current = keys
  useEffect(() => {
    const layer = { title, keys: () => current.current }
    layers.push(layer)
    return () => {
      layers.splice(layers.indexOf(layer), 1)
    }
  }, [title])
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.matches('input:not([type=radio], [type=checkbox]), select, textarea')
}

/** Space and Enter belong to the button or link that has the focus. */
function isPressing(event: KeyboardEvent): boolean {
  const isPress = event.key === ' ' || event.key === 'Enter'
  return isPress && event.target instanceof HTMLElement && event.target.matches('button, a, input, summary')
}

function onKey(event: KeyboardEvent): void {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return
  if (document.querySelector('dialog[open]')) return
  if (event.key === 'Escape' && isTyping(event.target)) {
    ;(event.target as HTMLElement).blur()
    return
  }
  if (isTyping(event.target) || isPressing(event)) return
  if (event.key === '?') {
    isShown.value = true
    event.preventDefault()
    return
  }
  if (areOff.value && event.key.length === 1) return
  const name = Date.now() - pendingG < SECOND_KEY_MS ? `g ${event.key}` : event.key
  pendingG = event.key === 'g' ? Date.now() : 0
  const key = layers
    .toReversed()
    .flatMap((layer) => layer.keys())
    .find((each) => each.key === name)
  if (key && key.run(event) !== false) event.preventDefault()
}

/** Listens for keys. */
export function startKeys(): void {
  addEventListener('keydown', onKey)
}

const NAMES: Record<string, string> = { ' ': 'Space', ArrowUp: '↑', ArrowDown: '↓' }

function switchKeys(): void {
  areOff.value = !areOff.value
  if (areOff.value) localStorage.setItem(OFF, '1')
  else localStorage.removeItem(OFF)
}

/** The list of keys, under `?`. */
export function KeysDialog(): VNode | null {
  if (!isShown.value) return null
  const close = (): void => {
    isShown.value = false
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
