/** The licence: its state in words, what it allows, when it ends, and what to do. */
import type { VNode } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { Asked, doneOrSaid } from '#kit/web/asked.ts'
import { CallFault, sentenceOf, useLook } from '#kit/web/call.ts'
import { zone } from '#kit/web/contact.ts'
import { saveBytes } from '#kit/web/copy-and-save.ts'
import { type FigureFacts, factTable, figures } from '#kit/web/figures.ts'
import { input, refusal, useForm } from '#kit/web/form.ts'
import { html } from '#kit/web/html.ts'
import { firstAnswer } from '#kit/web/lazy.ts'
import { count, dateOf, UNKNOWN } from '#kit/web/numbers.ts'
import { Act, type Judgement, toast, verdict } from '#kit/web/parts.ts'
import { type License, licenceApi } from './licence-api.ts'
import * as texts from './texts.ts'

const LOOK_MS = 5000

/** The page. */
export function LicencePage(): VNode {
  const [licence, setLicence] = useState<License | null>(null)
  const { again, refused } = useLook(async () => setLicence(await licenceApi.state()), LOOK_MS)
  if (licence === null)
    return html`<h1 class="sr">Licence</h1><section class="panel">${firstAnswer(refused, texts.askingLicence, texts.licenceNotRead)}</section>`
  if (!licence.managed) return html`<h1 class="sr">Licence</h1>${verdict(judgeLicence(licence, dayOf))}`
  return html`<h1 class="sr">Licence</h1>${verdict(judgeLicence(licence, dayOf))}${figures(figuresOf(licence), 'four')}
    <${Activation} again=${again} />
    <${ByFile} again=${again} id=${licence.installationId ?? ''} />
    ${facts(licence, again)}`
}

const dayOf = (at: number) => dateOf(at, zone.value)

/** What is to be done comes with what is so. @param day writes a date */
export function judgeLicence(
  { graceUntil, managed, pendingUntil, reason, state }: License,
  day: (at: number) => string,
): Judgement {
  if (!managed || state === undefined)
    return { lit: 'off', sentence: texts.noLicenceNeeded, why: texts.nothingIsLimited }
  const until = day(pendingUntil ?? graceUntil ?? 0)
  switch (state) {
    case 'licensed':
      return { lit: 'ok', sentence: texts.isLicensed }
    case 'trial':
      return { lit: 'ok', sentence: texts.isTrial, why: texts.activateBefore }
    case 'pending':
      return { lit: 'busy', sentence: texts.isPending(until), why: texts.activateBefore }
    case 'grace':
      return { lit: 'warn', sentence: texts.isGrace(until), why: texts.graceRemedy }
    default:
      return {
        lit: 'warn',
        sentence: texts.noLicence[state],
        why: `${reason ? `${reason} ` : ''}${texts.whatIsOnGoesOn}`,
      }
  }
}

function figuresOf({ cameras, entitlements, features, leaseExpiresAt, offline, termEnd }: License): FigureFacts[] {
  const most = entitlements?.limits.cameras
  const included = entitlements?.features ?? []
  const known = features ?? []
  const missing = known.filter(({ id }) => !included.includes(id)).map(({ name }) => name)
  const when = (at: number | null | undefined) => (at ? dayOf(at) : UNKNOWN)
  return [
    {
      name: texts.licensedCameras,
      value: cameras === undefined ? UNKNOWN : count(cameras),
      note: most === null ? texts.anyNumber : texts.camerasOf(count(most)),
    },
    {
      name: texts.licensedFeatures,
      value: texts.featuresOf(included.length, known.length),
      note: missing.length === 0 ? texts.allIncluded : texts.notIncluded(missing.join(', ')),
    },
    { name: texts.leaseEnds, value: when(leaseExpiresAt), note: leaseNote(leaseExpiresAt, offline) },
    { name: texts.termEnds, value: when(termEnd), note: leaseExpiresAt && !termEnd ? texts.noTerm : '' },
  ]
}

function leaseNote(endsAt: number | null | undefined, isFile = false): string {
  if (!endsAt) return ''
  return isFile ? texts.leaseIsFile : texts.leaseIsRenewed
}

interface Again {
  again: () => Promise<void>
}

