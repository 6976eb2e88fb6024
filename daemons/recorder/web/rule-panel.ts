/** The form of a rule: a sentence with what it waits for, and what it then does. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { Asked, doneOrSaid } from '#kit/web/asked.ts'
import { input, refusal, useForm } from '#kit/web/form.ts'
import { html } from '#kit/web/html.ts'
import { Act, icon, toast } from '#kit/web/parts.ts'
import { goTo, linkTo } from '#kit/web/route.ts'
import { adoptStyle } from '#kit/web/style.ts'
import { actionFields, valuesOfAction } from './rule-actions.ts'
import {
  atTheirFields,
  bodyOfRule,
  MOST_ACTIONS,
  NEW_ACTION,
  triggerFields,
  valuesOfRule,
  whenFields,
} from './rule-form.ts'
import { type Rule, rulesApi } from './rules-api.ts'
import { cameras } from './state.ts'
import * as texts from './texts.ts'

adoptStyle(`
.rule-part{display:grid;gap:var(--s3);border-left:3px solid var(--accent);padding-left:var(--s3)}
.rule-action{display:grid;gap:var(--s2);border-top:1px solid var(--line);padding-top:var(--s3)}
.rule-action>.btn{justify-self:end}
.ticks-row{display:flex;flex-wrap:wrap;gap:0 var(--s3)}
`)

interface RuleFormFacts {
  rule: Rule | undefined
  rules: readonly Rule[]
  again: () => Promise<void>
}

/** @param rule undefined: a new one */
export function RuleForm({ again, rule, rules }: RuleFormFacts): VNode {
  const known = cameras.value ?? []
  const form = useForm(valuesOfRule(rule, known), rule ? 'edit' : 'draft')
  const [kept, setKept] = useState(() => rule?.actions ?? [NEW_ACTION])
  async function save(): Promise<void> {
    const body = bodyOfRule(form.values.value, { kept, known })
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
      <h3>${texts.whenHead}</h3><div class="rule-part">${triggerFields(form)}${whenFields(form, known)}</div>
      <h3>${texts.thenHead}</h3><div class="rule-part">${kept.map(
        (action, at) => html`<div class="rule-action" key=${at}>${actionFields(form, at, { action, rules, known })}
        ${kept.length > 1 ? html`<${Act} kind="quiet" label=${texts.dropAction(at + 1)} run=${() => drop(at)}>${texts.drop}</${Act}>` : null}</div>`,
      )}
        <${Act} run=${add} waits=${kept.length >= MOST_ACTIONS}>${texts.addAction}</${Act}></div>${refusal(form)}</div>
    <footer class="save">${remove}<${Act} kind="primary" type="submit" waits=${form.isBusy.value}>${texts.save}</${Act}></footer></form>`
}
