/** What the pages know of this board: told by the feed every second, asked for where the feed is down. */
import { signal } from '@preact/signals'
import { lose } from '#kit/web/contact.ts'
import { createLevels, type ToldLevels } from '#kit/web/levels.ts'
import { aheadMs } from '#kit/web/now.ts'
import type { PlateFacts } from '#kit/web/shell.ts'
import { keepSocket } from '#kit/web/socket.ts'
import { api, type Status } from './api.ts'
import { noticeStart } from './restart.ts'
import { roleTitles } from './words.ts'

/** How often it is made sure that there is contact. */
export const LOOK_MS = 2000
/** A feed that was silent for longer is not trusted: it tells something every second. */
const TRUSTED_MS = 2500

/** The board as it was last told; null until the first answer. */
export const status = signal<Status | null>(null)
/** True from the first step of the first run to the last, also when the board knows its name already. */
export const isSettingUp = signal(false)

/** How loud it is, in a role with sound. */
export const levels = createLevels()

let heardAtMs = 0

/** Listens as long as the page lives. */
export function startFeed(): void {
  keepSocket({
    begin() {},
    hear(message) {
      const told = message as { type: 'status'; status: Status } | { type: 'meters'; meters: ToldLevels }
      if (told.type === 'meters') levels.hear(told.meters, performance.now())
      if (told.type !== 'status') return
      heardAtMs = Date.now()
      take(told.status)
    },
    end() {
      heardAtMs = 0
      lose()
    },
  })
}

/** One look. @throws NoContact, CallFault when the board did not answer, or not with how it is */
export async function look(): Promise<void> {
  if (Date.now() - heardAtMs < TRUSTED_MS) return
  take(await api.status())
}

/** Asks at once, after the hand changed something. */
export async function lookNow(): Promise<void> {
  heardAtMs = 0
  await look().catch(() => {})
}

function take(told: Status): void {
  aheadMs.value = Date.now() - told.time.now
  status.value = told
  noticeStart(told.started_at)
}

/** What the name plate says. */
export function plateFacts(): PlateFacts {
  const known = status.value
  const name = known?.name || known?.hostname || location.hostname
  return { role: known ? roleTitles[known.role] : 'Board', box: 'board', name, address: location.host }
}
