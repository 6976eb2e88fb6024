/** One device definition as text: what is wrong at which line, its wire tests, and a console to a real device. */
import type { VNode } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { CallFault, call, sentenceOf } from '#kit/web/call.ts'
import { Confirm } from '#kit/web/dialog.ts'
import { type Form, refusal, useForm } from '#kit/web/form.ts'
import { html } from '#kit/web/html.ts'
import { firstAnswer } from '#kit/web/lazy.ts'
import { many } from '#kit/web/numbers.ts'
import { Act, type Judgement, say, toast, verdict } from '#kit/web/parts.ts'
import { goTo, linkTo } from '#kit/web/route.ts'
import { adoptStyle } from '#kit/web/style.ts'
import type { DefinitionCheck, OpenDefinition, PlacedFault } from '../core/drivers/definitions.ts'
import { Console } from './definition-console.ts'
import * as texts from './texts.ts'

adoptStyle(`
.definition textarea { min-height: 20rem; white-space: pre; overflow: auto; font-size: .75rem; line-height: 1.5; tab-size: 2; }
.line-faults { display: grid; grid-template-columns: minmax(0, 1fr); max-height: 14rem; overflow: auto; border: 1px solid var(--line); border-radius: var(--radius); }
.line-faults li { padding: 0 var(--s3); }
.line-faults li + li { border-top: 1px solid var(--grid); }
.line-faults .link { width: 100%; color: var(--fault); font-size: var(--t-small); text-align: left; overflow-wrap: anywhere; }
.console-panel .told { min-width: 0; overflow-wrap: anywhere; }
`)

/** Wire tests run on the controller: not at every key. */
const CHECK_AFTER_MS = 600

/** @param which its name, or `new` */
export function DefinitionEditor({ which }: { which: string }): VNode {
  const [opened, setOpened] = useState<OpenDefinition | null | undefined>(which === 'new' ? null : undefined)
  const [refused, setRefused] = useState<string | null>(null)
  const open = (): void => {
    setRefused(null)
    call<OpenDefinition>(`GET /ui/definitions/open?${new URLSearchParams({ name: which })}`).then(
      setOpened,
      (thrown) => {
        if (thrown instanceof CallFault && thrown.status === 400) setOpened(null)
        else setRefused(sentenceOf(thrown))
      },
    )
  }
  useEffect(() => {
    if (which !== 'new') open()
  }, [])
  if (opened === undefined)
    return alone(firstAnswer(refused, texts.askingForDefinitions, texts.definitionsCouldNotBeRead, open))
  if (opened === null && which !== 'new')
    return alone(
      say('off', texts.definitionIsGone, html`<a href=${linkTo('definitions')}>${texts.showDefinitions}</a>`),
    )
  return html`<${Editor} key=${opened?.revision ?? 'new'} opened=${opened} kept=${setOpened} />`
}

function alone(content: VNode): VNode {
  return html`<div class="head"><h1>Definition</h1></div><section class="panel">${content}</section>`
}

interface EditorFacts {
  /** Null for a new one. */
  opened: OpenDefinition | null
  kept: (now: OpenDefinition) => void
}

function Editor({ opened, kept }: EditorFacts): VNode {
  const form = useForm({ text: opened?.text ?? texts.newDefinitionText }, opened ? 'edit' : 'draft')
  const check = useCheck(String(form.values.value.text))
  const title = opened?.name ?? texts.newDefinition
  async function save(): Promise<void> {
    const body = { text: form.values.value.text, revision: opened?.revision ?? null }
    const now = await call<OpenDefinition>('POST /ui/definitions/save', body)
    form.settle()
    toast(texts.definitionKept(many(now.devices.length, 'device')))
    if (opened === null) goTo('definitions', now.name)
    else kept(now)
  }
  function submit(event: Event): void {
    event.preventDefault()
    void form.submit(save)
  }
  const isWhole = check !== null && check.faults.length === 0
  return html`<div class="head"><h1>${title}</h1><span class="faint small later">${opened === null ? '' : opened.own ? texts.ofYours : texts.ofPackageMeans}</span>
      <div class="acts"><a class="btn quiet" href="/ui/definitions/schema" target="_blank">${texts.schema}</a></div></div>
    ${verdict(judgement(check))}
    <form class="panel definition" onSubmit=${submit} novalidate aria-label=${title}>
      <${TextField} form=${form} faults=${check?.faults ?? []} />
      <footer class="save">${refusal(form)}${opened?.own ? html`<${Removal} name=${opened.name} />` : null}
        <${Act} kind="primary" type="submit" waits=${form.isBusy.value || !isWhole || (opened !== null && !form.hasChanges())}>${texts.keepDefinition}</${Act}></footer></form>
    ${opened === null || check === null ? null : html`<${Console} devices=${opened.devices} commands=${check.commands} isChanged=${form.hasChanges()} />`}`
}

