/** The scan: which units answer on a line, with its present settings. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { sentenceOf } from '#kit/web/call.ts'
import { daemonNow, zone } from '#kit/web/contact.ts'
import { choice, input, refusal, toggle, typedNumber, useForm } from '#kit/web/form.ts'
import { type Child, html } from '#kit/web/html.ts'
import { msText, sinceText } from '#kit/web/numbers.ts'
import { Act, icon, type Judgement, lamp, say, toast, verdict } from '#kit/web/parts.ts'
import { linkTo } from '#kit/web/route.ts'
import type { MbusScanJob } from '../core/mbus/scan.ts'
import type { Candidate, UnitIdentity } from '../core/modbus/identify.ts'
import type { ModbusScanJob } from '../core/modbus/master.ts'
import { busApi, type Port, type ScanJob } from './api.ts'
import { Progress, timeLeft, useJob } from './job-parts.ts'
import { foundMeters, judgeMbusScan, MbusScanStart } from './mbus-scan.ts'
import { noLine } from './port-head.ts'
import { isAdmin, portAt } from './state.ts'
import * as texts from './texts.ts'
import { shortPath, type When } from './words.ts'

// The verdict on a scan for units.

/** The verdict on a scan; null: there was none. */
export function judgeScan(job: ModbusScanJob | null, { nowMs, zone }: When): Judgement {
  if (job === null)
    return {
      lit: 'off',
      sentence: texts.noScanWasRunYet,
      why: texts.howScansWork,
    }
  const found = job.found.length === 0 ? texts.noUnitAnswered : texts.unitsAnswered(job.found.length)
  const range = texts.unitsFromTo(job.from, job.to)
  switch (job.state) {
    case 'running':
      return {
        lit: 'busy',
        sentence: isLearning(job)
          ? texts.askingWhatIs(job.current ?? job.from, found)
          : texts.askingUnit(job.current ?? job.from, found),
        why: texts.askedOf(job.asked, job.total, timeLeft(job.etaMs)),
      }
    case 'done':
      return {
        lit: job.found.length > 0 ? 'ok' : 'warn',
        sentence: `${found}.`,
        why: texts
          .scanEnded(range, sinceText(job.endedAt ?? nowMs, nowMs, zone), job.found.length)
          .trim()
          .replace(/^u/, 'U'),
      }
    case 'cancelled':
      return { lit: 'off', sentence: texts.stoppedAfter(job.asked, job.total, found), why: '' }
    default:
      return {
        lit: 'fault',
        sentence: job.fault?.message ?? texts.scanFailed,
        why: texts.askedOfFound(job.asked, job.total, found),
      }
  }
}

/** All numbers are done, and the units that were found are asked what they are. */
function isLearning({ asked, current, identify, total }: ModbusScanJob): boolean {
  return identify && asked === total && current !== null
}

/** The share of a scan that is done, 0..1. */
export function progressOf(job: ScanJob): number {
  if (isOfMeters(job)) return job.progress
  return job.total === 0 ? 0 : job.asked / job.total
}

function isOfMeters(job: ScanJob): job is MbusScanJob {
  return 'by' in job
}

/** What a found unit replied. */
export function foundText({ exception }: ModbusScanJob['found'][number]): string {
  return exception === null
    ? texts.hasAnswered
    : texts.answeredWithException(String(exception.code).padStart(2, '0'), exception.name)
}

/** The scan page. */
export function ScanPage({ path }: { path: string }): VNode {
  const port = portAt(path)
  if (!port) return noLine(texts.scan, path)
  return html`<${Known} port=${port} key=${port.path} />`
}

function Known({ port }: { port: Port }): VNode {
  const { job, setJob, refused } = useJob(port.path, 'no_scan', () => busApi.scan(port.path))
  const cancel = async (): Promise<void> => setJob(await busApi.cancelScan(port.path))
  const name = shortPath(port.path)
  return html`<div class="head"><a class="btn quiet icon" href=${linkTo('port', port.path)} aria-label=${texts.backTo(name)}>${icon('back')}</a><h1>Scan ${name}</h1></div>
    ${refused !== null && job === undefined ? html`<section class="panel">${say('fault', texts.scanCouldNotBeRead, refused)}</section>` : null}
    ${job === undefined ? null : verdict(judged(job, { nowMs: daemonNow(), zone: zone.value }))}
    ${job?.state === 'running' ? html`<${Progress} label="Asked so far" done=${progressOf(job)} of=${1} stop="Stop scan" cancel=${cancel} />` : null}
    ${job !== undefined && job?.state !== 'running' && isAdmin.value ? html`<${port.protocol === 'mbus' ? MbusScanStart : Start} port=${port} last=${job} setJob=${setJob} />` : null}
    ${job !== undefined && !isAdmin.value && job?.state !== 'running' ? html`<p class="soft">An administrator starts a scan: it asks every unit on the line something.</p>` : null}
    ${job ? (isOfMeters(job) ? foundMeters(job) : html`<${Units} port=${port} job=${job} key=${job.startedAt} />`) : null}`
}

function judged(job: ScanJob | null, when: When): Judgement {
  return job !== null && isOfMeters(job) ? judgeMbusScan(job, when) : judgeScan(job, when)
}

interface FoundFacts {
  port: Port
  job: ModbusScanJob
  learned: ReadonlyMap<number, UnitIdentity>
  ask: (unitId: number) => void
}

