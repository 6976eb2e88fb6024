/** Starts the board's pages. */
import { render } from 'preact'
import { signCallsWith } from '#kit/web/call.ts'
import { startContact, startNow } from '#kit/web/contact.ts'
import { html } from '#kit/web/html.ts'
import { startKeys } from '#kit/web/keys.ts'
import { atPlainAddress, startRoute } from '#kit/web/route.ts'
import { basicCredentials, learn } from './api.ts'
import { App } from './app.ts'
import { LOOK_MS, look, startFeed } from './state.ts'

atPlainAddress(() => {
  signCallsWith(basicCredentials)
  startNow()
  startRoute()
  startKeys()
  void learn().then(() => {
    startFeed()
    startContact(look, LOOK_MS)
  })
  render(html`<${App} />`, document.body)
})
