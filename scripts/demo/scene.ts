/** Everything in the demo: simulated lines, daemons, and their setup. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type ApiClient, portPath, setUpGateway } from './api-client.ts'
import { meet } from './board-client.ts'
import { type DemoBoards, startBoards } from './boards.ts'
import { startBuilding } from './building.ts'
import { startRecorder } from './cameras.ts'
import { type DaemonProcess, startDaemon } from './daemon-process.ts'
import { LOOPBACK, wantedOrFree } from './free-port.ts'
import {
  cellarUnits,
  type DemoUnit,
  flatPoints,
  meterUnits,
  startCellar,
  startFlats,
  startMeters,
  startStation,
  startTrunk,
} from './lines.ts'
import { type Lobby, startLobby } from './lobby.ts'
import { NAMED_LINES, type NamedLine, openNamedLine } from './named-line.ts'
import { startScale } from './scale.ts'
import { openSink } from './sink.ts'
import type { Undo } from './undo.ts'

/** Both use the same password, as do the people of the building. */
export const demoLogin = { admin: 'admin', viewer: 'viewer', password: 'plantroom' } as const

/** The usual Modbus TCP port, 502, needs root. */
const MODBUS_TCP_PORT = 1502

export interface Scene {
  gateway: DaemonProcess
  building: DaemonProcess
  recorder: DaemonProcess
  boards: DemoBoards
  lobby: Lobby
  meters: string
  cellar: string
  flats: string
  scale: string
  trunk: string
  station: string
  /** Modbus TCP of the meters. */
  tcpPort: number
  /** Key of a viewer, for the meters only. */
  apiKey: string
}

/** @param listen HOST:PORT of the gateway; a taken port is replaced by a free one */
export async function buildScene(listen: string, undo: Undo): Promise<Scene> {
  const stateFolder = await mkdtemp(join(tmpdir(), 'plantroom-demo-'))
  undo.push(() => rm(stateFolder, { recursive: true, force: true }))
  const meters = opened('meters', undo)
  undo.push(startMeters(meters))
  const cellar = opened('cellar', undo)
  undo.push(startCellar(cellar))
  const flats = opened('flats', undo)
  undo.push(startFlats(flats))
  const scale = opened('scale', undo)
  undo.push(startScale(scale))
  const trunk = opened('trunk', undo)
  undo.push(startTrunk(trunk))
  const station = opened('station', undo)
  undo.push(startStation(station))
  const sink = await openSink()
  undo.push(() => sink.close())
  const tcpPort = await wantedOrFree(LOOPBACK, MODBUS_TCP_PORT)
  const sets = [
    `ports.allow=["${NAMED_LINES}", "/dev/ttyUSB*", "/dev/ttyACM*", "/dev/serial/by-id/*"]`,
    `modbus_tcp.host=${LOOPBACK}`,
  ]
  const gateway = await startDaemon({ name: 'gateway', stateFolder: join(stateFolder, 'gateway'), listen, sets }, undo)

  const login = { username: demoLogin.admin, password: demoLogin.password }
  const api = await setUpGateway(gateway.url, login)
  await setUpBus(api, { path: meters.path, settings: { tcp_port: tcpPort, response_timeout_ms: 2000 } }, meterUnits)
  await setUpBus(api, { path: cellar.path, settings: {} }, cellarUnits)
  await setUpFlats(api, flats.path)
  await setUpScale(api, scale.path, sink.url)
  await api.call('PUT', portPath(trunk.path), {
    protocol: 'bacnet-mstp',
    line: { baud: 38_400 },
    settings: { mac: 1, max_master: 16, frames: 'data' },
  })
  await setUpStation(api, station.path)
  const apiKey = await letOthersIn(api, meters.path)
  const key = await keyOf(api, { name: 'building', role: 'admin', ports: [meters.path] })
  const [boards, lobby] = await Promise.all([startBoards(stateFolder, undo), startLobby(stateFolder, undo)])
  const driven = { gateway: { url: gateway.url, line: meters.path, key }, lobby }
  const all = [boards.till, boards.counter, lobby.music, lobby.ceiling, lobby.kiosk]
  const [building, recorder] = await Promise.all([
    startBuilding(stateFolder, driven, undo),
    startRecorder(stateFolder, login, undo),
    meet(all.map(({ url }) => url)),
  ])
  const lines = {
    meters: meters.path,
    cellar: cellar.path,
    flats: flats.path,
    scale: scale.path,
    trunk: trunk.path,
    station: station.path,
  }
  return { gateway, building, recorder, boards, lobby, ...lines, tcpPort, apiKey }
}

function opened(name: string, undo: Undo): NamedLine {
  const line = openNamedLine(name)
  undo.push(() => line.close())
  return line
}

async function setUpBus(
  { call }: ApiClient,
  { path, settings }: { path: string; settings: object },
  units: readonly DemoUnit[],
): Promise<void> {
  await call('PUT', portPath(path), { protocol: 'modbus-rtu', settings })
  for (const unit of units) await call('POST', portPath(path, '/points'), unit)
}

async function setUpFlats({ call }: ApiClient, path: string): Promise<void> {
  // A real line has even parity; a pty has none.
  await call('PUT', portPath(path), { protocol: 'mbus', line: { baud: 2400 } })
  await call('PUT', portPath(path, '/points'), { points: flatPoints })
}

async function setUpStation({ call }: ApiClient, path: string): Promise<void> {
  await call('PUT', portPath(path), { protocol: 'dnp3', settings: { points: { binary: 4, analog: 4, counter: 2 } } })
  const points = [
    { kind: 'binary', index: 0, value: true },
    { kind: 'binary', index: 1, value: false },
    { kind: 'analog', index: 0, value: 231.4 },
    { kind: 'analog', index: 1, value: 21.5, flags: ['comm_lost'] },
    { kind: 'counter', index: 0, value: 48_213 },
  ]
  for (const point of points) await call('POST', portPath(path, '/rest/set-point'), point)
}

async function setUpScale({ call }: ApiClient, path: string, webhookUrl: string): Promise<void> {
  const framing = { framing: 'delimiter', delimiter_hex: '0D 0A' }
  await call('PUT', portPath(path), { protocol: 'raw', settings: framing })
  await call('POST', portPath(path, '/webhooks'), { url: webhookUrl, events: ['frame'], secret: 'demo secret' })
}

/** Creates a viewer, and a key for a program that reads the meters. @returns the key */
async function letOthersIn(api: ApiClient, metersPath: string): Promise<string> {
  await api.call('POST', '/api/users', { username: demoLogin.viewer, password: demoLogin.password, role: 'viewer' })
  return await keyOf(api, { name: 'energy report', role: 'viewer', ports: [metersPath] })
}

async function keyOf({ call }: ApiClient, wish: { name: string; role: string; ports: string[] }): Promise<string> {
  return ((await call('POST', '/api/keys', wish)) as { key: string }).key
}
