/**
 * Two boards of the demo that carry sound on loopback, without sound card and PTP: one sends a tone, the other plays
 * it.
 */
import { getJson, postForm, startBoard, until } from './board-client.ts'
import type { DaemonProcess } from './daemon-process.ts'
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
  const start = (at: keyof typeof PAGE_PORTS, name: string, sets: readonly string[]) => {
    const role = at === 'music' ? ('encoder' as const) : ('decoder' as const)
    const settings = { name, hostname: HOSTNAMES[at], role }
    return startBoard(
      { stateFolder, settings, pagePort: PAGE_PORTS[at], sets: [`board.role=${role}`, ...sets, ...SOUND] },
      undo,
    )
  }
  const silent = ['audio.sink=null']
  const [music, ceiling, kiosk] = await Promise.all([
    start('music', 'Lobby music', ['audio.source=tone']),
    start('ceiling', 'Lobby ceiling', silent),
    start('kiosk', 'Lobby kiosk', silent),
  ])
  const { mcast, port } = (await getJson(music.url, '/api/config')) as { mcast: string; port: number }
  const stream = { mcast, port: String(port) }
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
