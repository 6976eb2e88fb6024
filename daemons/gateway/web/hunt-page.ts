/** The hunt for the settings of a line: what it tries, what it found and on what that rests, and a way to take it. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { CallFault } from '#kit/web/call.ts'
import { choice, type Form, input, refusal, toggle, typedNumber, useForm } from '#kit/web/form.ts'
import { type Child, html } from '#kit/web/html.ts'
import { lazy } from '#kit/web/lazy.ts'
import { Act, icon, type Judgement, lamp, say, verdict } from '#kit/web/parts.ts'
import { linkTo } from '#kit/web/route.ts'
import type { HuntFinding } from '../core/hunt/findings.ts'
import type { HuntJob } from '../core/hunt/run.ts'
import { huntApi, type ProtocolName } from './api.ts'
import { Progress, timeLeft, useJob } from './job-parts.ts'
import { isAdmin, portAt } from './state.ts'
import * as texts from './texts.ts'
import { framingOf, protocolNames, shortPath } from './words.ts'

const Confirm = lazy(async () => (await import('#kit/web/dialog.ts')).Confirm)

/** The verdict on a hunt; null: there was none. */
export function judgeHunt(job: HuntJob | null): Judgement {
  if (job === null) return { lit: 'off', sentence: texts.noHuntYet, why: texts.howHuntsWork }
  if (job.state === 'running') {
    const sentence = (job.phase === 'ask' ? texts.huntAsksAt : texts.huntListensAt)(job.current ?? '')
    return { lit: 'busy', sentence, why: `${texts.settingsTried(job.tried, job.total)}${timeLeft(job.etaMs)}` }
  }
  if (job.state === 'failed') return { lit: 'fault', sentence: job.fault?.message ?? '', why: job.verdict ?? '' }
  const refused = job.refused.length > 0 ? texts.driverRefused(job.refused.join(', ')) : ''
  const lit = job.found[0]?.isSure ? 'ok' : job.state === 'cancelled' ? 'off' : 'warn'
  return { lit, sentence: job.verdict ?? '', why: refused }
}

/**
 * The settings of a finding, in the words of the address of the settings page. Where somebody else asks, the port only
 * listens.
 */
export function takenWords(
  { how, protocol }: Pick<HuntFinding, 'how' | 'protocol'>,
  { baud, data_bits, parity, stop_bits }: HuntFinding['line'],
): string {
  const canListen = protocol === 'modbus-rtu' || protocol === 'bacnet-mstp'
  return [protocol, baud, data_bits, parity, stop_bits, ...(how === 'heard' && canListen ? ['listen'] : [])].join(' ')
}

export function HuntPage({ path }: { path: string }): VNode {
  const { job, setJob, refused } = useJob(path, 'no_hunt', () => huntApi.job(path))
  const cancel = async (): Promise<void> => setJob(await huntApi.cancel(path))
  const name = shortPath(path)
  const isIdle = job !== undefined && job?.state !== 'running'
  return html`<div class="head"><a class="btn quiet icon" href=${linkTo('port', path, 'settings')} aria-label=${texts.backTo(texts.settingsOf(name))}>${icon('back')}</a><h1>${texts.huntOn(name)}</h1></div>
    ${refused !== null && job === undefined ? html`<section class="panel">${say('fault', texts.huntCouldNotBeRead, refused)}</section>` : null}
    ${job === undefined ? null : verdict(judgeHunt(job))}
    ${job?.state === 'running' ? html`<${Progress} label="Tried so far" done=${job.tried} of=${job.total} stop="Stop hunt" cancel=${cancel} />` : null}
    ${job ? found(path, job) : null}
    ${isIdle && isAdmin.value ? html`<${Start} path=${path} last=${job} setJob=${setJob} />` : null}
    ${isIdle && !isAdmin.value ? html`<p class="soft">An administrator starts a hunt: the line is taken from its port meanwhile.</p>` : null}`
}

const PROTOCOLS = [
  ['', texts.anyOfThese],
  ['modbus-rtu', texts.modbusRtu],
  ['mbus', texts.mbus],
  ['bacnet-mstp', texts.bacnetMstp],
] as const

