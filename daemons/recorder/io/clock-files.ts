/** What the disk knows of clocks: what was written to cameras, and the zone of this machine. */
import { readFileSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import { Type } from 'typebox'
import { createReader } from '#kit/http/check.ts'
import type { Log } from '#kit/log.ts'
import { createStore } from '#kit/store/store.ts'
import type { OwnZone } from '../core/clocks/own-clock.ts'
import type { CameraWrite } from '../core/clocks/writes.ts'

const VERSION = 1 as const

const strict = { additionalProperties: false }
const writesFile = Type.Object(
  {
    version: Type.Literal(VERSION),
    writes: Type.Array(
      Type.Object(
        {
          ...{ camera: Type.String(), at: Type.Integer(), operation: Type.String() },
          performedBy: Type.Union([Type.String(), Type.Null()]),
          detail: Type.Record(Type.String(), Type.Union([Type.String(), Type.Number(), Type.Boolean(), Type.Null()])),
        },
        strict,
      ),
    ),
  },
  strict,
)

/** What was written to cameras, and saving it. @param folder the state folder */
export async function openWrites(folder: string, log: Log) {
  const initial = () => ({ version: VERSION, writes: [] as CameraWrite[] })
  const store = createStore({ folder, name: 'camera-writes', log, check: createReader(writesFile), initial })
  const { writes: records } = await store.load()
  return { records, save: (writes: CameraWrite[]) => store.save({ version: VERSION, writes }) }
}

const syncFile = Type.Object({ version: Type.Literal(VERSION), enabled: Type.Boolean() }, strict)

/** Whether clocks of cameras are corrected, and saving it. @param folder the state folder */
export async function openClockSync(folder: string, log: Log) {
  const initial = () => ({ version: VERSION, enabled: true })
  const store = createStore({ folder, name: 'clock-sync', log, check: createReader(syncFile), initial })
  const { enabled: isEnabled } = await store.load()
  return { isEnabled, save: (enabled: boolean) => store.save({ version: VERSION, enabled }) }
}

const ZONES = '/usr/share/zoneinfo'
const LOCAL_TIME = '/etc/localtime'

/**
 * @param wish IANA name that counts more than the system's; none where it is no zone, which the log says
 */
export function openOwnZone(wish: string | undefined, log: Log): OwnZone {
  const pinned = wish === undefined || wish === '' ? null : zoneNamed(wish)
  if (pinned === undefined) log.warning('SVC_TZ names no time zone: that of the system counts', { name: wish })
  // Asked each time: it may be changed while the recorder runs.
  const name = () => pinned ?? systemZone()
  return {
    ...{ name, pinned: pinned ?? null },
    /** The POSIX string stands at the end of each file of the database of zones. @source RFC 8536, 3.3 */
    posix() {
      try {
        return readFileSync(join(ZONES, name()), 'latin1').trimEnd().split('\n').at(-1)
      } catch {
        // A system without the database: zones of cameras are left alone.
        return undefined
      }
    },
  }
}

/** @returns undefined for what names no zone */
function zoneNamed(text: string): string | undefined {
  try {
    new Intl.DateTimeFormat('en', { timeZone: text })
    return text
  } catch {
    return undefined
  }
}

/** Node keeps the zone that it found at its start. */
function systemZone(): string {
  let found: string | undefined
  try {
    found = zoneNamed(readlinkSync(LOCAL_TIME).split('/zoneinfo/')[1] ?? '')
  } catch {
    // No link: what Node makes of it.
  }
  return found ?? new Intl.DateTimeFormat().resolvedOptions().timeZone
}
