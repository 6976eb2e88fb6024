/** The board as serial server under measurement: the real command, with its ports switched on. */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '#kit/test/free-port.ts'
import { end } from './bridges.ts'
import { listeningUrl } from './listening-url.ts'

/** A running board. */
export interface BenchBoard {
  pid: number
  /** TCP port of each device, in order. */
  ports: number[]
  stop(): Promise<void>
}

/** Starts the board as installed, with its own state folder and one port per device, at most four. */
export async function startBoard(
  root: string,
  devices: readonly string[],
  modes: readonly ('raw' | 'rfc2217')[],
): Promise<BenchBoard> {
  const state = mkdtempSync(join(tmpdir(), 'bench-board-'))
  const sets = [`serial.devices=${JSON.stringify(devices)}`, 'board.role=serial', 'mdns.enabled=false']
  const args = ['board', '--config', '/dev/null', '--state', state, '--listen', '127.0.0.1:0']
  const child = spawn(join(root, 'build/plantroom'), [...args, ...sets.flatMap((set) => ['--set', set])], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const url = await listeningUrl('board', child)
  const ports: number[] = []
  for (const [index, mode] of modes.entries()) {
    const tcpPort = await freePort()
    await switchOn(url, { port: index + 1, enabled: 1, mode, tcp_port: tcpPort, baud: 115_200 })
    ports.push(tcpPort)
  }
  return {
    pid: child.pid ?? 0,
    ports,
    async stop() {
      await end(child)
      rmSync(state, { recursive: true, force: true })
    },
  }
}

async function switchOn(url: string, fields: Record<string, string | number>): Promise<void> {
  const body = new URLSearchParams(Object.entries(fields).map(([name, value]) => [name, String(value)]))
  const answer = await fetch(`${url}/api/serial`, { method: 'POST', body })
  const port = (await answer.json()) as { state: string; message?: string }
  if (port.state !== 'open') throw new Error(`port ${fields.port} is ${port.state}: ${port.message}`)
}
