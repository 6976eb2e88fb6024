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
const PAGE_PORTS = { music: 3182, ceiling: 3183 } as const
/** Host names of the boards. */
const HOSTNAMES = { music: 'lobby-music', ceiling: 'lobby-ceiling' } as const
/** Settings for sound only, on the machine's own clock. */
const SOUND = ['audio.interface=lo', 'ptp.enabled=false']

export interface Lobby {
  music: DaemonProcess
  ceiling: DaemonProcess
  /** Group and port of the tone, as a person would type them. */
  stream: { mcast: string; port: string }
}

/** Sets up both, and routes the tone to the ceiling as the matrix does. @param stateFolder holds a folder for each */
export async function startLobby(stateFolder: string, undo: Undo): Promise<Lobby> {
  const start = async (name: keyof typeof PAGE_PORTS, sets: readonly string[]) => {
    const listen = `${LOOPBACK}:${await wantedOrFree(LOOPBACK, PAGE_PORTS[name])}`
    const folder = join(stateFolder, HOSTNAMES[name])
    const board = await startDaemon({ name: 'board', stateFolder: folder, listen, sets: [...sets, ...SOUND] })
    undo.push(() => board.stop())
    return board
  }
  const [music, ceiling] = [
    await start('music', ['board.role=encoder', 'audio.source=tone']),
    await start('ceiling', ['board.role=decoder', 'audio.sink=null']),
  ]
  const { mcast, port } = (await getJson(music.url, '/api/config')) as { mcast: string; port: number }
  const stream = { mcast, port: String(port) }
  const named = (name: string, hostname: string) => ({ name, hostname })
  await Promise.all([
    saveSettings(music.url, { ...named('Lobby music', HOSTNAMES.music), role: 'encoder', ...stream, sap: '1' }),
    saveSettings(ceiling.url, { ...named('Lobby ceiling', HOSTNAMES.ceiling), role: 'decoder' }),
  ])
  await postForm(ceiling.url, '/api/route', stream)
  await until(`the tone at ${ceiling.url}`, async () => {
    const { decoder } = (await getJson(ceiling.url, '/api/status')) as { decoder: { playing: boolean } }
    return decoder.playing
  })
  return { music, ceiling, stream }
}
