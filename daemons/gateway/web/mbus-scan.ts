/** The scan of an M-Bus line: by primary address, or by secondary address with wildcards. */
import type { VNode } from 'preact'
import { choice, input, refusal, typedNumber, useForm } from '#kit/web/form.ts'
import { type Child, html } from '#kit/web/html.ts'
import { msText, sinceText } from '#kit/web/numbers.ts'
import { Act, type Judgement, lamp } from '#kit/web/parts.ts'
import type { MbusScanJob } from '../core/mbus/scan.ts'
import { busApi, type Port } from './api.ts'
import { timeLeft } from './job-parts.ts'
import * as texts from './texts.ts'
import type { When } from './words.ts'

/** The verdict on a scan. */
export function judgeMbusScan(job: MbusScanJob, { nowMs, zone }: When): Judgement {
  const found = texts.metersAnswered(job.found.length)
  const asked = job.by === 'primary' ? texts.addressesAsked(job.asked) : texts.selectionsMade(job.asked)
  const collisions = job.collisions.length > 0 ? texts.metersCollide(job.collisions.join(', ')) : ''
  switch (job.state) {
    case 'running':
      return {
        lit: 'busy',
        sentence: texts.askingMeter(job.current ?? '', found),
        why: `${asked}${timeLeft(job.etaMs)}`,
      }
    case 'done':
      return {
        lit: collisions === '' && job.found.length > 0 ? 'ok' : 'warn',
        sentence: `${found}.`,
        why: `${asked} ${texts.endedAt(sinceText(job.endedAt ?? nowMs, nowMs, zone))} ${collisions || (job.found.length === 0 ? texts.noMeterHint : '')}`.trim(),
      }
    case 'cancelled':
      return { lit: 'off', sentence: texts.scanStopped(found), why: `${asked} ${collisions}`.trim() }
    default:
      return { lit: 'fault', sentence: job.fault?.message ?? texts.scanFailed, why: `${found}. ${collisions}`.trim() }
  }
}

interface StartProps {
  port: Port
  last: MbusScanJob | null
  setJob: (job: MbusScanJob) => void
}

/** The form that starts a scan. */
export function MbusScanStart({ port, last, setJob }: StartProps): VNode {
  const form = useForm({
    by: last?.by ?? 'primary',
    from: String(last?.from ?? 0),
    to: String(last?.to ?? 250),
    mask: last?.mask ?? 'FFFFFFFF',
  })
  const { by, from, mask, to } = form.values.value
  const isPrimary = by === 'primary'
  async function start(): Promise<void> {
    const range = isPrimary ? { from: typedNumber(from), to: typedNumber(to) } : { mask: String(mask).trim() }
    setJob((await busApi.startScan(port.path, { by, ...range })) as MbusScanJob)
  }
  function submit(event: Event): void {
    event.preventDefault()
    void form.submit(start)
  }
  const isOpen = port.state === 'open'
  return html`<form class="panel dense" aria-label="New scan" onSubmit=${submit} novalidate><div class="in stack"><div class="form">
      ${choice({
        form,
        name: 'by',
        label: texts.searchBy,
        kind: 'wide',
        options: [
          ['primary', texts.primaryAddress],
          ['secondary', texts.secondaryAddress],
        ],
      })}
      ${
        isPrimary
          ? html`${input({ form, name: 'from', label: texts.fromAddress, type: 'number' })}${input({ form, name: 'to', label: texts.toAddress, type: 'number' })}`
          : input({
              form,
              name: 'mask',
              label: texts.numberWithWildcards,
              kind: 'wide',
              mono: true,
              hint: texts.wildcardHint,
            })
      }</div>${refusal(form)}</div>
    <footer class="save"><p class="small soft grow">${isOpen ? (isPrimary ? texts.primaryScanHint : texts.secondaryScanHint) : texts.nobodyCanBeAsked}</p>
      <${Act} kind="primary" type="submit" waits=${form.isBusy.value || !isOpen}>${last ? texts.scanAgain : texts.startScan}</${Act}></footer></form>`
}

/** The meters that were found. */
export function foundMeters({ found }: MbusScanJob): Child {
  if (found.length === 0) return null
  return html`<section class="panel" aria-label="Found"><header><h2>Found</h2></header><table class="table fold"><thead><tr><th><span class="sr">State</span></th><th>Meter</th><th>Medium</th><th class="wide">Secondary address</th><th class="n">Took</th></tr></thead>
    <tbody>${found.map(
      ({ address, meter, secondary, tookMs, unitId }) =>
        html`<tr key=${secondary ?? unitId}><td class="lit">${lamp('ok')}</td><td class="name"><b>${meter ? `${meter.manufacturer ?? ''} ${meter.id}`.trim() : texts.rowUnit(unitId)}</b>${address === null ? '' : html` <span class="faint">${texts.atMeterAddress(address)}</span>`}</td>
        <td class="setup">${meter?.medium.name ?? ''}</td><td class="wide mono faint">${secondary ?? ''}</td>
        <td class="n">${msText(tookMs)}${tookMs === null ? '' : html` <span class="unit">ms</span>`}</td></tr>`,
    )}</tbody></table></section>`
}
