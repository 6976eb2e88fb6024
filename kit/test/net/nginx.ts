/** A real nginx, Debian's, for tests and benchmarks: one process in the foreground, with files in its own folder alone. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../free-port.ts'
import { until } from '../until.ts'

/** As installed, or $NGINX_PROGRAM: nginx itself reads $NGINX. */
export const NGINX = process.env.NGINX_PROGRAM ?? '/usr/sbin/nginx'
export const hasNginx = existsSync(NGINX)

export interface Nginx {
  url: string
  port: number
  pid: number
  /** May be called twice. */
  stop(): Promise<void>
}

/** @param locations of its only server, on a free port of 127.0.0.1 */
export async function startNginx(locations: string): Promise<Nginx> {
  const [port, folder] = [await freePort(), mkdtempSync(join(tmpdir(), 'nginx-'))]
  const file = join(folder, 'nginx.conf')
  writeFileSync(file, configOf(folder, port, locations))
  const child = spawn(NGINX, ['-p', folder, '-c', file, '-e', 'stderr'], { stdio: ['ignore', 'inherit', 'inherit'] })
  const ended = once(child, 'exit')
  await until('nginx listens', () => isOpen(port))
  return {
    ...{ url: `http://127.0.0.1:${port}`, port, pid: child.pid ?? 0 },
    async stop() {
      child.kill('SIGTERM')
      await ended
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function configOf(folder: string, port: number, locations: string): string {
  const own = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  return `daemon off; master_process off; pid ${folder}/pid; error_log stderr;
events { worker_connections 4096; }
http {
  access_log off; sendfile on; keepalive_requests 1000000000; client_max_body_size 0;
  ${own.map((name) => `${name}_temp_path ${folder}/${name};`).join(' ')}
  server { listen 127.0.0.1:${port}; ${locations} }
}
`
}

function isOpen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => resolve(true)).on('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })
}
