/** Rules: when something happens, then something is done. A sentence for each, and a form that reads like one. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { doneOrSaid } from '#kit/web/asked.ts'
import { useLook } from '#kit/web/call.ts'
import { zone } from '#kit/web/contact.ts'
import { type Child, html } from '#kit/web/html.ts'
import { firstAnswer, lazy } from '#kit/web/lazy.ts'
import { listed, timeOf } from '#kit/web/numbers.ts'
import { Act, chip, say } from '#kit/web/parts.ts'
import { linkTo } from '#kit/web/route.ts'
import { adoptStyle } from '#kit/web/style.ts'
import { type Rule, rulesApi } from './rules-api.ts'
import { cameras } from './state.ts'
import * as texts from './texts.ts'

const RuleForm = lazy(async () => (await import('./rule-panel.ts')).RuleForm)

adoptStyle(`
.rule-list li{display:flex;align-items:center;gap:var(--s3)}
.rule-list li+li{border-top:1px solid var(--line);margin-top:var(--s3);padding-top:var(--s3)}
.rule-list li>div{flex:1}
`)

const LOOK_MS = 5000

/** The page. @param what `new`, `rule` or nothing; @param which the open rule */
export function RulesPage({ what, which }: { what?: string; which?: string }): VNode {
  const [rules, setRules] = useState<Rule[] | null>(null)
  const { again, refused } = useLook(async () => setRules(await rulesApi.list()), LOOK_MS)
  if (rules === null)
    return html`<h1 class="sr">${texts.rules}</h1><section class="panel">${firstAnswer(refused, texts.askingRules, texts.rulesNotRead)}</section>`
  const open = rules.find(({ id }) => what === 'rule' && id === which)
  const form =
    open || what === 'new'
      ? html`<${RuleForm} rule=${open} rules=${rules} again=${again} key=${open?.id ?? 'new'} />`
      : null
  return html`<div class="head"><h1>${texts.rules}</h1><div class="acts"><a class="btn" href=${linkTo('actions')}>${texts.alerts}</a>
      <a class=${form ? 'btn' : 'btn primary'} href=${linkTo('rules', 'new')}>${texts.newRule}</a></div></div>
    <div class=${form ? 'cols with-form' : ''}><section class="panel" aria-label=${texts.rules}>${ruleTable(rules, again, which)}</section>${form}</div>`
}

function ruleTable(rules: readonly Rule[], again: () => Promise<void>, which?: string): Child {
  if (rules.length === 0) return say('off', texts.noRules, texts.whatRulesAre)
  return html`<ul class="in rule-list">${rules.map((rule) => {
    const set = () =>
      doneOrSaid(
        () => rulesApi.change(rule.id, { armed: !rule.armed }),
        again,
        rule.armed ? texts.ruleIsDisarmed(rule.name) : texts.ruleIsArmed(rule.name),
      )
    const isOpen = rule.id === which
    return html`<li key=${rule.id}><div><a href=${linkTo('rules', 'rule', rule.id)} aria-current=${isOpen || undefined}><b>${rule.name}</b></a> ${stateOf(rule)}<p>${sentenceOfRule(rule)}</p></div>
      <${Act} run=${() => void set()} label=${texts.armNamed(rule.name, !rule.armed)}>${rule.armed ? texts.disarm : texts.arm}</${Act}></li>`
  })}</ul>`
}

function stateOf({ activeNow, armed, temporary_until: until }: Rule): VNode {
  const word = !armed ? texts.isDisarmed : activeNow ? texts.isArmed : texts.notItsTime
  return html`${chip(armed ? (activeNow ? 'ok' : 'busy') : 'off', word)}${until === null ? null : html` <span class="small soft">${texts.untilTime(timeOf(until, zone.value, 'min'))}</span>`}`
}

/** `When motion is reported by Yard, switches Siren on and tells http://10.0.0.5.` */
function sentenceOfRule(rule: Rule): string {
  const names = rule.cameraIds.map((id) => nameOf(id))
  const where = names.length === 0 ? '' : texts.atCameras(listed(names))
  const what = [...rule.labels, ...rule.groups.map((group) => texts.groupNames[group] ?? group)]
  const when = texts.triggerSentences[rule.trigger.type]?.(what.length === 0 ? texts.anything : listed(what)) ?? ''
  const does = rule.actions.map((action) => texts.actionNames[action.type] ?? action.type)
  return texts.ruleSentence(`${when}${where}`, listed(does, 4))
}

function nameOf(id: string): string {
  return cameras.value?.find((camera) => camera.id === id)?.name ?? id
}
