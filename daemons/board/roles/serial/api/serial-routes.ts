/** Routes of the serial server: its ports, their settings, dropping clients; and its Prometheus metrics. */
import { Type } from 'typebox'
import type { Metrics, Sample } from '#kit/http/metrics.ts'
import { type Route, route } from '#kit/http/route.ts'
import type { Recorder } from '#kit/records/records.ts'
import { droppedAnswer, serialAnswer, serialPortAnswer } from '../../../api/answers.ts'
import { MOST_PORTS, type Setting } from '../../../core/settings/setting.ts'
import type { SerialPorts } from '../core/serial-ports.ts'

/** A device behind a port, as io finds it. */
interface Device {
  port: number
  path: string
  found: boolean
}

interface SerialRouteParts {
  ports: SerialPorts
  settings: readonly Setting[]
  recorder: Recorder
  devices(): Promise<readonly Device[]>
}

const portNumber = Type.Integer({ minimum: 1, maximum: MOST_PORTS, description: 'which port' })

export function serialRoutes({ ports, settings, recorder, devices }: SerialRouteParts): Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/serial',
      who: 'admin',
      reply: serialAnswer,
      summary: 'The adapter, and of each port settings, state, clients and counters',
      async handle() {
        const found = await devices()
        return { adapter: { devices: found, text: adapterText(found) }, ports: ports.views() }
      },
    }),
    changeRoute({ ports, settings, recorder }),
    route({
      method: 'POST',
      path: '/api/serial/drop',
      who: 'admin',
      reply: droppedAnswer,
      summary: 'Ends the connection of one client',
      body: Type.Object(
        { port: portNumber, client: Type.Integer({ minimum: 1, description: 'id of the client' }) },
        { additionalProperties: false },
      ),
      async handle(ask) {
        const { port, client } = ask.body
        const { address, client_port } = ports.drop(port, client)
        await recorder.changed(ask, 'serial client dropped', `port ${port}`, { client, address, client_port })
        return { dropped: client }
      },
    }),
  ]
}

function changeRoute({ ports, settings, recorder }: Omit<SerialRouteParts, 'devices'>): Route {
  const fields = settings.map(({ name, meaning }) => [name, Type.Optional(Type.String({ description: meaning }))])
  return route({
    method: 'POST',
    path: '/api/serial',
    who: 'admin',
    reply: serialPortAnswer,
    summary: 'Changes settings of one port: applied at once and saved; what is absent stays',
    // Accepts any text, so that core can report all faults at once, in its own words.
    body: Type.Object(
      { port: portNumber, ...(Object.fromEntries(fields) as Record<string, never>) },
      { additionalProperties: Type.String() },
    ),
    async handle(ask) {
      const { port, ...given } = ask.body as { port: number } & Record<string, string>
      const { view, changed } = await ports.change(port, given)
      const now = Object.fromEntries(changed.map((name) => [name, view[name as keyof typeof view]]))
      await recorder.changed(ask, 'serial port set', `port ${port}`, now)
      return view
    },
  })
}

function adapterText(devices: readonly Device[]): string {
  if (devices.length === 0) return 'No serial device is named. Name up to four in the settings.'
  const missing = devices.filter(({ found }) => !found)
  if (missing.length === 0) return devices.length === 1 ? 'The device is there.' : 'All devices are there.'
  const names = missing.map(({ path, port }) => `${path} (port ${port})`).join(', ')
  return `${names} ${missing.length === 1 ? 'is' : 'are'} not there.`
}

// Metrics.

/** @param metrics gets gauges of open lines and connected clients, and the counters of every port, by kind */
export function measureSerial(metrics: Metrics, ports: SerialPorts): void {
  metrics.gauge({ name: 'serial_port_open', help: '1 while the line is open', labels: ['port'] }, () =>
    ports.all.map(({ port, state }) => ({ labels: { port }, value: state === 'open' ? 1 : 0 })),
  )
  metrics.gauge({ name: 'serial_port_clients', help: 'TCP clients connected', labels: ['port'] }, () =>
    ports.all.map(({ port, clientCount }) => ({ labels: { port }, value: clientCount })),
  )
  metrics.counts(
    {
      name: 'serial_port_events_total',
      help: 'bytes, clients and faults of a line, by kind',
      labels: ['port', 'kind'],
    },
    () => ports.views().flatMap(({ port, counters }) => samplesOf(port, { ...counters })),
  )
}

/** Leaves out what the driver does not count. */
function samplesOf(port: number, counters: Readonly<Record<string, number | null>>): Sample[] {
  return Object.entries(counters).flatMap(([kind, value]) =>
    value === null || kind === 'clients' ? [] : [{ labels: { port, kind }, value }],
  )
}
