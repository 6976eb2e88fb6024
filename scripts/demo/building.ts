/** The building of the demo: the controller with the sample site, and what the gateway and the boards of the demo bring. */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type DaemonProcess, startDaemon } from './daemon-process.ts'
import { drawFloorPlan } from './floor-plan.ts'
import { LOOPBACK } from './free-port.ts'
import type { Lobby } from './lobby.ts'
import type { Undo } from './undo.ts'

const PAGE_PORT = 3130

/** Accounts of the sample site: all three use the demo's common password. */
export const buildingPeople = { admin: 'admin', operator: 'operator', program: 'integrator' } as const

/** Names of the zones that the demo tells of. */
export const realZones = {
  relay: 'Lobby lights',
  ceiling: 'Lobby ceiling',
  kiosk: 'Lobby kiosk',
  source: 'Lobby music',
} as const

/** What the building drives besides its simulated devices. */
export interface Driven {
  /** URL of the gateway, the path of its healthy line, and a key that may write there. */
  gateway: { url: string; line: string; key: string }
  lobby: Lobby
}

/** Tables of a site file, each a list of rows. */
type Site = Record<string, object[]>

/** @param stateFolder holds the controller's folder */
export async function startBuilding(stateFolder: string, driven: Driven, undo: Undo): Promise<DaemonProcess> {
  const template = join(import.meta.dirname, 'templates/controller/sample-building.json')
  const folder = join(stateFolder, 'controller')
  const sample = JSON.parse(await readFile(template, 'utf8')) as Site
  const site = withRows(withRows(sample, realRows(driven)), await drawFloorPlan(folder))
  const file = join(stateFolder, 'building.json')
  // It holds the gateway's key.
  await writeFile(file, JSON.stringify(site), { mode: 0o600 })
  const listen = `${LOOPBACK}:${PAGE_PORT}`
  return await startDaemon(
    { name: 'controller', stateFolder: folder, listen, sets: [], args: ['--import', file] },
    undo,
  )
}

/** @returns the site with these rows behind its own */
function withRows(site: Site, added: Site): Site {
  const tables = new Set([...Object.keys(site), ...Object.keys(added)])
  return Object.fromEntries([...tables].map((table) => [table, [...(site[table] ?? []), ...(added[table] ?? [])]]))
}

/** Rows of the lobby and the plant room. */
function realRows({ gateway, lobby }: Driven): Site {
  const board = (name: string, { url }: DaemonProcess) => ({
    name,
    driver: 'board',
    subsystem_id: 'Sound and vision',
    transport: { kind: 'board', ...placeOf(url) },
  })
  const plant = {
    name: 'Plant room line',
    driver: 'gateway',
    subsystem_id: 'Building',
    api_key: gateway.key,
    transport: { kind: 'gateway', ...placeOf(gateway.url), line: gateway.line },
  }
  const sound = (name: string, position: number) => ({
    name,
    type: 'audio',
    device_id: name,
    zone_group_id: 'Lobby',
    subsystem_id: 'Sound and vision',
    position,
  })
  const points = (name: string, address: string, rest: object) => ({
    name,
    address,
    device_id: plant.name,
    subsystem_id: 'Building',
    ...rest,
  })
  const { relay, ceiling, kiosk, source } = realZones
  return {
    zone_group: [{ name: 'Lobby', parent_id: 'Ground floor', position: 0 }],
    device: [plant, board(source, lobby.music), board(ceiling, lobby.ceiling), board(kiosk, lobby.kiosk)],
    zone: [
      sound(ceiling, 1),
      sound(kiosk, 2),
      points(relay, 'Lights relay 1', { type: 'relay', zone_group_id: 'Lobby', position: 3 }),
      points('Lobby sign', 'Lights relay 2', { type: 'relay', zone_group_id: 'Lobby', position: 4 }),
      points('Lobby climate', 'temperature=Office temperature;humidity=Office humidity', {
        type: 'climate sensor',
        zone_group_id: 'Lobby',
        position: 5,
      }),
      points('Meter volts', 'Plant room voltage', {
        type: 'meter',
        zone_group_id: 'Plant room',
        position: 10,
        unit: 'V',
      }),
      points('Meter watts', 'Plant room active power', {
        type: 'meter',
        zone_group_id: 'Plant room',
        position: 11,
        unit: 'W',
      }),
    ],
    av_source: [
      {
        name: source,
        device_id: source,
        position: 4,
        stream: { mcast: lobby.stream.mcast, port: Number(lobby.stream.port) },
      },
    ],
    av_zone: [
      { name: ceiling, zone_id: ceiling, device_id: ceiling, max_volume: 70, default_volume: 40 },
      { name: kiosk, zone_id: kiosk, device_id: kiosk, max_volume: 60, default_volume: 30 },
    ],
  }
}

function placeOf(url: string): { host: string; port: number } {
  const { hostname, port } = new URL(url)
  return { host: hostname, port: Number(port) }
}
