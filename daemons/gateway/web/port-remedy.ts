/** What can be done about the verdict of a port, right beside it. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { Act } from '#kit/web/button.ts'
import { sentenceOf } from '#kit/web/call.ts'
import { html } from '#kit/web/html.ts'
import { linkTo } from '#kit/web/route.ts'
import { toast } from '#kit/web/toast.ts'
import { api, type Port } from './api.ts'
import { lateOf, waitOf } from './port-verdict.ts'
import { isAdmin, lookAtPorts } from './state.ts'
import type { UnitView } from './unit-view.ts'
import { nameOf } from './words.ts'

/** The remedy; none for those who may change nothing. */
export function Remedy({ port, units }: { port: Port; units: readonly UnitView[] }): VNode | null {
  const [isBusy, setBusy] = useState(false)
  if (!isAdmin.value) return null
  const settings = linkTo('port', port.path, 'settings')
  if (!port.configured) return html`<a href=${settings}>Set up ${nameOf(port.path)}</a>`
  if (port.state === 'failed') return html`<a href=${settings}>Look at its settings</a>`
  const longer = port.state === 'open' ? longerWait(port, units) : null
  if (!longer) return null
  const before = waitOf(port)
  async function run(waitMs: number): Promise<void> {
    setBusy(true)
    const changed = await setWait(port, waitMs)
    setBusy(false)
    if (!changed) return
    toast(`${nameOf(port.path)} waits ${waitMs}\u202fms for every reply now.`, () => void setWait(changed, before))
  }
  return html`<${Act} kind="remedy" waits=${isBusy} run=${() => void run(longer.waitMs)}>Wait ${longer.waitMs}\u202fms for unit ${longer.unitId}</${Act}>`
}

/** @returns the port as it is then; undefined where it was refused, which is said */
async function setWait(port: Port, waitMs: number): Promise<Port | undefined> {
  if (!port.protocol || !port.line) return undefined
  try {
    const settings = { ...port.settings, response_timeout_ms: waitMs }
    const body = { protocol: port.protocol, line: { ...port.line }, settings }
    const changed = await api.setUpPort(port.path, body, port.revision ?? undefined)
    await lookAtPorts()
    return changed
  } catch (thrown) {
    toast(sentenceOf(thrown))
    return undefined
  }
}

/** Longest wait the gateway takes. */
const LONGEST_WAIT_MS = 60_000

/** For a unit that answers too late: how long the line should wait, a good seventh more than was seen, in steps of 100 ms. Null without one. */
export function longerWait(port: Port, units: readonly UnitView[]): { unitId: number; waitMs: number } | null {
  if ((port.settings?.mode ?? 'master') !== 'master') return null
  const slow = units.filter(({ state }) => state === 'slow')
  const first = slow.toSorted((a, b) => (lateOf(b) ?? 0) - (lateOf(a) ?? 0))[0]
  const lateMs = first ? lateOf(first) : null
  if (!first || lateMs === null || lateMs < waitOf(port)) return null
  const waitMs = Math.ceil((lateMs * 1.15) / 100) * 100
  return waitMs > waitOf(port) && waitMs <= LONGEST_WAIT_MS ? { unitId: first.unitId, waitMs } : null
}
