/** Why a unit may be silent, from what was counted: what was tried, what that says, and what to look at next. */
import type { VNode } from 'preact'
import { daemonNow, zone } from '#kit/web/contact.ts'
import { html } from '#kit/web/html.ts'
import { listed, sinceText } from '#kit/web/numbers.ts'
import type { UnitView as BusUnit } from '../core/bus/units.ts'
import type { Port } from './api.ts'
import * as texts from './texts.ts'
import { framingOf, type When } from './words.ts'

/** The findings on one unit. `checks`: in the order in which they cost least. */
export interface Findings {
  tried: string
  found: string
  checks: readonly string[]
}

interface SilentUnitProps {
  port: Port
  unit: BusUnit
  /** All units of the line, this one too. */
  units: readonly BusUnit[]
}

/** Under the counts of a unit that does not answer. */
export function SilentUnit({ port, unit, units }: SilentUnitProps): VNode {
  const { checks, found, tried } = findingsOf({ port, unit, units }, { nowMs: daemonNow(), zone: zone.value })
  return html`<div class="stack small"><p class="soft">${tried}</p><p><b>${found}</b></p>
    <ol>${checks.map((check) => html`<li key=${check}>${check}</li>`)}</ol></div>`
}

/** The first of these that was seen is the finding; each rests on counts, none on a guess. */
export function findingsOf({ port, unit, units }: SilentUnitProps, { nowMs, zone: inZone }: When): Findings {
  const { badReplies, crcErrors, exceptions, lateReplies, replies, requests, timeouts, unitId } = unit
  const tried = texts.silentTried({ requests, replies, timeouts, damaged: crcErrors + badReplies })
  const others = units.filter((other) => other.unitId !== unitId)
  const answering = others.filter((other) => other.replies > 0).map((other) => String(other.unitId))
  const framing = port.line ? framingOf(port.line) : ''
  const says = (found: string, checks: readonly string[]): Findings => ({ tried, found, checks })
  if (lateReplies > 0) return says(texts.silentLate(unitId, lateReplies), texts.silentLateChecks)
  if (crcErrors + badReplies > 0)
    return says(texts.silentDamaged(unitId, crcErrors, badReplies), texts.silentDamagedChecks(unitId, framing))
  if (exceptions > 0 && exceptions === replies) return says(texts.silentRefuses(unitId), texts.silentRefusesChecks)
  if (replies > 0) {
    const lastAt = unit.lastReplyAt === null ? '' : sinceText(unit.lastReplyAt, nowMs, inZone)
    return says(texts.answeredUntil(unitId, lastAt), texts.silentSinceChecks(answering.length > 0))
  }
  if (answering.length > 0)
    return says(texts.silentAlone(unitId, listed(answering)), texts.silentAloneChecks(unitId, framing))
  if ((port.counters?.rxBytes ?? 0) === 0) return says(texts.silentLine, texts.silentLineChecks)
  return says(texts.silentNoise(wrongBytes(port)), texts.silentNoiseChecks(framing))
}

/** Bytes that the driver found wrong; 0 where it does not count them. */
function wrongBytes({ counters }: Port): number {
  return (counters?.driver?.frame ?? 0) + (counters?.driver?.parity ?? 0)
}
