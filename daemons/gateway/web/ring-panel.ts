/** The ring of an MS/TP line: who is there, who passes the token to whom, and how long a turn takes. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { sentenceOf, useLook } from '#kit/web/call.ts'
import { daemonNow, zone } from '#kit/web/contact.ts'
import { factTable } from '#kit/web/figures.ts'
import { html } from '#kit/web/html.ts'
import { count, msText, sinceText } from '#kit/web/numbers.ts'
import { Act, lamp, say, toast } from '#kit/web/parts.ts'
import type { RingFace } from '../core/mstp/mstp.ts'
import { api, busApi, type Port } from './api.ts'
import { isAdmin, LOOK_MS, lookAtPorts } from './state.ts'
import * as texts from './texts.ts'

type Ring = NonNullable<ReturnType<RingFace['view']>>

/** The panel. */
export function RingPanel({ port }: { port: Port }): VNode {
  const [ring, setRing] = useState<Ring | null>(null)
  const { again, refused } = useLook(
    async () => setRing(await api.ring(port.path)),
    LOOK_MS,
    `${port.path} ${port.state}`,
  )
  async function forget(mac: number): Promise<void> {
    try {
      await busApi.forgetUnit(port.path, mac)
      toast(texts.nodeIsForgotten(mac))
    } catch (thrown) {
      toast(sentenceOf(thrown))
    }
    await Promise.all([again(), lookAtPorts()])
  }
  const note = ring ? texts.masters(ring.order.length) : ''
  return html`<section class="panel" aria-label=${texts.ring}><header><h2>${texts.ring}</h2><span class="faint grow">${note}</span></header>
    ${ring && ring.nodes.length > 0 ? shown(ring, forget) : empty(refused)}</section>`
}

function empty(refused: string | null): VNode {
  return refused === null
    ? say('off', texts.ringIsNotKnown, texts.ringAppears)
    : say('fault', texts.ringCouldNotBeRead, refused)
}

function shown(ring: Ring, forget: (mac: number) => Promise<void>): VNode {
  const { rotationMs, tokenLostAt, turnMs } = ring
  const facts: [string, string][] = []
  if (rotationMs) facts.push([texts.turnOfToken, texts.turnText(msText(rotationMs.median), msText(rotationMs.max))])
  if (turnMs) facts.push([texts.ownTurn, `${msText(turnMs.max)}\u202fms`])
  const lost = tokenLostAt === null ? texts.neverLost : sinceText(tokenLostAt, daemonNow(), zone.value)
  facts.push([texts.tokenLostLast, lost])
  return html`<table class="table tight units"><colgroup><col class="c1" /><col class="c2" /><col /><col class="c5" /></colgroup><thead class="sr"><tr><th>State</th><th>Address</th><th>What it is</th><th>Frames</th></tr></thead>
    <tbody>${nodeRows(ring, forget)}</tbody></table>${factTable(facts, 'tight')}<p class="foot small faint">${ring.realtime.text}</p>`
}

/** The lit lamp: it is there; masters in the order of the token, then slaves, then who is gone. */
function nodeRows({ mac, nodes, order }: Ring, forget: (mac: number) => Promise<void>): VNode[] {
  const rank = (node: Ring['nodes'][number]) => {
    const at = order.indexOf(node.mac)
    return at >= 0 ? at : node.isPresent ? 1000 + node.mac : 2000 + node.mac
  }
  return nodes
    .toSorted((one, other) => rank(one) - rank(other))
    .map(
      (
        node,
      ) => html`<tr key=${node.mac}><td>${lamp(node.isPresent ? 'ok' : isLost(node) ? 'gone' : 'off')}</td><td class="n">${node.mac}</td>
      <td class="how">${nodeText(node, mac)}${isLost(node) && isAdmin.value ? html`<div class="acts start"><${Act} run=${() => void forget(node.mac)}>${texts.forgetNode(node.mac)}</${Act}></div>` : null}</td><td class="n">${count(node.frames)}</td></tr>`,
    )
}

/** A slave speaks when it is asked: its silence says nothing. */
function isLost({ isMaster, isPresent }: Ring['nodes'][number]): boolean {
  return isMaster && !isPresent
}

function nodeText(node: Ring['nodes'][number], own: number | null): string {
  const kind = node.mac === own ? texts.isSelf : node.isMaster ? texts.isMaster : texts.isSlave
  const since = sinceText(node.lastSeenAt, daemonNow(), zone.value)
  if (!node.isPresent) return `${kind}, ${isLost(node) ? texts.isGone(since) : texts.lastHeard(since)}`
  return node.next === null ? kind : `${kind}, ${texts.passesTo(node.next)}`
}
