/**
 * A driver for an invented amplifier that shows the use of the driver interface. The device speaks lines of ASCII: it
 * answers `VOL=40` with `OK`, and sends `VOL 40` by itself whenever somebody turns the knob. Over HTTP: `GET /volume`,
 * `PUT /volume`.
 */
import {
  type ConnectionPlace,
  type DeviceAnswer,
  type Driver,
  type DriverCommand,
  type DriverContext,
  type DriverSession,
  type Framing,
  tcpPlaceOf,
} from '../../../core/drivers/driver.ts'
import type { Row } from '../../../core/site/book.ts'

const FRAMING: Framing = { mode: 'delimiter', delimiter: new TextEncoder().encode('\r\n') }

const bytesOf = (text: string) => new TextEncoder().encode(text)
const textOf = (bytes: Uint8Array) => new TextDecoder().decode(bytes).trimEnd()

/** @param framing of its lines, if not the default */
export function createToyDriver(framing = FRAMING): Driver {
  return {
    name: 'toy',
    reads: () => ({ transport: ['host', 'port', 'line'], config: [], polls: true }),
    open(device, zones, context) {
      const { kind } = device.transport as { kind: string }
      return kind === 'http' ? asked(device, zones, context) : heard(device, zones, context, framing)
    },
  }
}

/** @returns whether the line contains a volume */
function report(line: string, zones: readonly Row[], context: DriverContext): boolean {
  const volume = /^VOL (\d{1,3})$/.exec(line)?.[1]
  if (volume === undefined) return false
  context.online(true)
  for (const { id } of zones) context.report({ zoneId: id }, { volume: Number(volume) })
  return true
}

async function heard(
  device: Row,
  zones: readonly Row[],
  context: DriverContext,
  framing: Framing,
): Promise<DriverSession> {
  const connection = await context.connect(connectionPlaceOf(device, context, framing), (frame) =>
    report(textOf(frame), zones, context),
  )
  return {
    async execute({ args }: DriverCommand, signal) {
      const answer = await connection.ask(
        bytesOf(`VOL=${args.volume}\r\n`),
        (frame) => /^(OK|NO)/.test(textOf(frame)),
        signal,
      )
      if (textOf(answer) !== 'OK') throw new Error(`it says ${textOf(answer)}`)
      return {}
    },
    poll: (signal) => connection.send(bytesOf('VOL?\r\n'), signal),
    async close() {},
  }
}

function connectionPlaceOf(device: Row, context: DriverContext, framing: Framing): ConnectionPlace {
  const place = tcpPlaceOf(device)
  const { kind, line = '' } = device.transport as { kind: string; line?: string }
  if (kind === 'udp') return { kind, ...place }
  if (kind === 'gateway') return { kind, ...place, line, key: context.secret('api_key') ?? '', framing }
  return { kind: 'tcp', ...place, framing }
}

async function asked(device: Row, zones: readonly Row[], context: DriverContext): Promise<DriverSession> {
  const place = { ...tcpPlaceOf(device), path: '/volume' }
  const whole = ({ status, body }: DeviceAnswer) => {
    if (status !== 200) throw new Error(`it answers ${status}`)
    return textOf(body)
  }
  return {
    async execute({ args }, signal) {
      whole(await context.request({ ...place, method: 'PUT', body: bytesOf(`${args.volume}`) }, signal))
      return {}
    },
    async poll(signal) {
      report(whole(await context.request({ ...place, method: 'GET' }, signal)), zones, context)
    },
    async close() {},
  }
}
