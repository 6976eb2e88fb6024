/** Starts the recorder's pages. */
import { render } from 'preact'
import { signCallsWith } from '#kit/web/call.ts'
import { startContact, startNow } from '#kit/web/contact.ts'
import { html } from '#kit/web/html.ts'
import { startKeys } from '#kit/web/keys.ts'
import { atPlainAddress, linkTo, startRoute } from '#kit/web/route.ts'
import { App } from './app.ts'
import { deepLink } from './deep-link.ts'
import { cookieCredentials, LOOK_MS, lookAgain } from './state.ts'

atPlainAddress(() => {
  followDeepLink()
  signCallsWith(cookieCredentials)
  startNow()
  startRoute()
  startKeys()
  startContact(lookAgain, LOOK_MS)
  render(html`<${App} />`, document.body)
})

/** Opens what a link of another system names. */
function followDeepLink(): void {
  const words = deepLink(location.pathname, new URLSearchParams(location.search))
  if (words) location.replace(`/${linkTo(...words)}`)
}
