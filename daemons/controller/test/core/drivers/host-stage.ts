/** A host with a driver whose every step the test decides. */
import { fakeClock } from '#kit/clock-fake.ts'
import type { Ack, Driver, DriverCommand, DriverContext, DriverSession } from '../../../core/drivers/driver.ts'
import { Drivers, type HostLimits } from '../../../core/drivers/host.ts'
import type { Json } from '../../../core/json.ts'
import { LiveState } from '../../../core/live/live-book.ts'
import type { Row } from '../../../core/site/book.ts'
import { bookOf } from '../site/book-of.ts'

export const LIMITS: HostLimits = {
  queue: 4,
  waiters: 3,
  waitMs: 10_000,
  openMs: 10_000,
  closeMs: 2000,
  deadlineMs: 5000,
  graceMs: 1000,
  retryFirstMs: 1000,
  retryMaxMs: 60_000,
  pollMinMs: 100,
  answerChars: 100,
  opening: 2,
  commandChars: 65_536,
  webhooksPerS: 4,
}

/** For a world with real sockets. */
export const WORLD_LIMITS = {
  connectMs: 2000,
  keepMs: 1000,
  logEveryMs: 1000,
  unsent: 64,
  unsentBytes: 65_536,
  heardDevices: 8,
  frameBytes: 256,
  heardBytes: 65_536,
  heardInAll: 1_048_576,
  keptBytes: 1_048_576,
  httpBytes: 4096,
  messageBytes: 4096,
  pingMs: 1000,
  mqttBytes: 65_536,
  mqttTopics: 64,
  mqttTopicsInAll: 128,
}

/** One command in progress. */
export interface UnderWay {
  text: string
  signal: AbortSignal
  resolve(ack?: Ack): void
  reject(error: Error): void
}

/** Calls of a device's driver. */
export interface Far {
  context: DriverContext
  device: Row
  isClosed: boolean
}

export interface StageForm {
  devices?: readonly Record<string, unknown>[]
  zones?: readonly Record<string, unknown>[]
  limits?: Partial<HostLimits>
  chance?: () => number
  /** Replaces an opening that succeeds at once. */
  open?: (device: Row, context: DriverContext) => Promise<Partial<DriverSession>>
}

/** Device 1 with zones 1 and 2. `underWay` has the commands that the driver is executing, in order. */
export function hostStage({ devices, zones, limits, chance = () => 0, open }: StageForm = {}) {
  const clock = fakeClock()
  const book = bookOf({
    device: devices ?? [{ id: 1, driver: 'fake' }],
    zone: zones ?? [
      { id: 1, device_id: 1 },
      { id: 2, device_id: 1 },
    ],
  })
  const live = new LiveState(clock, { fields: 16, fieldChars: 256, totalChars: 65_536 })
  const underWay: UnderWay[] = []
  const opened: Far[] = []
  const worlds = { open: 0, said: [] as string[] }
  const driver: Driver = {
    name: 'fake',
    async open(device, _zones, context) {
      const far: Far = { context, device, isClosed: false }
      opened.push(far)
      const more = (await open?.(device, context)) ?? {}
      return {
        execute: (command, signal) =>
          new Promise((resolve, reject) => {
            underWay.push({ text: textOf(command), signal, resolve: (ack = {}) => resolve(ack), reject })
          }),
        async close() {
          far.isClosed = true
        },
        ...more,
      }
    },
  }
  const world = {
    clock,
    chance,
    open() {
      worlds.open++
      return {
        log: (sentence: string) => void worlds.said.push(sentence),
        hush: () => {},
        sender: () => ({ async send() {} }),
        connect: () => Promise.reject(new Error('there is nothing to connect to')),
        request: () => Promise.reject(new Error('there is nothing to ask')),
        connectBroker: () => Promise.reject(new Error('there is no broker')),
        close: () => void worlds.open--,
      }
    },
  }
  const host = new Drivers({ book, live, world, drivers: [driver], limits: { ...LIMITS, ...limits } })

  /** Sends a command; `came` is its result. */
  function ask(text: string, args: Record<string, Json> = {}, deviceId = 1) {
    const [zoneId, verb = ''] = text.split(' ')
    const zone = zoneId === 'whole' ? undefined : (book.row('zone', Number(zoneId)) as Row)
    const asked: { came?: unknown } = {}
    host.execute(deviceId, { zone, verb, args }).then(
      (ack) => {
        asked.came = ack
      },
      (error) => {
        asked.came = error.code === undefined ? error : `${error.code}: ${error.message}`
      },
    )
    return asked
  }
  return { clock, book, live, host, underWay, opened, worlds, ask }
}

function textOf({ zone, verb, args }: DriverCommand): string {
  return `${zone?.id ?? 'whole'} ${verb} ${JSON.stringify(args)}`
}