/** The units that were found, each of which may be asked what it is. */
function Units({ port, job }: { port: Port; job: ModbusScanJob }): Child {
  const [learned, setLearned] = useState<ReadonlyMap<number, UnitIdentity>>(new Map())
  async function ask(unitId: number): Promise<void> {
    try {
      const identity = await busApi.identify(port.path, unitId)
      setLearned((before) => new Map([...before, [unitId, identity]]))
    } catch (thrown) {
      toast(sentenceOf(thrown))
    }
  }
  return found({ port, job, learned, ask: (unitId) => void ask(unitId) })
}

const FUNCTIONS = [
  ['3', texts.readHoldingRegister],
  ['4', texts.readInputRegister],
  ['1', texts.readCoil],
  ['2', texts.readDiscreteInput],
] as const

function Start({
  port,
  last,
  setJob,
}: {
  port: Port
  last: ModbusScanJob | null
  setJob: (job: ScanJob) => void
}): VNode {
  const form = useForm({
    from: String(last?.from ?? 1),
    to: String(last?.to ?? 247),
    fc: String(last?.fc ?? 3),
    address: String(last?.address ?? 0),
    identify: last?.identify ?? true,
  })
  async function start(): Promise<void> {
    const { from, to, fc, address, identify } = form.values.value
    setJob(
      await busApi.startScan(port.path, {
        from: typedNumber(from),
        to: typedNumber(to),
        fc: Number(fc),
        address: typedNumber(address),
        identify: identify === true,
      }),
    )
  }
  function submit(event: Event): void {
    event.preventDefault()
    void form.submit(start)
  }
  const isOpen = port.state === 'open'
  const waitMs = Number(port.settings?.response_timeout_ms ?? 300)
  const hint = isOpen ? texts.scanTakes(waitMs) : texts.nobodyCanBeAsked
  return html`<form class="panel dense" aria-label="New scan" onSubmit=${submit} novalidate><div class="in stack"><div class="form">
      ${input({ form, name: 'from', label: texts.fromUnit, type: 'number' })}${input({ form, name: 'to', label: texts.toUnit, type: 'number' })}
      ${choice({ form, name: 'fc', label: texts.asked, options: FUNCTIONS })}${input({ form, name: 'address', label: texts.atAddress, type: 'number' })}${toggle({ form, name: 'identify', label: texts.findOutWhatTheyAre })}</div>
      ${refusal(form)}</div>
    <footer class="save"><p class="small soft grow">${hint}</p><${Act} kind="primary" type="submit" waits=${form.isBusy.value || !isOpen}>${last ? texts.scanAgain : texts.startScan}</${Act}></footer></form>`
}

/** What a unit said that it is; certain. */
export function saidText({ objects }: UnitIdentity): string {
  return texts.unitSays(objects.map(({ value }) => value).join(', '))
}

/** Why a device is a guess. */
export function guessText({ by, fit, maker, model, signs }: Candidate): string {
  return texts.couldBe(`${maker} ${model}`, by === 'codes' ? texts.codesFit(fit, signs) : texts.valuesArePlausible)
}

/** What a unit is, where it was asked; each guess leads to the points of that device. */
function identityOf(port: Port, unitId: number, identity: UnitIdentity | null, ask: () => void): Child {
  if (identity === null)
    return isAdmin.value
      ? html`<button class="btn quiet" type="button" onClick=${ask}>What is it?<span class="sr"> Unit ${unitId}</span></button>`
      : null
  const { candidates, kind, objects, tried } = identity
  return html`${objects.length > 0 ? html`<p>${saidText(identity)}</p>` : null}
    ${candidates.map(
      (each) =>
        html`<p key=${each.template}>${guessText(each)}${isAdmin.value ? html` <a href=${linkTo('port', port.path, 'points', 'templates', `${unitId} ${each.template}`)}>${texts.setItsPoints}<span class="sr"> Unit ${unitId}, ${each.model}</span></a>` : null}</p>`,
    )}
    ${kind === 'unknown' ? html`<p>${texts.unitIsUnknown}</p>` : null}
    <details><summary>${texts.whatWasTried}<span class="sr"> Unit ${unitId}</span></summary><p class="small soft">${tried}</p></details>`
}

/** @param learned what units that were asked one by one are */
function found({ port, job, learned, ask }: FoundFacts): Child {
  if (job.found.length === 0) return null
  return html`<section class="panel" aria-label="Found"><header><h2>Found</h2></header><table class="table fold"><thead><tr><th><span class="sr">State</span></th><th>Unit</th><th>Answer</th><th class="n">Took</th><th><span class="sr">Acts</span></th></tr></thead>
    <tbody>${job.found.map(
      (
        unit,
      ) => html`<tr key=${unit.unitId}><td class="lit">${lamp('ok')}</td><td class="name"><b>Unit ${unit.unitId}</b></td>
        <td class="setup what"><p>${foundText(unit)}</p>${identityOf(port, unit.unitId, unit.identity ?? learned.get(unit.unitId) ?? null, () => ask(unit.unitId))}${isAdmin.value ? html`<p><a href=${linkTo('port', port.path, 'points', 'test', String(unit.unitId))}>Test read<span class="sr"> of unit ${unit.unitId}</span></a></p>` : null}</td><td class="n wide">${msText(unit.tookMs)}${unit.tookMs === null ? '' : html` <span class="unit">ms</span>`}</td>
        <td class="n act">${isAdmin.value ? html`<a class="btn" href=${linkTo('port', port.path, 'points', 'templates', String(unit.unitId))}>Add points</a>` : null}</td></tr>`,
    )}</tbody></table></section>`
}
