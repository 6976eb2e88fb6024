/** Keyboard shortcuts of a page, in layers: those of visible parts, and those of every page of a daemon. */
import { signal } from '@preact/signals'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { goTo } from './route.ts'
import * as texts from './texts.ts'

/** One shortcut. */
export interface Key {
  /** `KeyboardEvent.key`; two characters with a space for `g p`. */
  key: string
  what: string
  /** Returns false if it did not apply, so that the browser handles the key. */
  run: (event: KeyboardEvent) => boolean | undefined
}

const OFF = 'plantroom.keys-off'
/** Shortcuts of rendered parts; later ones take precedence. */
export const layers: { title: string; keys: () => Key[] }[] = []
/** True while the list of shortcuts is shown. */
export const areShown = signal(false)
/** True while letter keys are switched off. */
export const areOff = signal(typeof localStorage !== 'undefined' && localStorage.getItem(OFF) === '1')
/** Compares `Event.timeStamp`, which a busy page does not delay. */
let pendingG = Number.NEGATIVE_INFINITY

/** Longest time from `g` to the letter. */
const SECOND_KEY_MS = 1500

/** Adds shortcuts as long as the component is rendered; later layers take precedence. */
export function useKeys(title: string, keys: Key[]): void {
  const current = useRef(keys)
  current.current = keys
  // A layout effect, so that a visible page has its shortcuts at once.
  useLayoutEffect(() => {
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
    areShown.value = true
    event.preventDefault()
    return
  }
  if (areOff.value && event.key.length === 1) return
  const name = event.timeStamp - pendingG < SECOND_KEY_MS ? `g ${event.key}` : event.key
  pendingG = event.key === 'g' ? event.timeStamp : Number.NEGATIVE_INFINITY
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

/** Switches letter keys off for this browser, or on again. */
export function switchKeys(): void {
  areOff.value = !areOff.value
  if (areOff.value) localStorage.setItem(OFF, '1')
  else localStorage.removeItem(OFF)
}

// Shortcuts of every page of a daemon: `?`, `g` and a letter, and `/` for the visible filter.

/** A page and the letter that goes to it after `g`. */
export interface KeyedPage {
  word: string
  label: string
  key: string
}

/** Active as long as the component is rendered. @throws Error if two pages have one letter: the second would be dead */
export function useEverywhereKeys(pages: readonly KeyedPage[]): void {
  if (new Set(pages.map(({ key }) => key)).size < pages.length) throw new Error('same letter twice')
  useKeys(texts.everywhere, [
    { key: '?', what: texts.showsTheseKeys, run: () => false },
    ...pages.map(({ word, label, key }) => ({ key: `g ${key}`, what: label, run: () => go(word) })),
    { key: '/', what: texts.filter, run: focusFilter },
  ])
}

function go(word: string): undefined {
  goTo(word)
}

/** Filters are marked so that `/` finds the page's own; some are behind a button that opens them. */
function focusFilter(): boolean {
  const filter = document.querySelector<HTMLElement>('[data-filter]')
  filter?.focus()
  if (filter instanceof HTMLButtonElement) filter.click()
  return filter !== null
}
