/** What a page of one line says while the line is not known, and when there is none of that path. */
import type { VNode } from 'preact'
import { html } from '#kit/web/html.ts'
import { say } from '#kit/web/lamp.ts'
import { linkTo } from '#kit/web/route.ts'
import { ports } from './state.ts'

/** The whole page without its line. @param title of the page @param path of the line as the address has it */
export function noLine(title: string, path: string): VNode {
  if (ports.value === null) {
    const wait = say('busy', 'Asking the gateway for this line', 'This usually takes less than a second.')
    return html`<h1 class="sr">${title}</h1><section class="panel">${wait}</section>`
  }
  const text = `Neither found nor set up: ${path}. It may have been removed, or unplugged before it was set up.`
  const back = html`<a class="btn" href=${linkTo('ports')}>All ports</a>`
  return html`<div class="head"><h1>${title}</h1></div>
    <section class="panel">${say('off', 'This gateway has no such line', text, back)}</section>`
}
