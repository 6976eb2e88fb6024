/** The card of one port: what it is, how it runs, who is on it, what is wrong. */
import type { VNode } from 'preact'
import { Act } from '#kit/web/button.ts'
import { spark } from '#kit/web/figure.ts'
import { type Child, html } from '#kit/web/html.ts'
import { icon } from '#kit/web/icon.ts'
import { lamp } from '#kit/web/lamp.ts'
import { daemonNow, zone } from '#kit/web/now.ts'
import { age, bytesText, many, sinceText, UNKNOWN } from '#kit/web/numbers.ts'
import { readTable } from '#kit/web/read-table.ts'
import type { AdapterDevice } from '../roles/serial/core/ports.ts'
import type { SerialClient, SerialPort } from './api.ts'
import { ratesOf, type Sample, type Traffic } from './rates.ts'
import {
  counterRows,
  deviceText,
  editLink,
  lineText,
  nowOf,
  portName,
  portState,
  serviceText,
  troubles,
  writeWords,
} from './serial-words.ts'

interface CardProps {
  port: SerialPort
  devices: readonly AdapterDevice[]
  traffic?: Traffic
  drop: (client: SerialClient) => void
}

/** The card. */
export function SerialCard({ port, devices, traffic, drop }: CardProps): VNode {
  const { lit, words } = portState(port)
  const name = portName(port)
  return html`<section class="panel port-card" data-port=${port.port} tabindex="-1" aria-label=${`Line ${port.port}, ${name}`}>
    <header>${lamp(lit)}<h2><span class="faint">${port.port}</span> ${name}</h2><span class="faint">${words}</span>
      <div class="acts"><a class="btn" href=${editLink(port)} aria-label=${`Edit ${name}`}>Edit</a></div></header>
    <div class="in stack"><dl class="pairs">
        <div><dt>TCP</dt><dd>${serviceText(port)}</dd></div><div><dt>Line</dt><dd>${lineText(nowOf(port))}</dd></div>
        ${rate('In', traffic?.from)}${rate('Out', traffic?.to)}</dl>
      <p class="small faint device">${deviceText(port, devices)}</p>
      ${port.line_now ? html`<p class="small soft">A client has set the line; saved is ${lineText(port)}.</p>` : null}
      ${port.fault ? html`<p class="note small" data-s=${lit === 'fault' ? 'fault' : 'warn'}>${port.fault.message}</p>` : null}
      ${troubles(port).map(({ name: which, sentence }) => html`<p class="note small" data-s="warn" key=${which}>${sentence}</p>`)}</div>
    ${clients(port, drop)}
    <details class="counted"><summary>Counted</summary>${readTable(counterRows(port), 'tight')}</details></section>`
}

/** Bytes a second now, and the last minute; in is from the line. */
function rate(name: string, samples: readonly Sample[] | undefined): VNode {
  const rates = ratesOf(samples ?? [])
  const now = rates.at(-1)
  const text = now === undefined ? UNKNOWN : `${bytesText(Math.round(now))}/s`
  return html`<div><dt>${name}</dt><dd>${text}${spark(rates)}</dd></div>`
}

function clients(port: SerialPort, drop: (client: SerialClient) => void): Child {
  if (!port.enabled) return html`<p class="foot small faint">Nobody can connect.</p>`
  if (port.clients.length === 0)
    return html`<p class="foot small faint">Nobody is connected. ${port.allow ? `Allowed: ${port.allow}.` : 'Every address may connect.'}</p>`
  return html`<ul class="clients" aria-label=${many(port.clients.length, 'client')}>${port.clients.map(
    (client) => html`<li key=${client.id} data-client=${client.id}><div><b class="mono">${client.address}</b>
      <span class="under">since ${sinceText(client.since_at, daemonNow(), zone.value)}, ${age(Math.max(1000, daemonNow() - client.since_at), 1)} · ${client.may_write ? 'writes' : 'reads only'}${client.rfc2217 ? ' · RFC 2217' : ''}</span></div>
      <${Act} kind="quiet icon" label=${`Drop ${client.address}`} run=${() => drop(client)}>${icon('close')}</${Act}></li>`,
  )}</ul>${port.clients.length > 1 ? html`<p class="foot small faint">Of several clients, ${writeWords[port.write] ?? port.write}.</p>` : null}`
}