function Activation({ again }: Again): VNode {
  const form = useForm({ licenseKey: '' }, 'draft')
  const [isTaken, setTaken] = useState(false)
  const key = () => String(form.values.value.licenseKey).trim()
  async function activate(isMoved: boolean): Promise<void> {
    try {
      await licenceApi.activate(key(), isMoved)
    } catch (thrown) {
      setTaken(thrown instanceof CallFault && thrown.code === 'license_no_free_seat')
      throw thrown
    }
    setTaken(false)
    form.settle({ licenseKey: '' })
    toast(texts.licenceIsActive)
    await again()
  }
  function submit(event: Event): void {
    event.preventDefault()
    void form.submit(() => activate(false))
  }
  const move = html`<${Asked} kind="" act=${texts.moveKey} title=${texts.moveQuestion} text=${texts.movingMeans} sure="Move it here" keep="Leave it there" run=${() => void form.submit(() => activate(true))} />`
  return html`<form class="panel" onSubmit=${submit} novalidate aria-label="Activate a key"><header><h2>Activate a key</h2></header>
    <div class="in stack">${input({ form, name: 'licenseKey', label: texts.licenceKey, mono: true, hint: texts.licenceKeyHint })}${refusal(form)}</div>
    <footer class="save">${isTaken ? move : null}<${Act} kind="primary" type="submit" waits=${form.isBusy.value || key() === ''}>Activate</${Act}></footer></form>`
}

function ByFile({ again, id }: Again & { id: string }): VNode {
  const field = useRef<HTMLInputElement>(null)
  async function picked(event: Event): Promise<void> {
    const element = event.target as HTMLInputElement
    const file = element.files?.[0]
    if (file === undefined) return
    const text = await file.slice(0, MOST_FILE).text()
    element.value = ''
    await doneOrSaid(() => licenceApi.importLease(text), again, texts.leaseIsTaken)
  }
  async function request(): Promise<void> {
    try {
      const text = JSON.stringify(await licenceApi.request())
      saveBytes([text], `licence-request-${id.slice(0, 8)}.json`, 'application/json')
    } catch (thrown) {
      toast(sentenceOf(thrown))
    }
  }
  return html`<section class="panel" aria-label="Without the licence server"><header><h2>Without the licence server</h2></header>
    <div class="in stack"><p class="small soft">${texts.offlineSteps}</p></div>
    <footer class="save"><${Act} run=${() => void request()}>Download request</${Act}>
      <${Act} run=${() => field.current?.click()}>Import lease file</${Act}>
      <input ref=${field} class="sr" type="file" tabindex="-1" aria-label=${texts.leaseFile} accept=".json,application/json" onChange=${(event: Event) => void picked(event)} /></footer></section>`
}

/** The recorder refuses a longer text. */
const MOST_FILE = 32_768

function facts(licence: License, again: () => Promise<void>): VNode {
  const { customer, installationId, leaseIssuedAt, licenseKey, plan, updatesUntil } = licence
  const rows: [string, string | VNode][] = [
    [texts.customer, customer ?? UNKNOWN],
    [texts.licenceKey, licenseKey ?? UNKNOWN],
    [texts.licencePlan, plan ?? UNKNOWN],
    [texts.leaseIssued, leaseIssuedAt ? dayOf(leaseIssuedAt) : UNKNOWN],
    [texts.updatesUntil, updatesUntil ? dayOf(updatesUntil) : UNKNOWN],
    [texts.installation, html`<span class="mono">${installationId}</span>`],
  ]
  const refresh = () => void doneOrSaid(() => licenceApi.refresh(), again, texts.licenceIsRefreshed)
  const giveUp = () => void doneOrSaid(() => licenceApi.deactivate(), again, texts.licenceIsGivenUp)
  return html`<section class="panel" aria-label="Details"><header><h2 class="grow">Details</h2>
      <div class="acts"><${Act} kind="quiet" run=${refresh}>Ask the server now</${Act}>
      <${Asked} act="Give up" kind="quiet" title=${texts.giveUpQuestion} text=${texts.givingUpMeans} sure="Give it up" keep="Keep licence" run=${giveUp} /></div></header>
    ${factTable(rows)}</section>`
}
