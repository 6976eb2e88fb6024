/** Starts the panel. */
import { render } from 'preact'
import { signCallsWith } from '#kit/web/call.ts'
import { startContact, startNow } from '#kit/web/contact.ts'
import { html } from '#kit/web/html.ts'
import { startKeys } from '#kit/web/keys.ts'
import { atPlainAddress, startRoute } from '#kit/web/route.ts'
import { App } from './app.ts'
import { cookieCredentials, LOOK_MS, lookAgain } from './state.ts'

atPlainAddress(() => {
  // One address for bookmarks; the same page is served for both.
  if (location.pathname === '/') history.replaceState(null, '', `/admin${location.hash}`)
  signCallsWith(cookieCredentials)
  startNow()
  startRoute()
  startKeys()
  startContact(lookAgain, LOOK_MS)
  render(html`<${App} />`, document.body)
})
