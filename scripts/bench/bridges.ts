/** The bridges between TCP and a line that are measured: socat, ser2net, and the gateway's raw port. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A bridge that runs. `stop` ends it and what it left in the file system. */
export interface Bridge {
  port: number
  stop(): Promise<void>
}

/** A gateway that runs; lines are added one by one. */
export interface BenchGateway {
  /** Puts the device on a raw TCP port. @returns the port */
  addLine(device: string): Promise<number>
  stop(): Promise<void>
}

/** A TCP port that was free a moment ago. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (address === null || typeof address === 'string') throw new Error('no TCP port to be had')
  return address.port
}

async function end(child: ChildProcess): Promise<void> {
  child.kill('SIGTERM')
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
}

/**
 * socat as its manual shows it, TCP_NODELAY on. One process a client, started anew when it ends: with `fork` the
 * process of the last client would still read the line while the next is measured.
 */
export async function startSocat(device: string): Promise<Bridge> {
  const port = await freePort()
  const listen = `TCP-LISTEN:${port},bind=127.0.0.1,reuseaddr,nodelay`
  let isStopped = false
  let child = start()
  function start(): ChildProcess {
    const started = spawn('socat', ['-t0.1', listen, `${device},raw,echo=0`], { stdio: 'ignore' })
    started.once('exit', () => {
      if (!isStopped) child = start()
    })
    return started
  }
  return {
    port,
    stop() {
      isStopped = true
      return end(child)
    },
  }
}

/** ser2net with nodelay on and chardelay off: its quickest. */
export async function startSer2net(device: string): Promise<Bridge> {
  const port = await freePort()
  const folder = mkdtempSync(join(tmpdir(), 'ser2net-'))
  const config = [
    'connection: &line',
    `  accepter: tcp(nodelay=true),127.0.0.1,${port}`,
    `  connector: serialdev,${device},115200n81,local`,
    '  options:',
    '    chardelay: false',
    '',
  ]
  writeFileSync(join(folder, 'ser2net.yaml'), config.join('\n'))
  const child = spawn('ser2net', ['-n', '-c', join(folder, 'ser2net.yaml')], { stdio: 'ignore' })
  return {
    port,
    async stop() {
      await end(child)
      rmSync(folder, { recursive: true })
    },
  }
}

/** The gateway as it is installed, with a state folder of its own. */
export async function startGateway(root: string): Promise<BenchGateway> {
  const state = mkdtempSync(join(tmpdir(), 'bench-gateway-'))
  const args = ['gateway', '--config', '/dev/null', '--state', state, '--listen', '127.0.0.1:0']
  const child = spawn(join(root, 'build/plantroom'), [...args, '--set', 'ports.allow=["/dev/pts/*"]'], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const url = await urlOf(child)
  const account = { username: 'bench', password: 'only for this measurement' }
  const { token } = await call('POST', `${url}/api/setup`, account)
  return {
    async addLine(device) {
      const tcp_port = await freePort()
      const body = { protocol: 'raw', line: { baud: 115_200 }, settings: { tcp_port } }
      const port = await call('PUT', `${url}/api/ports/${encodeURIComponent(device)}`, body, token)
      if (port.state !== 'open') throw new Error(`${device} is ${port.state}: ${JSON.stringify(port.fault)}`)
      return tcp_port
    },
    async stop() {
      await end(child)
      rmSync(state, { recursive: true, force: true })
    },
  }
}

async function urlOf(child: ChildProcess): Promise<string> {
  let said = ''
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (text: Buffer) => (said += text.toString()))
  for (let waitedMs = 0; waitedMs < 20_000 && child.exitCode === null; waitedMs += 20) {
    const [, url] = /listening url=(\S+)/.exec(said) ?? []
    if (url !== undefined) return url
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  throw new Error(`the gateway did not start:\n${said}`)
}

interface Answered {
  token: string
  state: string
  fault: unknown
}

async function call(method: string, url: string, body: unknown, token?: string): Promise<Answered> {
  const headers: Record<string, string> = { 'content-type': 'application/json' }
  if (token !== undefined) headers.authorization = `Bearer ${token}`
  const response = await fetch(url, { method, headers, body: JSON.stringify(body) })
  const text = await response.text()
  if (!response.ok) throw new Error(`${method} ${url} answers ${response.status}: ${text}`)
  return JSON.parse(text)
}
