/** The journal of this gateway: for administrators, with lines by their short names. */
import type { VNode } from 'preact'
import { html } from '#kit/web/html.ts'
import { JournalPage } from '#kit/web/journal-page.ts'
import { say } from '#kit/web/lamp.ts'
import { isAdmin, me } from './state.ts'
import { nameOf } from './words.ts'

/** The page. */
export function GatewayJournal(): VNode {
  if (me.value && !isAdmin.value)
    return html`<div class="head"><h1>Journal</h1></div><section class="panel">
      ${say('off', 'Only administrators see the journal', 'It names people and the addresses they came from.')}</section>`
  return html`<${JournalPage} nameTarget=${nameTarget} />`
}

function nameTarget(target: string): string {
  return target.startsWith('/dev/') ? nameOf(target) : target
}
