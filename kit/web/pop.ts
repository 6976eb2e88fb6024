/** Popovers: beside their anchor; from the bottom on narrow screens. */
import type { VNode } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'
import { type Child, html } from './html.ts'
import { icon } from './parts.ts'

/** What a popover is made of. */
export interface PopProps {
  title: string
  /** The element it belongs to; looked up again whenever the layout may have changed. */
  anchor: () => Element | null
  close: () => void
  children?: Child
}

const NARROW = '(max-width: 44rem)'
const GAP_PX = 12
const EDGE_PX = 16

/**
 * A popover, open as long as it is rendered. Beside its anchor the page stays usable, and a press elsewhere closes it;
 * on narrow screens it is a sheet over the page. Esc closes both and restores the focus.
 */
export function Pop({ title, anchor, close, children }: PopProps): VNode {
  const ref = useRef<HTMLDialogElement>(null)
  const latest = useRef({ close, anchor })
  latest.current = { close, anchor }
  const id = useId()
  useEffect(() => {
    const dialog = ref.current
    if (!dialog) return
    const back = document.activeElement
    const isSheet = matchMedia(NARROW).matches
    if (isSheet) dialog.showModal()
    else dialog.show()
    const stay = (): void => place(dialog, latest.current.anchor())
    const out = (event: Event): void => {
      if (!(event.target instanceof Node) || event.target === dialog || !dialog.contains(event.target))
        latest.current.close()
    }
    const key = (event: KeyboardEvent): void => {
      if (event.key !== 'Escape') return
      event.preventDefault()
      latest.current.close()
    }
    addEventListener('resize', stay)
    addEventListener('scroll', stay, true)
    addEventListener('pointerdown', out, true)
    addEventListener('keydown', key)
    return () => {
      removeEventListener('resize', stay)
      removeEventListener('scroll', stay, true)
      removeEventListener('pointerdown', out, true)
      removeEventListener('keydown', key)
      const isInside = dialog.contains(document.activeElement) || document.activeElement === document.body
      if (isInside && back instanceof HTMLElement && back.isConnected) back.focus()
    }
  }, [])
  useEffect(() => {
    if (ref.current) place(ref.current, anchor())
  })
  function cancel(event: Event): void {
    event.preventDefault()
    close()
  }
  return html`<dialog ref=${ref} class="pop sheet" aria-labelledby=${id} onCancel=${cancel}><header><h2 id=${id}>${title}</h2>
    <button class="btn quiet icon" type="button" aria-label="Close" onClick=${close}>${icon('close')}</button></header>${children}</dialog>`
}

/** To the right of its anchor if there is room, else to the left, and never outside the window. */
function place(dialog: HTMLDialogElement, anchor: Element | null): void {
  if (!anchor || matchMedia(NARROW).matches) {
    dialog.removeAttribute('style')
    return
  }
  const at = anchor.getBoundingClientRect()
  const { offsetWidth: width, offsetHeight: height } = dialog
  const isRight = at.right + GAP_PX + width + EDGE_PX <= innerWidth
  const left = isRight ? at.right + GAP_PX : Math.max(EDGE_PX, at.left - GAP_PX - width)
  const top = Math.min(Math.max(EDGE_PX, at.top - EDGE_PX), Math.max(EDGE_PX, innerHeight - height - EDGE_PX))
  if (isRight) dialog.dataset.side = 'right'
  else delete dialog.dataset.side
  dialog.style.left = `${left}px`
  dialog.style.top = `${top}px`
}
