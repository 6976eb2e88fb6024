/**
 * Two boards of the demo that carry sound on loopback, without sound card and PTP: one sends a tone, the other plays
 * it.
 */
import { join } from 'node:path'
import { getJson, postForm, saveSettings, until } from './board-client.ts'
import { type DaemonProcess, startDaemon } from './daemon-process.ts'
import { LOOPBACK, wantedOrFree } from './free-port.ts'
import type { Undo } from './undo.ts'

/** After the ports of the other boards. */
const PAGE_PORTS = { music: 3182, ceiling: 3183, kiosk: 3184 } as const
/** Host names of the boards. */
const HOSTNAMES = { music: 'lobby-music', ceiling: 'lobby-ceiling', kiosk: 'lobby-kiosk' } as const
/** Settings for sound only, on the machine's own clock. */
const SOUND = ['audio.interface=lo', 'ptp.enabled=false']

export interface Lobby {
  music: DaemonProcess
  ceiling: DaemonProcess
  /** Plays nothing until it is told to. */
  kiosk: DaemonProcess
  /** Group and port of the tone, as a person would type them. */
  stream: { mcast: string; port: string }
}

/** Sets up all three, and routes the tone to the ceiling as the matrix does. @param stateFolder holds a folder for each */
export async function startLobby(stateFolder: string, undo: Undo): Promise<Lobby> {
  const start = async (name: keyof typeof PAGE_PORTS, port: number, sets: readonly string[]) => {
    const listen = `${LOOPBACK}:${port}`
    const folder = join(stateFolder, HOSTNAMES[name])
    const board = await startDaemon({ name: 'board', stateFolder: folder, listen, sets: [...sets, ...SOUND] })
    undo.push(() => board.stop())
    return board
  }
  const decoder = ['board.role=decoder', 'audio.sink=null']
  const portOf = (name: keyof typeof PAGE_PORTS) => wantedOrFree(LOOPBACK, PAGE_PORTS[name])
  const [music, ceiling, kiosk] = await Promise.all([
    start('music', await portOf('music'), ['board.role=encoder', 'audio.source=tone']),
    start('ceiling', await portOf('ceiling'), decoder),
    start('kiosk', await portOf('kiosk'), decoder),
  ])
  const { mcast, port } = (await getJson(music.url, '/api/config')) as { mcast: string; port: number }
  const stream = { mcast, port: String(port) }
  const named = (name: string, hostname: string) => ({ name, hostname })
  await Promise.all([
    saveSettings(music.url, { ...named('Lobby music', HOSTNAMES.music), role: 'encoder', ...stream, sap: '1' }),
    saveSettings(ceiling.url, { ...named('Lobby ceiling', HOSTNAMES.ceiling), role: 'decoder' }),
    saveSettings(kiosk.url, { ...named('Lobby kiosk', HOSTNAMES.kiosk), role: 'decoder' }),
  ])
  await postForm(ceiling.url, '/api/route', stream)
  await postForm(kiosk.url, '/api/route', { mcast: '' })
  // Below the limit of their zones.
  for (const { url } of [ceiling, kiosk]) await postForm(url, '/api/volume', { volume: '40' })
  await until(`the tone at ${ceiling.url}`, async () => {
    const { decoder } = (await getJson(ceiling.url, '/api/status')) as { decoder: { playing: boolean } }
    return decoder.playing
  })
  return { music, ceiling, kiosk, stream }
}