interface StartProps {
  path: string
  last: HuntJob | null
  setJob: (job: HuntJob) => void
}

function Start({ path, last, setJob }: StartProps): VNode {
  const [isAsked, setAsked] = useState(false)
  const form = useForm({
    protocol: last?.protocols.length === 1 ? (last.protocols[0] ?? '') : '',
    ask: last?.ask ?? false,
    from: String(last?.from ?? ''),
    to: String(last?.to ?? ''),
  })
  const isInUse = portAt(path)?.state === 'open'
  /** The gateway says whether the port is in use: this page may not know yet. */
  async function start(takeOver: boolean): Promise<void> {
    try {
      setJob(await huntApi.start(path, bodyOf(form, takeOver)))
    } catch (thrown) {
      if (!(thrown instanceof CallFault && thrown.code === 'line_in_use')) throw thrown
      setAsked(true)
    }
  }
  function submit(event: Event): void {
    event.preventDefault()
    void form.submit(() => start(false))
  }
  const { ask, protocol } = form.values.value
  const canAsk = protocol !== 'bacnet-mstp'
  return html`<form class="panel dense" aria-label="New hunt" onSubmit=${submit} novalidate><div class="in stack"><div class="form">
      ${choice({ form, name: 'protocol', label: texts.protocol, options: PROTOCOLS, kind: 'wide' })}
      ${canAsk ? toggle({ form, name: 'ask', label: texts.askIfSilent, hint: texts.askIfSilentHint, kind: 'wide' }) : null}
      ${
        canAsk && ask === true
          ? html`${input({ form, name: 'from', label: texts.fromUnit, type: 'number', placeholder: '1' })}${input({ form, name: 'to', label: texts.toUnit, type: 'number', placeholder: '10' })}`
          : null
      }</div>
      ${refusal(form)}</div>
    <footer class="save"><p class="small soft grow">${isInUse ? texts.huntCloses : texts.huntOpens}</p><${Act} kind="primary" type="submit" waits=${form.isBusy.value}>${last ? texts.huntAgain : texts.startHunt}</${Act}></footer></form>
    ${isAsked ? html`<${Confirm} title=${texts.huntQuestion(shortPath(path))} text=${texts.huntCloses} act=${texts.startHunt} keep=${texts.leaveOpen} run=${() => void form.submit(() => start(true))} close=${() => setAsked(false)} />` : null}`
}

/** What is empty is left to the gateway. */
function bodyOf(form: Form, takeOver: boolean): object {
  const { ask, from, protocol, to } = form.values.value
  const asks = ask === true && protocol !== 'bacnet-mstp'
  const range = Object.entries({ from, to }).filter(([, typed]) => asks && String(typed).trim() !== '')
  return {
    ...(protocol === '' ? {} : { protocols: [protocol] }),
    ...Object.fromEntries(range.map(([name, typed]) => [name, typedNumber(typed)])),
    ...{ ask: asks, takeOver },
  }
}

function found(path: string, job: HuntJob): Child {
  if (job.found.length === 0) return null
  return html`<section class="panel" aria-label="Found"><header><h2>Found</h2></header>${job.found.map((one) => finding(path, job, one))}</section>`
}

function finding(path: string, job: HuntJob, one: HuntFinding): VNode {
  const name = `${protocolNames[one.protocol as ProtocolName] ?? one.protocol} ${framingOf(one.line)}`
  const settings = job.state === 'running' || !isAdmin.value ? [] : [one.line, ...one.also]
  return html`<div class="in stack" key=${name}><p>${lamp(one.isSure ? 'ok' : 'warn', one.isSure ? texts.sure : texts.maybeChance)} <b>${name}</b></p>
    <p class="small soft">${one.evidence}</p>
    ${settings.length > 0 ? html`<div>${settings.map((setting) => html`<a class="btn" key=${setting.stop_bits} href=${linkTo('port', path, 'settings', takenWords(one, setting))}>${texts.takeSetting(framingOf(setting))}</a> `)}</div>` : null}</div>`
}
