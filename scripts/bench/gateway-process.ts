/** The gateway being measured: the real command, set up, with lines added one by one. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import WebSocket from 'ws'
import { freePort } from '#kit/test/free-port.ts'
import { end } from './bridges.ts'
import { cpuSecondsOf } from './figures.ts'
import { listeningUrl } from './listening-url.ts'

/** A running gateway. */
export interface BenchGateway {
  /** Opens the device on a TCP port. @param body protocol and settings of the port without `tcp_port`; default: raw */
  addLine(device: string, body?: { protocol: string; settings: object }): Promise<number>
  /** Opens the device as a node of an MS/TP ring. */
  addRing(device: string, settings: object): Promise<void>
  /** Who may ask it, and where. */
  reader(): { url: string; token: string }
  counters(device: string): Promise<Record<string, number>>
  /** Replaces the line's webhooks. */
  setWebhooks(device: string, urls: readonly string[]): Promise<void>
  /** Counters of each webhook. */
  webhookCounters(device: string): Promise<Record<string, number>[]>
  /** Subscribes to every frame. @returns the number received so far */
  listen(): Promise<() => number>
  /** Processor time used, all threads. */
  cpuSeconds(): number
  stop(): Promise<void>
}

/** Starts the gateway as installed, with its own state folder. @param more further arguments of the command */
export async function startGateway(root: string, more: readonly string[] = []): Promise<BenchGateway> {
  const state = mkdtempSync(join(tmpdir(), 'bench-gateway-'))
  const args = ['gateway', '--config', '/dev/null', '--state', state, '--listen', '127.0.0.1:0']
  const child = spawn(join(root, 'build/plantroom'), [...args, '--set', 'ports.allow=["/dev/pts/*"]', ...more], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const url = await listeningUrl('gateway', child)
  const account = { username: 'bench', password: 'only for this measurement' }
  const { token } = await call('POST', `${url}/api/setup`, { body: account })
  const portUrl = (device: string) => `${url}/api/ports/${encodeURIComponent(device)}`
  const sockets: WebSocket[] = []
  return {
    async addLine(device, { protocol, settings } = { protocol: 'raw', settings: {} }) {
      const tcp_port = await freePort()
      const body = { protocol, line: { baud: 115_200 }, settings: { ...settings, tcp_port } }
      const port = await call('PUT', portUrl(device), { body, token })
      if (port.state !== 'open') throw new Error(`${device} is ${port.state}: ${JSON.stringify(port.fault)}`)
      return tcp_port
    },
    async addRing(device, settings) {
      const body = { protocol: 'bacnet-mstp', line: { baud: 76_800 }, settings }
      const port = await call('PUT', portUrl(device), { body, token })
      if (port.state !== 'open') throw new Error(`${device} is ${port.state}: ${JSON.stringify(port.fault)}`)
    },
    reader: () => ({ url, token: String(token) }),
    counters: async (device) => (await call('GET', portUrl(device), { token })).counters,
    async setWebhooks(device, urls) {
      const hooks = `${portUrl(device)}/webhooks`
      for (const { id } of await call('GET', hooks, { token })) await call('DELETE', `${hooks}/${id}`, { token })
      for (const url of urls) await call('POST', hooks, { body: { url }, token })
    },
    async webhookCounters(device) {
      const hooks = await call('GET', `${portUrl(device)}/webhooks`, { token })
      return hooks.map(({ counters }: { counters: Record<string, number> }) => counters)
    },
    async listen() {
      let heard = 0
      const socket = new WebSocket(`${url.replace('http', 'ws')}/ws`, { headers: { authorization: `Bearer ${token}` } })
      sockets.push(socket)
      await once(socket, 'open')
      socket.on('message', () => heard++)
      socket.send(JSON.stringify({ type: 'subscribe', events: ['frame'] }))
      return () => heard
    },
    cpuSeconds: () => cpuSecondsOf(child.pid ?? 0),
    async stop() {
      for (const socket of sockets) socket.terminate()
      await end(child)
      rmSync(state, { recursive: true, force: true })
    },
  }
}

// biome-ignore lint/suspicious/noExplicitAny: an answer is what a bench looks into
async function call(method: string, url: string, given: { body?: object; token?: string }): Promise<any> {
  const { body, token } = given
  const headers: Record<string, string> = body ? { 'content-type': 'application/json' } : {}
  if (token !== undefined) headers.authorization = `Bearer ${token}`
  const response = await fetch(url, { method, headers, ...(body && { body: JSON.stringify(body) }) })
  const text = await response.text()
  if (!response.ok) throw new Error(`${method} ${url} answers ${response.status}: ${text}`)
  return text === '' ? undefined : JSON.parse(text)
}
