/** The load on HTTP servers (http-bench.cc), and nginx, which they are compared with. */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as wait } from 'node:timers/promises'
import { freePort } from '#kit/test/free-port.ts'
import { end, isThere } from './bridges.ts'
import { compileHarness } from './line-harness.ts'

/** What came of a command. Times in milliseconds, from when a request was due to its whole answer. */
export interface Loaded {
  seconds: number
  answered: number
  /** Answers other than 200. */
  refused: number
  /** Connections that ended without an answer. */
  failed: number
  bytes: number
  p50: number
  p99: number
  max: number
}

export interface HttpLoad {
  /** Sends one command (see the program); throws if the program refuses it. */
  run(command: string): Promise<Loaded>
  stop(): void
}

export function startLoad(root: string): HttpLoad {
  const child = spawn(compileHarness(root, 'http-bench'), { stdio: ['pipe', 'pipe', 'inherit'] })
  const output = createInterface(child.stdout)[Symbol.asyncIterator]()
  return {
    async run(command) {
      child.stdin.write(`${command}\n`)
      const { value = '{"error":"it has ended"}' } = await output.next()
      const loaded = JSON.parse(value)
      if (loaded.error) throw new Error(`http-bench ${command}: ${loaded.error}`)
      return loaded
    },
    stop: () => child.stdin.end(),
  }
}

/** A running nginx of one process. */
export interface Nginx {
  port: number
  pid: number
  stop(): Promise<void>
}

/**
 * Debian's nginx, as installed or $NGINX_PROGRAM, in the foreground and with no files but those of its own folder.
 * @param locations of its only server
 * @returns undefined if it is not installed, which is said
 */
export async function startNginx(locations: string): Promise<Nginx | undefined> {
  const program = process.env.NGINX_PROGRAM ?? '/usr/sbin/nginx'
  if (!isThere(program)) return undefined
  const [port, folder] = [await freePort(), mkdtempSync(join(tmpdir(), 'bench-nginx-'))]
  writeFileSync(join(folder, 'nginx.conf'), nginxConfig(folder, port, locations))
  const child = spawn(program, ['-p', folder, '-c', join(folder, 'nginx.conf'), '-e', 'stderr'], { stdio: 'inherit' })
  await untilListening(port)
  return {
    port,
    pid: child.pid ?? 0,
    async stop() {
      await end(child)
      rmSync(folder, { recursive: true })
    },
  }
}

function nginxConfig(folder: string, port: number, locations: string): string {
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  return `daemon off; master_process off; pid ${folder}/pid; error_log stderr;
events { worker_connections 4096; }
http {
  access_log off; sendfile on; keepalive_requests 1000000000; client_max_body_size 0;
  ${paths.map((name) => `${name}_temp_path ${folder}/${name};`).join(' ')}
  server { listen 127.0.0.1:${port}; ${locations} }
}
`
}

const START_MS = 20_000
const STEP_MS = 20

async function untilListening(port: number): Promise<void> {
  for (let waitedMs = 0; waitedMs < START_MS; waitedMs += STEP_MS) {
    const isOpen = await new Promise((resolve) => {
      const socket = connect(port, '127.0.0.1', () => resolve(true)).on('error', () => resolve(false))
      socket.once('connect', () => socket.destroy())
    })
    if (isOpen) return
    await wait(STEP_MS)
  }
  throw new Error('nginx did not start')
}