/** What the controller says of the text, a moment after it was changed last; null until the first answer. */
function useCheck(text: string): DefinitionCheck | null {
  const [check, setCheck] = useState<DefinitionCheck | null>(null)
  useEffect(() => {
    let isOver = false
    const timer = setTimeout(() => {
      call<DefinitionCheck>('POST /ui/definitions/check', { text }).then(
        (answer) => {
          if (!isOver) setCheck(answer)
        },
        (thrown) => {
          if (!isOver) toast(sentenceOf(thrown))
        },
      )
    }, CHECK_AFTER_MS)
    return () => {
      isOver = true
      clearTimeout(timer)
    }
  }, [text])
  return check
}

function judgement(check: DefinitionCheck | null): Judgement {
  if (check === null) return { lit: 'busy', sentence: texts.checking }
  const { faults, tests, title } = check
  if (faults.length > 0)
    return { lit: 'fault', sentence: texts.thingsAreWrong(faults.length), why: texts.pressToGoThere }
  return { lit: 'ok', sentence: texts.wireTestsHold(tests ?? 0), why: title ?? '' }
}

function TextField({ form, faults }: { form: Form; faults: readonly PlacedFault[] }): VNode {
  const field = useRef<HTMLTextAreaElement>(null)
  const text = String(form.values.value.text)
  /** Selects the line, so that it is seen where it stands. */
  function goToLine(line: number): void {
    const lines = text.split('\n')
    const from = lines.slice(0, line - 1).join('\n').length + (line > 1 ? 1 : 0)
    const area = field.current
    if (area === null) return
    area.focus()
    area.setSelectionRange(from, from + (lines[line - 1]?.length ?? 0))
    area.scrollTop = (line - FEW_LINES) * (area.scrollHeight / lines.length)
  }
  return html`<div class="in stack">${
    faults.length === 0
      ? null
      : html`<ul class="line-faults" aria-label=${texts.whatIsWrong}>${faults.map(
          (fault, at) =>
            html`<li key=${at}><button class="link" type="button" onClick=${() => goToLine(fault.line)}><b>${texts.lineOf(fault.line)}</b> ${fault.path === '' ? '' : html`<code>${fault.path}</code> `}${fault.message}</button></li>`,
        )}</ul>`
  }
    <div class="field"><label for=${`${form.id}-text`}>${texts.definitionAsText}</label><div class="input">
      <textarea id=${`${form.id}-text`} ref=${field} class="mono" rows="24" spellcheck=${false} autocapitalize="off" wrap="off" value=${text}
        onInput=${(event: InputEvent) => form.set('text', (event.target as HTMLTextAreaElement).value)}></textarea></div></div></div>`
}

/** Lines that stay in sight above. */
const FEW_LINES = 4

function Removal({ name }: { name: string }): VNode {
  const [isAsked, setAsked] = useState(false)
  async function run(): Promise<void> {
    try {
      await call('POST /ui/definitions/remove', { name })
      toast(texts.definitionRemoved)
      goTo('definitions')
    } catch (thrown) {
      toast(sentenceOf(thrown))
    }
  }
  return html`<${Act} kind="danger apart" run=${() => setAsked(true)}>Remove</${Act}>
    ${isAsked ? html`<${Confirm} title=${texts.removeMacroQuestion(name)} text=${texts.removingDefinitionMeans} act="Remove" keep="Keep it" run=${() => void run()} close=${() => setAsked(false)} />` : null}`
}
