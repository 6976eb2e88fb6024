/** Rules: when something happens, then something is done. A sentence for each, and a form that reads like one. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { Asked, doneOrSaid } from '#kit/web/asked.ts'
import { useLook } from '#kit/web/call.ts'
import { zone } from '#kit/web/contact.ts'
import { choice, input, refusal, toggle, useForm } from '#kit/web/form.ts'
import { type Child, html } from '#kit/web/html.ts'
import { firstAnswer } from '#kit/web/lazy.ts'
import { listed, timeOf } from '#kit/web/numbers.ts'
import { Act, chip, icon, say, toast } from '#kit/web/parts.ts'
import { goTo, linkTo } from '#kit/web/route.ts'
import { adoptStyle } from '#kit/web/style.ts'
import {
  actionFields,
  atTheirFields,
  bodyOfRule,
  MOST_ACTIONS,
  NEW_ACTION,
  valuesOfAction,
  valuesOfRule,
} from './rule-form.ts'
import { type Rule, rulesApi } from './rules-api.ts'
import { cameras } from './state.ts'
import * as texts from './texts.ts'

adoptStyle(`
.rule-list li{display:flex;align-items:center;gap:var(--s3)}
.rule-list li+li{border-top:1px solid var(--line);margin-top:var(--s3);padding-top:var(--s3)}
.rule-list li>div{flex:1}
.rule-part{display:grid;gap:var(--s3);border-left:3px solid var(--accent);padding-left:var(--s3)}
.rule-action{display:grid;gap:var(--s2);border-top:1px solid var(--line);padding-top:var(--s3)}
.rule-action>.btn{justify-self:end}
.rule-days{display:flex;flex-wrap:wrap;gap:0 var(--s3)}
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

interface RuleFormFacts {
  rule: Rule | undefined
  rules: readonly Rule[]
  again: () => Promise<void>
}

function RuleForm({ again, rule, rules }: RuleFormFacts): VNode {
  const known = cameras.value ?? []
  const form = useForm(valuesOfRule(rule, known), rule ? 'edit' : 'draft')
  const [kept, setKept] = useState(() => rule?.actions ?? [NEW_ACTION])
  const { isAll, isAlways, trigger } = form.values.value
  async function save(): Promise<void> {
    const body = bodyOfRule(form.values.value, { kept, rule, known })
    await (rule ? rulesApi.change(rule.id, body) : rulesApi.add(body)).catch(atTheirFields)
    await again()
    toast(texts.ruleIsSaved(body.name))
    form.settle()
    goTo('rules')
  }
  function submit(event: Event): void {
    event.preventDefault()
    void form.submit(save)
  }
  function add(): void {
    for (const [name, value] of Object.entries(valuesOfAction(NEW_ACTION, kept.length))) form.set(name, value)
    setKept([...kept, NEW_ACTION])
  }
  /** Those behind move up by one. */
  function drop(at: number): void {
    for (let to = at; to < kept.length - 1; to++)
      for (const name of Object.keys(valuesOfAction(NEW_ACTION, to)))
        form.set(name, form.values.value[name.replace(`a${to}.`, `a${to + 1}.`)] ?? '')
    setKept(kept.toSpliced(at, 1))
  }
  const remove = rule
    ? html`<${Asked} act=${texts.removeRule} title=${texts.removeRuleQuestion(rule.name)} text=${texts.removingRuleMeans} sure=${texts.removeRule} keep=${texts.keepRule} run=${() =>
        doneOrSaid(
          () => rulesApi.remove(rule.id),
          () => again().then(() => goTo('rules')),
          texts.ruleIsRemoved(rule.name),
        )} />`
    : null
  return html`<form class="panel" onSubmit=${submit} novalidate aria-label=${rule?.name ?? texts.newRule}>
    <header><h2>${rule?.name ?? texts.newRule}</h2><div class="acts"><a class="btn quiet icon" href=${linkTo('rules')} aria-label="Close form">${icon('close')}</a></div></header>
    <div class="in stack">${input({ form, name: 'name', label: texts.ruleName, first: true })}
      <h3>${texts.whenHead}</h3><div class="rule-part">${choice({ form, name: 'trigger', label: texts.happens, options: texts.triggerOptions })}
        ${trigger === 'occupancy' ? input({ form, name: 'count', label: texts.thingsThere, type: 'number' }) : null}
        ${trigger === 'occupancy' || trigger === 'absence' ? input({ form, name: 'seconds', label: texts.forSoLong, type: 'number', unit: 's' }) : null}
        ${trigger === 'camera_event' ? choice({ form, name: 'kind', label: texts.whatItClaims, options: texts.kindOptions, hint: texts.claimHint }) : null}
        ${OF_THINGS.has(String(trigger)) ? html`<fieldset class="ticks"><legend>${texts.ofWhat}</legend><div class="rule-days">${Object.entries(texts.groupNames).map(([group, label]) => toggle({ form, name: `group.${group}`, label }))}</div></fieldset>` : null}
        ${toggle({ form, name: 'isAll', label: texts.atEveryCamera })}
        ${isAll === true ? null : html`<fieldset class="ticks"><legend>${texts.camerasOfRule}</legend>${known.map(({ id, name }) => toggle({ form, name: `camera.${id}`, label: name }))}</fieldset>`}
        ${toggle({ form, name: 'isAlways', label: texts.atAnyTime })}
        ${isAlways === true ? null : html`<fieldset class="ticks"><legend>${texts.onDays}</legend><div class="rule-days">${texts.dayNames.map((label, day) => toggle({ form, name: `day.${day}`, label }))}</div></fieldset>${input({ form, name: 'from', label: texts.fromTime, placeholder: '22:00' })}${input({ form, name: 'to', label: texts.toTime, placeholder: '06:00', hint: texts.toTimeHint })}`}
        ${trigger === 'button' ? null : input({ form, name: 'cooldown', label: texts.restsFor, type: 'number', unit: 's', hint: texts.restsHint })}</div>
      <h3>${texts.thenHead}</h3><div class="rule-part">${kept.map(
        (action, at) => html`<div class="rule-action" key=${at}>${actionFields(form, at, { action, rules, known })}
        ${kept.length > 1 ? html`<${Act} kind="quiet" label=${texts.dropAction(at + 1)} run=${() => drop(at)}>${texts.drop}</${Act}>` : null}</div>`,
      )}
        <${Act} run=${add} waits=${kept.length >= MOST_ACTIONS}>${texts.addAction}</${Act}></div>${refusal(form)}</div>
    <footer class="save">${remove}<${Act} kind="primary" type="submit" waits=${form.isBusy.value}>${texts.save}</${Act}></footer></form>`
}

/** Triggers that are about what was seen. */
const OF_THINGS: ReadonlySet<string> = new Set(['detection', 'departure', 'occupancy', 'absence'])
