/** Pages that are fetched when they are first opened, so that the first one is there quickly. */
import type { ComponentType, VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { contact } from './contact.ts'
import { type Child, html } from './html.ts'
import { say } from './lamp.ts'

/** Waiting is said only when it can be felt. */
const SAID_AFTER_MS = 300

/** A component that fetches itself when it is first drawn. What failed for lack of contact is fetched again when contact is back. */
export function lazy<Props extends object>(load: () => Promise<ComponentType<Props>>): (props: Props) => VNode | null {
  let loaded: ComponentType<Props> | undefined

  return function Lazy(props: Props): VNode | null {
    const [, redraw] = useState(0)
    const [isSlow, setSlow] = useState(false)
    const isBack = !contact.value.isLost
    useEffect(() => {
      if (loaded || !isBack) return
      const timer = setTimeout(() => setSlow(true), SAID_AFTER_MS)
      load().then(
        (component) => {
          loaded = component
          clearTimeout(timer)
          redraw((count) => count + 1)
        },
        () => setSlow(true),
      )
      return () => clearTimeout(timer)
    }, [isBack])
    if (loaded) return html`<${loaded} ...${props} />`
    const text: Child = 'It comes from this box itself. Without contact it waits and goes on by itself.'
    return isSlow ? say('busy', 'Fetching this page', text) : null
  }
}
