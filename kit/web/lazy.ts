/** Pages that are loaded when first opened, and placeholders until then. */
import type { ComponentType, VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { contact, isLost, lose } from './contact.ts'
import { html } from './html.ts'
import { Act, say } from './parts.ts'
import * as texts from './texts.ts'

// Shown until the daemon's first answer.

/** Shown alone on the page: what is awaited, or that nothing answers. @param box how sentences name it, `board` */
export function firstWait(box: string, asks: string): VNode {
  if (isLost.value) return say('warn', texts.noContact(box), texts.itIsAskedAgain)
  return say('busy', asks, texts.usuallyBrief)
}

/**
 * Shown in a part until its first answer: what is asked for, or why the daemon refused to tell.
 * @param failed the refusal's headline
 * @param again asks once more; left out where the part asks by itself
 */
export function firstAnswer(refused: string | null, asks: string, failed: string, again?: () => void): VNode {
  if (refused === null) return say('busy', asks, texts.usuallyBrief)
  return say('fault', failed, refused, again ? html`<${Act} run=${again}>Ask again</${Act}>` : null)
}

/** A wait is only shown if it is noticeable. */
const SAID_AFTER_MS = 300
/** A failed load is tried once more after this: by then it is known whether there is contact. */
const AGAIN_MS = 3000

type Waiting = 'briefly' | 'long' | 'in vain'

/**
 * A component that loads itself when first rendered. If loading failed for lack of contact, it is loaded again when
 * contact is back; if the file is gone, because the box was updated under an open page, the user has to reload the
 * page.
 */
export function lazy<Props extends object>(load: () => Promise<ComponentType<Props>>): (props: Props) => VNode | null {
  let loaded: ComponentType<Props> | undefined

  return function Lazy(props: Props): VNode | null {
    const [, redraw] = useState(0)
    const [waiting, setWaiting] = useState<Waiting>('briefly')
    const isBack = !contact.value.isLost
    useEffect(() => {
      if (loaded || !isBack) return
      let timer = setTimeout(() => setWaiting('long'), SAID_AFTER_MS)
      let isOver = false
      const fetchIt = (again: () => void): void =>
        void load().then(
          (component) => {
            loaded = component
            clearTimeout(timer)
            if (!isOver) redraw((count) => count + 1)
          },
          () => {
            clearTimeout(timer)
            if (!isOver) again()
          },
        )
      fetchIt(() => {
        setWaiting('long')
        lose()
        timer = setTimeout(() => fetchIt(() => setWaiting('in vain')), AGAIN_MS)
      })
      return () => {
        isOver = true
        clearTimeout(timer)
      }
    }, [isBack])
    if (loaded) return html`<${loaded} ...${props} />`
    if (waiting === 'briefly') return null
    return waiting === 'in vain' && isBack ? gone() : fetching()
  }
}

function fetching(): VNode {
  return say('busy', texts.fetchingPage, texts.fetchingMeans)
}

/** Reloading is left to the user: what was typed elsewhere on the page would be lost. */
function gone(): VNode {
  const anew = html`<button class="btn" type="button" onClick=${() => location.reload()}>Load anew</button>`
  return say('warn', texts.pageCouldNotBeFetched, texts.pageIsOld, anew)
}
