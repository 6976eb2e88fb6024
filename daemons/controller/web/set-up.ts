/** The first account, created while nobody can sign in: name, password and the name of the building. */
import type { VNode } from 'preact'
import { CallFault } from '#kit/web/call.ts'
import { isLost } from '#kit/web/contact.ts'
import { administratorFields, firstAdministrator, isGoodAdministrator } from '#kit/web/first-administrator.ts'
import { type Form, input, refusal, useForm } from '#kit/web/form.ts'
import { type Child, html } from '#kit/web/html.ts'
import { Act, lamp } from '#kit/web/parts.ts'
import { api } from './api.ts'
import { needsAccount, signedIn, site } from './state.ts'
import * as texts from './texts.ts'

/** The first page of a controller without accounts. @param plate the name plate */
export function SetUp({ plate }: { plate: Child }): VNode {
  const form = useForm({ ...firstAdministrator, site: '' })
  // A site file without accounts has already named the building.
  const isNamed = site.value?.name != null
  const submit = (event: Event) => {
    event.preventDefault()
    if (isGoodAdministrator(form)) void form.submit(() => setUp(form, isNamed))
  }
  return html`<main class="alone" id="main"><div class="alone-in">${plate}
    <form class="panel" onSubmit=${submit} novalidate><div class="in stack">
      <h1>Who looks after this building?</h1>
      <p class="soft">Nobody can sign in yet. This makes the first account, an administrator. To take in a site file that has
        accounts instead: stop the controller, <span class="mono">plantroom controller import FILE</span>, start it again.</p>
      ${administratorFields(form)}
      ${isNamed ? null : input({ form, name: 'site', label: texts.nameOfBuilding, kind: 'wide', hint: texts.buildingNameHint })}
      ${refusal(form)}
      <${Act} kind="primary" type="submit" waits=${form.isBusy.value}>Make the account</${Act}>
    </div></form>
    <p class="small soft contact-line" role="status">${isLost.value ? html`${lamp('warn')} No contact with this controller. It is tried again by itself.` : null}</p></div></main>`
}

async function setUp(form: Form, isNamed: boolean): Promise<void> {
  const { username, password, site: name } = form.values.value
  try {
    const answer = await api.setUp({
      username: String(username).trim(),
      password: String(password),
      ...(isNamed || String(name).trim() === '' ? {} : { site: String(name).trim() }),
      ...timeZone(),
    })
    needsAccount.value = false
    if ('signed_in' in answer && answer.signed_in) signedIn(answer)
  } catch (thrown) {
    // Somebody else was first: this user can now sign in.
    if (!(thrown instanceof CallFault && thrown.code === 'already_set_up')) throw thrown
    needsAccount.value = false
  }
}

/** The browser's time zone: whoever sets up a building is inside it. */
function timeZone(): { time_zone?: string } {
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions()
  return timeZone === undefined ? {} : { time_zone: timeZone }
}
