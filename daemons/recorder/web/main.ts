/** Starts the recorder's pages. */
import { render } from 'preact'
import { signCallsWith } from '#kit/web/call.ts'
import { startContact, startNow } from '#kit/web/contact.ts'
import { html } from '#kit/web/html.ts'
import { startKeys } from '#kit/web/keys.ts'
import { atPlainAddress, startRoute } from '#kit/web/route.ts'
import { tokenCredentials } from '#kit/web/session.ts'
import { App, LOOK_MS, look } from './app.ts'

atPlainAddress(() => {
  signCallsWith(tokenCredentials)
  startNow()
  startRoute()
  startKeys()
  startContact(look, LOOK_MS)
  render(html`<${App} />`, document.body)
})
