/** Buttons to press, and what rules did. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { sentenceOf, useLook } from '#kit/web/call.ts'
import { daemonNow, zone } from '#kit/web/contact.ts'
import { type Child, html } from '#kit/web/html.ts'
import { firstAnswer } from '#kit/web/lazy.ts'
import { sinceText } from '#kit/web/numbers.ts'
import { chip, say, toast } from '#kit/web/parts.ts'
import { linkTo } from '#kit/web/route.ts'
import { adoptStyle } from '#kit/web/style.ts'
import { type Alert, type Button, rulesApi } from './rules-api.ts'
import { isAdmin, mayOperate } from './state.ts'
import * as texts from './texts.ts'

adoptStyle(`
.presses{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,14rem),1fr));gap:var(--s3)}
.presses .btn{min-height:4.5rem;white-space:normal;font-size:var(--t-title);justify-content:center;text-align:center}
.alerts>li+li{border-top:1px solid var(--line);margin-top:var(--s3);padding-top:var(--s3)}
.alert-head{display:flex;flex-wrap:wrap;align-items:baseline;gap:0 var(--s3)}
.alert-head .when{margin-left:auto}
.alerts li li{display:flex;flex-wrap:wrap;align-items:center;gap:var(--s1) var(--s2);margin-top:var(--s1)}
`)

const LOOK_MS = 3000

/** The page. */
export function ActionsPage(): VNode {
  const [known, setKnown] = useState<{ buttons: Button[]; alerts: Alert[] } | null>(null)
  const { again, refused } = useLook(async () => {
    const [buttons, alerts] = await Promise.all([rulesApi.buttons(), rulesApi.alerts()])
    setKnown({ buttons, alerts })
  }, LOOK_MS)
  if (known === null)
    return html`<h1 class="sr">${texts.buttonsAndAlerts}</h1><section class="panel">${firstAnswer(refused, texts.askingAlerts, texts.alertsNotRead)}</section>`
  const rules = isAdmin.value ? html`<a class="btn" href=${linkTo('rules')}>${texts.rules}</a>` : null
  return html`<div class="head"><h1>${texts.buttonsAndAlerts}</h1><div class="acts">${rules}</div></div>
    <section class="panel" aria-label=${texts.buttons}><header><h2>${texts.buttons}</h2></header>${buttonGrid(known.buttons, again)}</section>
    <section class="panel" aria-label=${texts.alerts}><header><h2>${texts.alerts}</h2><span class="faint">${texts.whatRulesDid}</span></header>${alertTable(known.alerts)}</section>`
}

function buttonGrid(buttons: readonly Button[], again: () => Promise<void>): Child {
  if (buttons.length === 0)
    return say('off', texts.noButtons, isAdmin.value ? texts.howToMakeButton : texts.askForButton)
  const hint = mayOperate.value ? null : html`<p class="small soft">${texts.operatorsPress}</p>`
  return html`<div class="in stack"><div class="presses">${buttons.map((button) => html`<${Press} button=${button} isOff=${!mayOperate.value || !button.activeNow} again=${again} key=${button.id} />`)}</div>${hint}</div>`
}

interface PressFacts {
  button: Button
  isOff: boolean
  again: () => Promise<void>
}

function Press({ again, button: { activeNow, id, name }, isOff }: PressFacts): VNode {
  const [isBusy, setBusy] = useState(false)
  async function press(): Promise<void> {
    setBusy(true)
    try {
      await rulesApi.press(id)
      toast(texts.isPressed(name))
      await again()
    } catch (thrown) {
      toast(sentenceOf(thrown))
    } finally {
      setBusy(false)
    }
  }
  return html`<button class="btn" type="button" disabled=${isOff || isBusy} onClick=${() => void press()}>${name}${activeNow ? null : html`<span class="small soft">${texts.isDisarmed}</span>`}</button>`
}

function alertTable(alerts: readonly Alert[]): Child {
  if (alerts.length === 0) return say('off', texts.noAlerts, texts.whatAlertsAre)
  return html`<ul class="in alerts">${alerts.map(
    (
      alert,
    ) => html`<li key=${alert.id}><div class="alert-head"><b>${alert.rule}</b>${alert.cameraName === null ? null : html`<span class="soft">${alert.cameraName}</span>`}
        <span class="when">${sinceText(alert.at, daemonNow(), zone.value)}</span></div>
      <p>${alert.summary}</p><ul>${alert.results.map(resultOf)}</ul></li>`,
  )}</ul>`
}

const LIT = { waiting: 'busy', done: 'ok', failed: 'fault' } as const

function resultOf({ sentence, state, type }: Alert['results'][number]): VNode {
  return html`<li class="small">${chip(LIT[state], texts.actionNames[type] ?? type)} <span class="soft">${sentence ?? texts.underWay}</span></li>`
}
