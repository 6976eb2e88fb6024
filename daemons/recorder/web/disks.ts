/** Disks on the health page: how each is, and how long the room lasts. */
import type { FigureFacts } from '#kit/web/figures.ts'
import { type Child, html } from '#kit/web/html.ts'
import { age, bytesText, sinceText, THIN, UNKNOWN } from '#kit/web/numbers.ts'
import { chip, type Judgement, type Lit } from '#kit/web/parts.ts'
import type { DiskState } from '../core/storage/disks.ts'
import type { Disk, Health } from './api.ts'
import type { When } from './camera-words.ts'
import * as texts from './texts.ts'

const DAY_MS = 86_400_000

const LIT: Readonly<Record<DiskState, Lit>> = {
  unseen: 'busy',
  here: 'ok',
  full: 'warn',
  failing: 'fault',
  stuck: 'fault',
  away: 'gone',
  foreign: 'fault',
}

/** What is wrong with disks; undefined if nothing is. */
export function judgeDisks({ disks }: Pick<Health, 'disks'>): Judgement | undefined {
  const broken = disks.filter(({ fault }) => fault !== null)
  const [first] = broken
  if (!first?.fault) return undefined
  const isRecording = disks.some(({ state }) => state === 'here')
  return {
    lit: isRecording ? 'warn' : 'fault',
    sentence: isRecording ? texts.disksAreOut(broken.length, disks.length) : texts.noDiskTakes,
    why: first.fault.message,
  }
}

/** How much can be recorded before the oldest footage goes. */
export function roomFigure({ daysLeft, roomBytes }: Health): FigureFacts {
  const [value = UNKNOWN, unit] = bytesText(roomBytes).split(THIN)
  const note =
    roomBytes === 0 ? texts.noRoom : daysLeft === null ? texts.roomNote : texts.roomLasts(age(daysLeft * DAY_MS, 1))
  return { name: texts.room, value, unit, note }
}

/** @param actOf what may be done with a disk */
export function diskTable(disks: readonly Disk[], when: When, actOf?: (disk: Disk) => Child): Child {
  const acts = actOf ? html`<th>Act</th>` : null
  return html`<div class="scroll" tabindex="0" role="group" aria-label="Disks"><table class="table days"><thead><tr><th>Folder</th><th>State</th><th>Footage</th><th>Room</th><th>Free</th>${acts}</tr></thead>
    <tbody>${disks.map(
      (
        disk,
      ) => html`<tr key=${disk.folder}><td class="mono">${disk.folder}</td><td>${chip(LIT[disk.state], texts.diskSince(disk.state, sinceText(disk.stateSince, when.nowMs, when.zone)))}</td>
        <td>${bytesText(disk.footageBytes)}</td><td>${disk.state === 'here' ? bytesText(disk.roomBytes) : UNKNOWN}</td><td>${disk.freeBytes === null || disk.sizeBytes === null ? UNKNOWN : texts.freeOf(bytesText(disk.freeBytes), bytesText(disk.sizeBytes))}</td>${actOf ? html`<td class="n">${actOf(disk)}</td>` : null}</tr>
        ${disk.fault ? html`<tr><td colspan=${actOf ? 6 : 5}>${disk.fault.message}</td></tr>` : null}`,
    )}</tbody></table></div>`
}
