/** Starts the board's pages. The browser itself signs calls in, as HTTP Basic has it. */
import { render } from 'preact'
import { startContact } from '#kit/web/contact.ts'
import { html } from '#kit/web/html.ts'
import { startKeys } from '#kit/web/keys.ts'
import { startNow } from '#kit/web/now.ts'
import { startRoute } from '#kit/web/route.ts'
import { App } from './app.ts'
import { LOOK_MS, look, startFeed } from './state.ts'

startNow()
startRoute()
startKeys()
startFeed()
startContact(look, LOOK_MS)
render(html`<${App} />`, document.body)
