/** A PostgreSQL server of Debian's for tests: in a folder of its own, for its own user, ended by its process id. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, globSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '#kit/test/free-port.ts'
import type { Owner } from '#kit/test/running-daemon.ts'
import { until } from '#kit/test/until.ts'

const [folder] = globSync('/usr/lib/postgresql/*/bin').sort().reverse()
/** It refuses to run as root. */
const USER = process.getuid?.() === 0 ? 65_534 : undefined
export const PASSWORD = 'the password: of & the test/%?'

/** Why such tests are left out; false where they are not. */
export const noPostgres = folder === undefined ? 'postgresql is not installed' : false

export interface Postgres {
  /** Of a database that is made with each call, without its password. */
  newUrl(): string
  /** A file with its password. */
  passwordFile: string
  port: number
  /** Where its socket is. */
  home: string
  /** What came back as text, a line for each row. */
  sql(url: string, text: string): string
  start(): Promise<void>
  /** At once, as a power cut. */
  kill(): Promise<void>
  signal(name: NodeJS.Signals): void
}

/** A command of PostgreSQL's, as its user. */
function command(name: string, ...args: string[]): [program: string, args: string[]] {
  const as = USER === undefined ? [] : ['setpriv', `--reuid=${USER}`, `--regid=${USER}`, '--clear-groups']
  const [program = '', ...rest] = [...as, join(folder ?? '', name), ...args]
  return [program, rest]
}

/** Makes the files of a server. @returns the settings to start it with */
function prepare(home: string, port: number, tls: Tls | undefined): Record<string, string> {
  const own = (path: string) => USER !== undefined && chownSync(path, USER, USER)
  const [data, passwordFile] = [join(home, 'data'), join(home, 'password')]
  mkdirSync(data, { mode: 0o700 })
  writeFileSync(passwordFile, `${PASSWORD}\nnot this line\n`, { mode: 0o644 })
  for (const path of [home, data]) own(path)
  const args = ['-D', data, '-U', 'plantroom', '-E', 'UTF8', '--no-locale', '--no-sync', '-A', 'scram-sha-256']
  execFileSync(...command('initdb', ...args, `--pwfile=${passwordFile}`), { cwd: home, stdio: 'ignore' })
  for (const [name, text] of Object.entries(tls ?? {})) {
    writeFileSync(join(data, `${name}.pem`), text, { mode: 0o600 })
    own(join(data, `${name}.pem`))
  }
  return {
    ...{ unix_socket_directories: home, listen_addresses: '127.0.0.1', port: String(port), fsync: 'off' },
    ...{ shared_buffers: '8MB', max_connections: '20', autovacuum: 'off' },
    ...(tls && { ssl: 'on', ssl_cert_file: join(data, 'cert.pem'), ssl_key_file: join(data, 'key.pem') }),
  }
}

/** PEM of its certificate, and of the key of that. */
interface Tls {
  cert: string
  key: string
}

export async function startPostgres(t: Owner, tls?: Tls): Promise<Postgres> {
  const home = mkdtempSync(join(tmpdir(), 'postgres-'))
  const port = await freePort()
  const settings = prepare(home, port, tls)
  let server: ChildProcess | undefined
  let databases = 0

  function sql(url: string, text: string): string {
    const psql = join(folder ?? '', 'psql')
    const env = { ...process.env, PGPASSWORD: PASSWORD }
    return execFileSync(psql, ['-X', '-q', '-A', '-t', '-v', 'ON_ERROR_STOP=1', '-c', text, url], {
      ...{ env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] },
    }).trim()
  }

  const urlOf = (database: string) => `postgres://plantroom@127.0.0.1:${port}/${database}`

  async function start(): Promise<void> {
    const given = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
    const args = command('postgres', '-D', join(home, 'data'), ...given)
    server = spawn(...args, { cwd: home, stdio: 'ignore', detached: true })
    const ready = join(folder ?? '', 'pg_isready')
    await until('PostgreSQL answers', () => {
      try {
        execFileSync(ready, ['-q', '-h', home, '-p', String(port)])
        return true
      } catch {
        return false
      }
    })
  }

  /** To all of its processes. */
  function signal(name: NodeJS.Signals): void {
    if (server?.pid !== undefined) process.kill(-server.pid, name)
  }

  async function kill(): Promise<void> {
    if (!server || server.exitCode !== null || server.signalCode !== null) return
    signal('SIGCONT')
    server.kill('SIGQUIT')
    await once(server, 'exit')
  }

  t.teardown(async () => {
    await kill()
    rmSync(home, { recursive: true, force: true })
  })
  await start()
  return {
    ...{ passwordFile: join(home, 'password'), home, port, sql, start, kill },
    newUrl() {
      const name = `updates_${++databases}`
      sql(urlOf('postgres'), `CREATE DATABASE ${name}`)
      return urlOf(name)
    },
    signal,
  }
}
