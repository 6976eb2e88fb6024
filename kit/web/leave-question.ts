/** What is asked before edits that were not saved are left. */
import type { VNode } from 'preact'
import { Confirm } from './dialog.ts'
import { html } from './html.ts'
import { leaving } from './unsaved.ts'

/** The question, while there is one. */
export function LeaveQuestion(): VNode | null {
  const go = leaving.value
  if (!go) return null
  function close(): void {
    leaving.value = null
  }
  return html`<${Confirm} title="Leave without saving?" text="What was changed on this page is not saved."
    act="Discard changes" keep="Stay here" run=${go} close=${close} />`
}
