/** Health and storage: how much is kept, since when, what goes next, and what was lost of each camera. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { useLook } from '#kit/web/call.ts'
import { daemonNow, zone } from '#kit/web/contact.ts'
import { type FigureFacts, figures } from '#kit/web/figures.ts'
import { type Child, html } from '#kit/web/html.ts'
import { firstAnswer } from '#kit/web/lazy.ts'
import { age, bytesText, count, sinceText, THIN, UNKNOWN } from '#kit/web/numbers.ts'
import { type Judgement, say, verdict } from '#kit/web/parts.ts'
import { linkTo } from '#kit/web/route.ts'
import { api, type CameraCounts, type Footage, type Health } from './api.ts'
import type { When } from './camera-words.ts'
import { diskTable, judgeDisks, roomFigure } from './disks.ts'
import * as texts from './texts.ts'
import { type Day, dayOf, lengthOf, within } from './timeline.ts'

/** So soon, since a disk that was pulled is to be seen within 5 s. */
const LOOK_MS = 1000
/** The longest window of one answer is 31 days; today is the last. */
const DAYS = 14
const HOUR_MS = 3_600_000
/** What is recorded is timed by a clock that follows the wall clock slowly; beyond, moments are not where one looks. */
const AHEAD_MS = 2000

type AllFootage = Record<string, Footage>

/** The page. */
export function HealthPage(): VNode {
  const [health, setHealth] = useState<Health | null>(null)
  const [footage, setFootage] = useState<AllFootage | null>(null)
  const when = { nowMs: daemonNow(), zone: zone.value }
  const days = lastDays(when)
  const from = days.at(-1)?.start ?? 0
  const healthLook = useLook(async () => setHealth(await api.health()), LOOK_MS)
  const footageLook = useLook(async () => setFootage((await api.allFootage(from, daemonNow())).cameras), 30 * LOOK_MS)
  if (health === null || footage === null)
    return html`<h1 class="sr">Health</h1><section class="panel">${firstAnswer(healthLook.refused ?? footageLook.refused, texts.askingHealth, texts.healthNotRead)}</section>`
  return html`<h1 class="sr">Health</h1>${verdict(judgeHealth(health))}
    ${figures(figuresOf(health, footage, when), 'four')}
    <section class="panel" aria-label="Disks"><header><h2 class="grow">Disks</h2><div class="acts"><a class="btn" href=${linkTo('storage')}>Storage</a></div></header>${diskTable(health.disks, when)}</section>
    <section class="panel" aria-label="Recorded by day"><header><h2>Recorded by day</h2><span class="faint">how much of each camera</span></header>${dayTable(health.cameras, footage, days)}</section>
    <section class="panel" aria-label="What was lost"><header><h2>What was lost</h2><span class="faint">since the recorder started</span></header>${lossTable(health.cameras)}</section>`
}

/** The present day first. */
function lastDays({ nowMs, zone }: When): Day[] {
  const days = [dayOf(nowMs, zone)]
  while (days.length < DAYS) days.push(dayOf((days.at(-1)?.start ?? 0) - HOUR_MS, zone))
  return days
}

/** What is lost is said first. */
export function judgeHealth(health: Health): Judgement {
  const { cameras, clockAheadMs } = health
  const disks = judgeDisks(health)
  if (disks) return disks
  const losing = cameras.filter(({ lostGroups }) => lostGroups > 0)
  if (losing.length > 0)
    return {
      ...{ lit: 'fault', sentence: texts.diskIsSlow(losing.map(({ name }) => name)), why: texts.diskIsSlowMeans },
    }
  if (Math.abs(clockAheadMs) > AHEAD_MS)
    return {
      lit: 'warn',
      sentence: texts.clockIsOff(age(Math.abs(clockAheadMs)), clockAheadMs > 0),
      why: texts.clockIsOffMeans,
    }
  return { lit: 'ok', sentence: texts.allIsKept, why: texts.allIsKeptMeans }
}

function figuresOf(health: Health, footage: AllFootage, { nowMs, zone }: When): FigureFacts[] {
  const oldest = oldestOf(health.cameras, footage)
  const [value = UNKNOWN, unit] = bytesText(health.footageBytes).split(THIN)
  const [reach = UNKNOWN, reachUnit] = oldest ? age(nowMs - oldest.at, 1).split(THIN) : []
  return [
    { name: texts.kept, value, unit, note: texts.keptNote },
    roomFigure(health),
    {
      name: texts.reachesBack,
      value: reach,
      unit: reachUnit,
      note: oldest ? texts.since(sinceText(oldest.at, nowMs, zone)) : texts.nothingKept,
    },
    {
      name: texts.goesNext,
      value: oldest?.name ?? UNKNOWN,
      note: oldest ? texts.goesNextNote(sinceText(oldest.at, nowMs, zone)) : texts.nothingKept,
    },
  ]
}

/** Which camera has the oldest footage: it is deleted first. */
function oldestOf(cameras: readonly CameraCounts[], footage: AllFootage): { name: string; at: number } | undefined {
  return cameras
    .flatMap(({ id, name }) => {
      const at = footage[id]?.bounds?.start
      return at === undefined ? [] : [{ name, at }]
    })
    .toSorted((a, b) => a.at - b.at)[0]
}

function dayTable(cameras: readonly CameraCounts[], footage: AllFootage, days: readonly Day[]): Child {
  const kept = days.filter((day) => cameras.some(({ id }) => within(footage[id]?.ranges ?? [], day).length > 0))
  if (kept.length === 0) return say('off', texts.nothingKept, texts.nothingKeptMeans)
  return html`<div class="scroll" tabindex="0" role="group" aria-label="Recorded by day"><table class="table days"><thead><tr><th>Day</th>${cameras.map(({ name }) => html`<th>${name}</th>`)}</tr></thead>
    <tbody>${kept.map(
      (day) =>
        html`<tr key=${day.date}><td>${day.date}</td>${cameras.map(({ id }) => dayCell(id, within(footage[id]?.ranges ?? [], day)))}</tr>`,
    )}</tbody></table></div>`
}

function dayCell(id: string, own: readonly { start: number; end: number }[]): VNode {
  const [first] = own
  if (!first) return html`<td class="faint">${UNKNOWN}</td>`
  const holes = own.length - 1
  return html`<td><a href=${linkTo('playback', id, String(first.start))}>${age(lengthOf(own))}</a>${holes > 0 ? html` <span class="faint">${texts.holes(holes)}</span>` : null}</td>`
}

function lossTable(cameras: readonly CameraCounts[]): Child {
  if (cameras.length === 0) return say('off', texts.noCameras, texts.howToAdd)
  return html`<div class="scroll" tabindex="0" role="group" aria-label="What was lost"><table class="table days"><thead><tr><th>Camera</th><th>Recorded</th><th>Pictures</th><th>Packets lost</th><th>Broken</th><th>Pictures dropped</th><th>Not written</th></tr></thead>
    <tbody>${cameras.map(
      (
        each,
      ) => html`<tr key=${each.id}><td><a href=${linkTo('camera', each.id)}>${each.name}</a></td><td>${bytesText(each.bytes)}</td><td>${count(each.pictures)}</td>
        <td>${count(each.lostPackets)}</td><td>${count(each.brokenPackets)}</td><td>${count(each.droppedPictures)}</td><td>${count(each.lostGroups)}</td></tr>`,
    )}</tbody></table></div>`
}
